from __future__ import annotations

import pytest

from tri_core.mlir import ir
from tri_gpu_dialect import layouts
from tri_gpu_dialect.analysis.layout_rules import encoding_of
from tri_gpu_dialect.encodings import Blocked, DotOperand, Slice
from tri_gpu_dialect.passes import Coalesce, RemoveLayoutConversions

BOTH = (Coalesce(), RemoveLayoutConversions())
POINTER = '!tt.ptr<f32, "global">'


def ops(module: ir.Module, name: str) -> list[ir.Operation]:
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == name:
            found.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found


def conversions(module: ir.Module) -> list[ir.Operation]:
    return ops(module, "ttg.convert_layout")


@pytest.mark.parametrize("name", ["vector_add", "softmax", "layernorm"])
@pytest.mark.parametrize("num_warps", [1, 4, 8])
def test_row_kernels_need_no_conversion(run, kernel, name: str, num_warps: int) -> None:  # type: ignore[no-untyped-def]
    assert conversions(run(kernel(name), *BOTH, num_warps=num_warps)) == []


def test_a_matmul_converts_the_operands_of_its_dot_and_nothing_else(run, kernel) -> None:  # type: ignore[no-untyped-def]
    module = run(kernel("matmul"), *BOTH)
    made = [encoding_of(op.results[0]) for op in conversions(module)]
    (dot,) = ops(module, "tt.dot")
    result = encoding_of(dot.results[0])
    assert result is not None
    assert made == [DotOperand(0, result), DotOperand(1, result)]
    (store,) = ops(module, "tt.store")
    # the dot's own tiles are stored as well as coalesced ones
    assert {encoding_of(v) for v in store.operands} == {result}


def test_the_pass_does_nothing_the_second_time(run, kernel) -> None:  # type: ignore[no-untyped-def]
    for name in ("softmax", "layernorm", "matmul"):
        once = run(kernel(name), *BOTH)
        before = str(once)
        RemoveLayoutConversions().apply(once, None)  # type: ignore[arg-type]  # the pass reads no context
        assert str(once) == before


def matrix(body: str) -> str:
    """A kernel with a 64 x 64 matrix of pointers %p, their offsets' row %row and column %col."""
    wide, pointers = "tensor<64x64xi32>", f"tensor<64x64x{POINTER}>"
    return f"""
    "tt.func"() ({{ ^bb0(%in: {POINTER}, %out: {POINTER}, %n: i32):
      %r = "tt.make_range"() {{start = 0 : i32, end = 64 : i32}} : () -> tensor<64xi32>
      %row = "tt.expand_dims"(%r) {{axis = 1 : i32}} : (tensor<64xi32>) -> tensor<64x1xi32>
      %col = "tt.expand_dims"(%r) {{axis = 0 : i32}} : (tensor<64xi32>) -> tensor<1x64xi32>
      %w = arith.constant dense<64> : tensor<64x1xi32>
      %moved = arith.muli %row, %w : tensor<64x1xi32>
      %a = "tt.broadcast"(%moved) : (tensor<64x1xi32>) -> {wide}
      %b = "tt.broadcast"(%col) : (tensor<1x64xi32>) -> {wide}
      %o = arith.addi %a, %b : {wide}
      %ps = "tt.splat"(%in) : ({POINTER}) -> {pointers}
      %p = "tt.addptr"(%ps, %o) : ({pointers}, {wide}) -> {pointers}
      %qs = "tt.splat"(%out) : ({POINTER}) -> {pointers}
      %q = "tt.addptr"(%qs, %o) : ({pointers}, {wide}) -> {pointers}
      {body}
      "tt.return"() : () -> ()
    }}) {{sym_name = "f", function_type = ({POINTER}, {POINTER}, i32) -> (),
        arg_attrs = [{{tt.divisibility = 16 : i32}}, {{tt.divisibility = 16 : i32}}, {{}}]}} : () -> ()"""


LOAD = f"""%v = "tt.load"(%p) {{operandSegmentSizes = array<i32: 1, 0, 0>}}
    : (tensor<64x64x{POINTER}>) -> tensor<64x64xf32>"""
STORE = f""""tt.store"(%q, %z) {{operandSegmentSizes = array<i32: 1, 1, 0>}}
    : (tensor<64x64x{POINTER}>, tensor<64x64xf32>) -> ()"""
MAX = """%m = "tt.reduce"(%v) ({ ^bb0(%c: f32, %d: f32): %e = arith.maxnumf %c, %d : f32
    "tt.reduce_return"(%e) : (f32) -> () }) {axis = 1 : i32} : (tensor<64x64xf32>) -> tensor<64xf32>"""
BACK = """%x = "tt.expand_dims"(%m) {axis = 1 : i32} : (tensor<64xf32>) -> tensor<64x1xf32>
    %y = "tt.broadcast"(%x) : (tensor<64x1xf32>) -> tensor<64x64xf32>
    %z = arith.subf %v, %y : tensor<64x64xf32>"""


def test_a_reduction_and_its_broadcast_stay_in_the_layout_of_the_load(run) -> None:  # type: ignore[no-untyped-def]
    module = run(matrix(f"{LOAD}\n{MAX}\n{BACK}\n{STORE}"), *BOTH)
    assert conversions(module) == []
    (reduce,) = ops(module, "tt.reduce")
    assert encoding_of(reduce.results[0]) == Slice(1, Blocked((1, 4), (2, 16), (4, 1), (1, 0)))


def test_a_transposition_is_converted_once_where_it_is_stored(run) -> None:  # type: ignore[no-untyped-def]
    transpose = '%z = "tt.trans"(%v) {order = array<i32: 1, 0>} : (tensor<64x64xf32>) -> tensor<64x64xf32>'
    module = run(matrix(f"{LOAD}\n{transpose}\n{STORE}"), *BOTH)
    (convert,) = conversions(module)
    assert encoding_of(convert.operands[0]) == Blocked((4, 1), (16, 2), (1, 4), (0, 1))
    assert encoding_of(convert.results[0]) == Blocked((1, 4), (2, 16), (4, 1), (1, 0))


def test_a_store_that_is_seldom_done_takes_its_value_as_it_lies(run) -> None:  # type: ignore[no-untyped-def]
    transpose = '%z = "tt.trans"(%v) {order = array<i32: 1, 0>} : (tensor<64x64xf32>) -> tensor<64x64xf32>'
    module = run(matrix(f"{LOAD}\n{transpose}\n{STORE.replace('1, 0>', '1, 0>, tt.seldom')}"), *BOTH)
    assert conversions(module) == []
    (store,) = ops(module, "tt.store")
    assert [encoding_of(v) for v in store.operands] == [Blocked((4, 1), (16, 2), (1, 4), (0, 1))] * 2


def test_the_vector_is_converted_rather_than_the_matrix_made_of_it(run) -> None:  # type: ignore[no-untyped-def]
    # rows of the sums go along the columns: the slice is of the other dimension
    across = """%x = "tt.expand_dims"(%m) {axis = 0 : i32} : (tensor<64xf32>) -> tensor<1x64xf32>
        %y = "tt.broadcast"(%x) : (tensor<1x64xf32>) -> tensor<64x64xf32>
        %z = arith.subf %v, %y : tensor<64x64xf32>"""
    (convert,) = conversions(run(matrix(f"{LOAD}\n{MAX}\n{across}\n{STORE}"), *BOTH))
    assert convert.results[0].type.shape == [64]


def test_the_narrow_type_is_converted_rather_than_the_wide(run) -> None:  # type: ignore[no-untyped-def]
    half = '!tt.ptr<f16, "global">'
    body = f"""
      %hs = "tt.splat"(%h) : ({half}) -> tensor<64x64x{half}>
      %hp = "tt.addptr"(%hs, %o) : (tensor<64x64x{half}>, tensor<64x64xi32>) -> tensor<64x64x{half}>
      %l = "tt.load"(%hp) {{operandSegmentSizes = array<i32: 1, 0, 0>}} : (tensor<64x64x{half}>) -> tensor<64x64xf16>
      %f = arith.extf %l : tensor<64x64xf16> to tensor<64x64xf32>
      %zero = arith.constant dense<0.0> : tensor<64x64xf32>
      %z = "tt.dot"(%f, %f, %zero) {{inputPrecision = 2 : i32}}
          : (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
      {STORE}"""
    text = matrix(body).replace("%n: i32", f"%h: {half}").replace(f"{POINTER}, i32)", f"{POINTER}, {half})")
    assert {str(c.results[0].type.element_type) for c in conversions(run(text, *BOTH))} == {"f16"}


def test_cheap_values_are_made_again_rather_than_converted(run) -> None:  # type: ignore[no-untyped-def]
    # the row numbers are wanted as a column and as a row, in one layout each
    module = run(matrix(f"{LOAD}\n%z = arith.negf %v : tensor<64x64xf32>\n{STORE}"), *BOTH)
    assert conversions(module) == []
    assert {encoding_of(op.results[0]).dim for op in ops(module, "tt.make_range")} == {0, 1}  # type: ignore[union-attr]


def test_few_elements_are_loaded_in_the_layout_that_is_wanted(run) -> None:  # type: ignore[no-untyped-def]
    body = f"""
      %bs = "tt.splat"(%in) : ({POINTER}) -> tensor<64x{POINTER}>
      %bp = "tt.addptr"(%bs, %r) : (tensor<64x{POINTER}>, tensor<64xi32>) -> tensor<64x{POINTER}>
      %m = "tt.load"(%bp) {{operandSegmentSizes = array<i32: 1, 0, 0>}} : (tensor<64x{POINTER}>) -> tensor<64xf32>
      {LOAD}
      {BACK}
      {STORE}"""
    assert conversions(run(matrix(body), *BOTH)) == []


def loop(body: str, result: str) -> str:
    return f"""
      %i0 = arith.constant 0 : i32
      %i1 = arith.constant 1 : i32
      %zero = arith.constant dense<0.0> : tensor<64x64xf32>
      %z = scf.for %i = %i0 to %n step %i1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) : i32 {{
        {body}
        scf.yield {result} : tensor<64x64xf32>
      }}"""


def test_a_carried_sum_has_the_layout_of_what_is_added(run) -> None:  # type: ignore[no-untyped-def]
    body = loop(f"{LOAD}\n%s = arith.addf %acc, %v : tensor<64x64xf32>", "%s")
    module = run(matrix(f"{body}\n{STORE}"), *BOTH)
    assert conversions(module) == []
    (carrying,) = ops(module, "scf.for")
    assert encoding_of(carrying.results[0]) == Blocked((1, 4), (2, 16), (4, 1), (1, 0))


def test_what_does_not_change_in_a_loop_is_converted_before_it(run) -> None:  # type: ignore[no-untyped-def]
    dot = """%s = "tt.dot"(%v, %v, %acc) {inputPrecision = 2 : i32}
        : (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>"""
    module = run(matrix(f"{LOAD}\n{loop(dot, '%s')}\n{STORE}"), *BOTH)
    made = conversions(module)
    assert len(made) == 2
    assert {op.parent.name for op in made} == {"tt.func"}


def test_pointers_that_a_branch_moves_for_the_next_iteration_have_the_layout_of_their_access(run) -> None:  # type: ignore[no-untyped-def]
    pointers = f"tensor<64x64x{POINTER}>"
    move = f'"tt.addptr"(%m, %o) : ({pointers}, tensor<64x64xi32>) -> {pointers}'
    body = f"""%zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %end = scf.for %i = %zero to %n step %one iter_args(%m = %p) -> ({pointers}) : i32 {{
        %v = "tt.load"(%m) {{operandSegmentSizes = array<i32: 1, 0, 0>}} : ({pointers}) -> tensor<64x64xf32>
        "tt.store"(%q, %v) {{operandSegmentSizes = array<i32: 1, 1, 0>}} : ({pointers}, tensor<64x64xf32>) -> ()
        %last = arith.cmpi sge, %i, %n : i32
        %next = scf.if %last -> ({pointers}) {{
          scf.yield %p : {pointers}
        }} else {{
          %moved_on = {move}
          scf.yield %moved_on : {pointers}
        }}
        scf.yield %next : {pointers}
      }}"""
    module = run(matrix(body), *BOTH)
    assert conversions(module) == []
    (carrying,) = ops(module, "scf.for")
    assert encoding_of(carrying.results[0]) == Blocked((1, 4), (2, 16), (4, 1), (1, 0))


def test_dead_values_go(run) -> None:  # type: ignore[no-untyped-def]
    idle = "%dead = arith.muli %o, %o : tensor<64x64xi32>"
    module = run(matrix(f"{idle}\n{LOAD}\n%z = arith.negf %v : tensor<64x64xf32>\n{STORE}"), *BOTH)
    assert len(ops(module, "arith.muli")) == 1


def test_a_histogram_keeps_its_counts_and_its_mask_follows_the_source(run) -> None:  # type: ignore[no-untyped-def]
    count = (
        "%k = arith.constant dense<true> : tensor<64x64xi1>\n%s = arith.fptosi %v : tensor<64x64xf32> to tensor<64x64xi32>\n"
        '%h = "tt.histogram"(%s, %k) {operandSegmentSizes = array<i32: 1, 1>}'
        " : (tensor<64x64xi32>, tensor<64x64xi1>) -> tensor<16xi32>"
    )
    module = run(matrix(f"{LOAD}\n{count}"), *BOTH)
    (op,) = ops(module, "tt.histogram")
    assert encoding_of(op.results[0]) == Blocked.default((16,), 4, 32)
    assert (
        encoding_of(op.operands[0]) == encoding_of(op.operands[1]) == Blocked((1, 4), (2, 16), (4, 1), (1, 0))
    )
    assert conversions(module) == []


def test_a_gather_goes_with_its_indices(run) -> None:  # type: ignore[no-untyped-def]
    gather = '%z = "tt.gather"(%v, %o) {axis = 0 : i32} : (tensor<64x64xf32>, tensor<64x64xi32>) -> tensor<64x64xf32>'
    (op,) = ops(run(matrix(f"{LOAD}\n{gather}\n{STORE}"), *BOTH), "tt.gather")
    assert encoding_of(op.results[0]) == encoding_of(op.operands[1])


def test_a_row_that_is_gathered_lies_as_the_rows_that_it_is_broadcast_to(run) -> None:  # type: ignore[no-untyped-def]
    body = f"""{LOAD}
      %i = arith.constant dense<3> : tensor<1x64xi32>
      %g = "tt.gather"(%v, %i) {{axis = 0 : i32}} : (tensor<64x64xf32>, tensor<1x64xi32>) -> tensor<1x64xf32>
      %all = "tt.broadcast"(%g) : (tensor<1x64xf32>) -> tensor<64x64xf32>
      %z = arith.mulf %v, %all : tensor<64x64xf32>
      {STORE}"""
    assert conversions(run(matrix(body), *BOTH)) == []


def test_what_is_computed_of_a_gathered_column_has_no_copies(run) -> None:  # type: ignore[no-untyped-def]
    """Most threads would have copies of a column by itself, and of all that is computed of it."""
    body = f"""{LOAD}
      %i = arith.constant dense<3> : tensor<16x1xi32>
      %flat = "tt.reshape"(%v) : (tensor<64x64xf32>) -> tensor<16x256xf32>
      %g = "tt.gather"(%flat, %i) {{axis = 1 : i32}} : (tensor<16x256xf32>, tensor<16x1xi32>) -> tensor<16x1xf32>
      %h = math.exp %g : tensor<16x1xf32>
      %all = "tt.broadcast"(%h) : (tensor<16x1xf32>) -> tensor<16x64xf32>
      %y = math.exp %all : tensor<16x64xf32>
      %x = "tt.reduce"(%y) ({{ ^bb0(%s: f32, %t: f32): %u = arith.addf %s, %t : f32
        "tt.reduce_return"(%u) : (f32) -> () }}) {{axis = 0 : i32}} : (tensor<16x64xf32>) -> tensor<64xf32>
      %x1 = "tt.expand_dims"(%x) {{axis = 0 : i32}} : (tensor<64xf32>) -> tensor<1x64xf32>
      %z = "tt.broadcast"(%x1) : (tensor<1x64xf32>) -> tensor<64x64xf32>
      {STORE}"""
    (reduce,) = ops(run(matrix(body), *BOTH), "tt.reduce")
    assert not any(layouts.of(reduce.operands[0].type).free_variable_masks().values())


def test_an_op_nobody_described_keeps_its_types(run) -> None:  # type: ignore[no-untyped-def]
    wide = "tensor<64x64xf32>"
    scaled = (
        f'%z = "tt.dot_scaled"(%v, %v, %v) {{a_elem_type = 5 : i32, b_elem_type = 5 : i32, fastMath = false,'
        f" operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>}} : ({wide}, {wide}, {wide}) -> {wide}"
    )
    module = run(matrix(f"{LOAD}\n{scaled}\n{STORE}"), *BOTH)
    (op,) = ops(module, "tt.dot_scaled")
    assert {encoding_of(v) for v in (*op.operands, *op.results)} == {Blocked.default((64, 64), 4, 32)}


def test_no_mark_is_left(run, kernel) -> None:  # type: ignore[no-untyped-def]
    for name in ("softmax", "matmul"):
        assert "layout.mark" not in str(run(kernel(name), *BOTH))


def test_scalars_are_left_alone(run) -> None:  # type: ignore[no-untyped-def]
    body = f"""
      %one = arith.constant 1.0 : f32
      %s = "tt.load"(%in) {{operandSegmentSizes = array<i32: 1, 0, 0>}} : ({POINTER}) -> f32
      "tt.store"(%out, %s) {{operandSegmentSizes = array<i32: 1, 1, 0>}} : ({POINTER}, f32) -> ()
      %old = "tt.atomic_rmw"(%out, %one) {{atomic_rmw_op = 5 : i32, sem = 4 : i32, scope = 1 : i32,
          operandSegmentSizes = array<i32: 1, 1, 0>}} : ({POINTER}, f32) -> f32"""
    module = run(matrix(f"{body}\n{LOAD}\n%z = arith.negf %v : tensor<64x64xf32>\n{STORE}"), *BOTH)
    assert [len(ops(module, name)) for name in ("tt.load", "tt.store", "tt.atomic_rmw")] == [2, 2, 1]


_GATED = """%wide = "tt.load"(%p) {{operandSegmentSizes = array<i32: 1, 0, 0>}} : (tensor<64x64x{0}>) -> tensor<64x64xf32>
      %f = math.exp %wide : tensor<64x64xf32>
      %gs = "tt.splat"(%in) : ({0}) -> tensor<64x{0}>
      %gp = "tt.addptr"(%gs, %r) : (tensor<64x{0}>, tensor<64xi32>) -> tensor<64x{0}>
      %g = "tt.load"(%gp) {{operandSegmentSizes = array<i32: 1, 0, 0>}} : (tensor<64x{0}>) -> tensor<64xf32>
      %g1 = "tt.expand_dims"(%g) {{axis = 0 : i32}} : (tensor<64xf32>) -> tensor<1x64xf32>
      %v = "tt.broadcast"(%g1) : (tensor<1x64xf32>) -> tensor<64x64xf32>"""


def test_a_row_that_many_rows_are_made_of_is_loaded_as_they_are_used(run) -> None:  # type: ignore[no-untyped-def]
    """As many elements as threads; what is made of them, and its maxima, are where they meet what another load gave."""
    product = "%last = arith.mulf %f, %z : tensor<64x64xf32>"
    body = "\n".join([_GATED.format(POINTER), MAX, BACK, product, STORE.replace("%z", "%last")])
    module = run(matrix(body), *BOTH, num_warps=2)
    assert conversions(module) == []


def test_a_reduction_has_the_layout_of_what_is_computed_behind_it(run) -> None:  # type: ignore[no-untyped-def]
    """As before; what the maxima and their rows meet is made of the load's elements only after them."""
    product = "%later = arith.negf %f : tensor<64x64xf32>\n%last = arith.mulf %later, %z : tensor<64x64xf32>"
    body = "\n".join([_GATED.format(POINTER), MAX, BACK, product, STORE.replace("%z", "%last")])
    module = run(matrix(body), *BOTH, num_warps=2)
    assert conversions(module) == []


def test_one_element_that_a_row_is_made_of_does_not_decide_its_layout(run) -> None:  # type: ignore[no-untyped-def]
    """A row of fewer elements than threads divided by its maximum: no thread has the whole row."""
    body = f"""
      %ps1 = "tt.splat"(%in) : ({POINTER}) -> tensor<64x{POINTER}>
      %p1 = "tt.addptr"(%ps1, %r) : (tensor<64x{POINTER}>, tensor<64xi32>) -> tensor<64x{POINTER}>
      %x = "tt.load"(%p1) {{operandSegmentSizes = array<i32: 1, 0, 0>}} : (tensor<64x{POINTER}>) -> tensor<64xf32>
      %x3 = "tt.reshape"(%x) {{efficient_layout = false}} : (tensor<64xf32>) -> tensor<1x1x64xf32>
      %m = "tt.reduce"(%x3) ({{ ^bb0(%s: f32, %t: f32):
        %u = arith.maxnumf %s, %t : f32
        "tt.reduce_return"(%u) : (f32) -> ()
      }}) {{axis = 2 : i32}} : (tensor<1x1x64xf32>) -> tensor<1x1xf32>
      %m3 = "tt.reshape"(%m) {{efficient_layout = false}} : (tensor<1x1xf32>) -> tensor<1x1x1xf32>
      %mw = "tt.broadcast"(%m3) : (tensor<1x1x1xf32>) -> tensor<1x1x64xf32>
      %y3 = arith.divf %x3, %mw : tensor<1x1x64xf32>
      %y = "tt.reshape"(%y3) {{efficient_layout = false}} : (tensor<1x1x64xf32>) -> tensor<64xf32>
      %qs1 = "tt.splat"(%out) : ({POINTER}) -> tensor<64x{POINTER}>
      %q1 = "tt.addptr"(%qs1, %r) : (tensor<64x{POINTER}>, tensor<64xi32>) -> tensor<64x{POINTER}>
      "tt.store"(%q1, %y) {{operandSegmentSizes = array<i32: 1, 1, 0>}} : (tensor<64x{POINTER}>, tensor<64xf32>) -> ()"""
    module = run(matrix(body), *BOTH)
    made = [layouts.of(op.results[0].type) for op in ops(module, "arith.divf")]
    assert [layout.in_size("register") for layout in made] == [1]


def _loaded(name: str, numel: int, shape: str) -> str:
    """Text that loads ``%name``, of ``numel`` elements from ``%in`` on, and has pointers into ``%out`` in ``%nameq``."""
    pointers = f"tensor<{shape}x{POINTER}>"
    return f"""
      %{name}r = "tt.make_range"() {{start = 0 : i32, end = {numel} : i32}} : () -> tensor<{numel}xi32>
      %{name}o = "tt.reshape"(%{name}r) : (tensor<{numel}xi32>) -> tensor<{shape}xi32>
      %{name}s = "tt.splat"(%in) : ({POINTER}) -> {pointers}
      %{name}p = "tt.addptr"(%{name}s, %{name}o) : ({pointers}, tensor<{shape}xi32>) -> {pointers}
      %{name}t = "tt.splat"(%out) : ({POINTER}) -> {pointers}
      %{name}q = "tt.addptr"(%{name}t, %{name}o) : ({pointers}, tensor<{shape}xi32>) -> {pointers}
      %{name} = "tt.load"(%{name}p) {{operandSegmentSizes = array<i32: 1, 0, 0>}} : ({pointers}) -> tensor<{shape}xf32>"""


@pytest.mark.parametrize("is_first", [True, False], ids=["wide first", "narrow first"])
def test_what_is_widened_is_converted_before(run, is_first: bool) -> None:  # type: ignore[no-untyped-def]
    """Factors of 16 x 16 rows, whose product with the rows is summed: the factors are converted, 256 elements for 16384."""
    wide, narrow = _loaded("v", 16384, "16x16x64"), _loaded("f", 256, "16x16")
    body = f"""{wide if is_first else narrow}{narrow if is_first else wide}{_loaded("y", 1024, "16x64")}
      %g = "tt.reshape"(%f) : (tensor<16x16xf32>) -> tensor<16x16x1xf32>
      %gw = "tt.broadcast"(%g) : (tensor<16x16x1xf32>) -> tensor<16x16x64xf32>
      %product = arith.mulf %v, %gw : tensor<16x16x64xf32>
      %sum = "tt.reduce"(%product) ({{ ^bb0(%s: f32, %t: f32): %u = arith.addf %s, %t : f32
        "tt.reduce_return"(%u) : (f32) -> () }}) {{axis = 0 : i32}} : (tensor<16x16x64xf32>) -> tensor<16x64xf32>
      "tt.store"(%yq, %sum) {{operandSegmentSizes = array<i32: 1, 1, 0>}} :
          (tensor<16x64x{POINTER}>, tensor<16x64xf32>) -> ()"""
    module = run(matrix(body), *BOTH)
    converted = [list(ir.RankedTensorType(op.results[0].type).shape) for op in conversions(module)]
    assert [16, 16, 64] not in converted
