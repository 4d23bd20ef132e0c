"""Operands of matrix instructions that threads would hold in copies go through swizzled memory; others do not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tri_core.mlir import ir
from tri_gpu_dialect import layouts
from tri_gpu_dialect.analysis.layout_rules import encoding_of
from tri_gpu_dialect.edit import all_ops, functions
from tri_gpu_dialect.encodings import DotOperand, SwizzledShared, decode
from tri_gpu_dialect.layouts import LANE, REGISTER, WARP
from tri_gpu_dialect.passes import AccelerateMatmul, Coalesce, RemoveLayoutConversions, StageMatrixOperands
from tri_gpu_dialect.plans.scratch import SHARED
from tri_gpu_dialect.remarks import remarks_of
from tri_gpu_dialect.testing.matrix import MATRIX_POLICY
from tri_gpu_dialect.transforms.memory.placement import bytes_needed
from tri_gpu_dialect.transforms.memory.stage_matrix_operands import is_matrix_operand

PASSES = (
    Coalesce(policy=MATRIX_POLICY),
    AccelerateMatmul(policy=MATRIX_POLICY),
    RemoveLayoutConversions(),
    StageMatrixOperands(),
)
_LOAD = '%{0} = "tt.load"(%p{0}) {{operandSegmentSizes = array<i32: 1, 0, 0>}} : (tensor<{1}x!tt.ptr<{2}, "global">>) -> tensor<{1}x{2}>'
_DOT = '%{0} = "tt.dot"(%{1}, %{2}, %{3}) {{inputPrecision = 2 : i32}} : (tensor<64x32x{4}>, tensor<32x32x{4}>, tensor<64x32xf32>) -> tensor<64x32xf32>'
_TRANS = '%{0} = "tt.trans"(%{1}) {{order = array<i32: 1, 0>}} : (tensor<{2}x{4}>) -> tensor<{3}x{4}>'
#: the blocks that are loaded, and what is done with them, by case
CASES: dict[str, tuple[dict[str, str], str, list[str]]] = {
    "plain": ({"a": "64x32", "b": "32x32"}, "f16", [_DOT.format("d", "a", "b", "c", "f16")]),
    "f32": ({"a": "64x32", "b": "32x32"}, "f32", [_DOT.format("d", "a", "b", "c", "f32")]),
    "f8": ({"a": "64x32", "b": "32x32"}, "f8E5M2", [_DOT.format("d", "a", "b", "c", "f8E5M2")]),
    "left transposed": (
        {"x": "32x64", "b": "32x32"},
        "f16",
        [_TRANS.format("a", "x", "32x64", "64x32", "f16"), _DOT.format("d", "a", "b", "c", "f16")],
    ),
    "right transposed": (
        {"a": "64x32", "y": "32x32"},
        "f16",
        [_TRANS.format("b", "y", "32x32", "32x32", "f16"), _DOT.format("d", "a", "b", "c", "f16")],
    ),
    "chained": (
        {"a": "64x32", "b": "32x32", "v": "32x32"},
        "f16",
        [
            _DOT.format("s", "a", "b", "c", "f16"),
            "%weights = arith.truncf %s : tensor<64x32xf32> to tensor<64x32xf16>",
            _DOT.format("d", "weights", "v", "c", "f16"),
        ],
    ),
}


def pointers(name: str, shape: str, element: str) -> str:
    """``%pname``: pointers to the elements of a row-major block, from ``%name_base``."""
    rows, columns = shape.split("x")
    pointer = f'!tt.ptr<{element}, "global">'
    return f"""
    %{name}_r = "tt.make_range"() {{start = 0 : i32, end = {rows} : i32}} : () -> tensor<{rows}xi32>
    %{name}_c = "tt.make_range"() {{start = 0 : i32, end = {columns} : i32}} : () -> tensor<{columns}xi32>
    %{name}_r2 = "tt.expand_dims"(%{name}_r) {{axis = 1 : i32}} : (tensor<{rows}xi32>) -> tensor<{rows}x1xi32>
    %{name}_c2 = "tt.expand_dims"(%{name}_c) {{axis = 0 : i32}} : (tensor<{columns}xi32>) -> tensor<1x{columns}xi32>
    %{name}_w = arith.constant dense<{columns}> : tensor<{rows}x1xi32>
    %{name}_s = arith.muli %{name}_r2, %{name}_w : tensor<{rows}x1xi32>
    %{name}_rb = "tt.broadcast"(%{name}_s) : (tensor<{rows}x1xi32>) -> tensor<{shape}xi32>
    %{name}_cb = "tt.broadcast"(%{name}_c2) : (tensor<1x{columns}xi32>) -> tensor<{shape}xi32>
    %{name}_o = arith.addi %{name}_rb, %{name}_cb : tensor<{shape}xi32>
    %{name}_p = "tt.splat"(%{name}_base) : ({pointer}) -> tensor<{shape}x{pointer}>
    %p{name} = "tt.addptr"(%{name}_p, %{name}_o) : (tensor<{shape}x{pointer}>, tensor<{shape}xi32>) -> tensor<{shape}x{pointer}>"""


def program(case: str) -> str:
    blocks, element, body = CASES[case]
    elements = {**dict.fromkeys(blocks, element), "out": "f32"}
    lines = [pointers(name, shape, element) for name, shape in blocks.items()]
    lines += [pointers("out", "64x32", "f32"), "%c = arith.constant dense<0.0> : tensor<64x32xf32>"]
    lines += [_LOAD.format(name, shape, element) for name, shape in blocks.items()] + body
    lines.append(
        '"tt.store"(%pout, %d) {operandSegmentSizes = array<i32: 1, 1, 0>} : '
        '(tensor<64x32x!tt.ptr<f32, "global">>, tensor<64x32xf32>) -> ()'
    )
    types = [f'!tt.ptr<{e}, "global">' for e in elements.values()]
    arguments = ", ".join(f"%{n}_base: {t}" for n, t in zip(elements, types, strict=True))
    aligned = ", ".join("{tt.divisibility = 16 : i32}" for _ in types)
    text = "\n".join(lines)
    return f"""
"builtin.module"() ({{
  "tt.func"() ({{
  ^bb0({arguments}):
    {text}
    "tt.return"() : () -> ()
  }}) {{function_type = ({", ".join(types)}) -> (), sym_name = "f", arg_attrs = [{aligned}]}} : () -> ()
}}) : () -> ()
"""


def is_duplicated(value: ir.Value) -> bool:
    """Whether several threads hold the same element."""
    masks = layouts.of(value.type).free_variable_masks()
    return bool(masks.get(LANE) or masks.get(WARP))


def source(value: ir.Value) -> ir.Operation:
    """What makes an operand, apart from casts in its own layout."""
    op = value.owner.operation
    while op.name in ("tt.fp_to_fp", "arith.extf", "arith.truncf") and is_matrix_operand(op.operands[0]):
        op = op.operands[0].owner.operation
    return op


def operands(module: ir.Module) -> list[ir.Value]:
    dots = [op for op in all_ops(module.operation) if op.name == "tt.dot"]
    found = [v for dot in dots for v in list(dot.operands)[:2]]
    assert all(isinstance(encoding_of(v), DotOperand) for v in found)
    return found


@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("case", [c for c in CASES if c != "chained"])
def test_operands_come_out_of_swizzled_buffers(run, case: str, warps: int) -> None:  # type: ignore[no-untyped-def]
    module: ir.Module = run(program(case), *PASSES, num_warps=warps)
    made = [source(value) for value in operands(module)]
    # what warps exchange among their own lanes needs no memory
    reads = [op for op in made if op.name != "ttg.convert_layout" or SHARED.bytes(op)]
    assert reads
    for read in reads:
        assert read.name == "ttg.local_load"
        memory = decode(read.operands[0].type.encoding)
        assert isinstance(memory, SwizzledShared)
        assert memory.max_phase > 1 or memory.vec * 16 >= 128
        # the buffer holds what was loaded, once, in the type that it was loaded in
        fill = read.operands[0].owner.operation
        assert fill.name == "ttg.local_alloc"
        assert not is_duplicated(fill.operands[0])
        assert fill.operands[0].type.element_type == read.results[0].type.element_type


@pytest.mark.parametrize("warps", [1, 4])
def test_a_chained_operand_stays_in_its_threads(run, warps: int) -> None:  # type: ignore[no-untyped-def]
    """Probabilities of attention: a sum becomes an operand by another order of registers, if by anything."""
    module: ir.Module = run(program("chained"), *PASSES, num_warps=warps)
    first = operands(module)[2]
    made = source(first)
    assert made.name == "ttg.convert_layout"
    assert SHARED.bytes(made) == 0
    moves = layouts.of(first.type).invert_and_compose(layouts.of(made.operands[0].type))
    assert moves.has_in(REGISTER)
    assert source(operands(module)[3]).name == "ttg.local_load"


@pytest.mark.parametrize("case", CASES)
def test_one_warp_exchanges_by_shuffles_or_memory(run, case: str) -> None:  # type: ignore[no-untyped-def]
    """Among the lanes of one warp shuffles may do; what takes memory is a buffer then, too."""
    module: ir.Module = run(program(case), *PASSES, num_warps=1)
    for value in operands(module):
        made = source(value)
        assert made.name == "ttg.local_load" or SHARED.bytes(made) == 0
    assert exchanges(module) == []


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("warps", [4, 8])
def test_no_exchange_of_an_operand_is_left(run, case: str, warps: int) -> None:  # type: ignore[no-untyped-def]
    """Without the pass there is at least one: this can fail."""
    module: ir.Module = run(program(case), *PASSES, num_warps=warps)
    before: ir.Module = run(program(case), *PASSES[:-1], num_warps=warps)
    assert exchanges(module) == []
    assert exchanges(before)


def exchanges(module: ir.Module) -> list[ir.Operation]:
    """Conversions to operands of matrix instructions that go through scratch memory."""
    found = [op for op in all_ops(module.operation) if op.name == "ttg.convert_layout"]
    return [op for op in found if is_matrix_operand(op.results[0]) and SHARED.bytes(op)]


_LARGE = """
"builtin.module"() ({
  "tt.func"() ({
  ^bb0(%x: f32):
    %a = "tt.splat"(%x) : (f32) -> tensor<128x128xf32>
    %b = "tt.splat"(%x) : (f32) -> tensor<128x16xf32>
    %c = "tt.splat"(%x) : (f32) -> tensor<128x16xf32>
    %d = "tt.dot"(%a, %b, %c) {inputPrecision = 2 : i32} : (tensor<128x128xf32>, tensor<128x16xf32>, tensor<128x16xf32>) -> tensor<128x16xf32>
    "tt.return"() : () -> ()
  }) {function_type = (f32) -> (), sym_name = "f"} : () -> ()
}) : () -> ()
"""


@pytest.mark.parametrize(("limit", "made"), [(64 << 10, "ttg.local_load"), (63 << 10, "ttg.convert_layout")])
def test_an_operand_is_converted_in_pieces_where_its_buffer_is_too_large(  # type: ignore[no-untyped-def]
    run, context, limit: int, made: str
) -> None:
    """Operands of 64 and 8 KiB, one after the other; the conversion of the larger takes 32 KiB at a time."""
    module: ir.Module = run(_LARGE, AccelerateMatmul(policy=MATRIX_POLICY))
    spec = replace(context.target.spec, limits={"shared": limit})
    StageMatrixOperands().apply(module, replace(context, target=replace(context.target, spec=spec)))
    assert module.operation.verify()
    assert [source(value).name for value in operands(module)] == [made, "ttg.local_load"]
    (function,) = functions(module)
    assert bytes_needed(function, SHARED) <= limit
    assert len(remarks_of(module)) == (made == "ttg.convert_layout")


_LOOP = """%{0} = scf.for %{0}i = %zero to %n step %one iter_args(%{0}s = %c) -> (tensor<64x32xf32>) : i32 {{
      %{0}d = "tt.dot"(%a, %b, %{0}s) {{inputPrecision = 2 : i32}} : (tensor<64x{1}xf32>, tensor<{1}x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
      scf.yield %{0}d : tensor<64x32xf32>
    }}"""


def _two_loops() -> str:
    """Two loops, one after the other, with dots of the same blocks, which are loaded before them."""
    blocks = {"a": "64x128", "b": "128x32"}
    lines = [pointers(name, shape, "f32") for name, shape in blocks.items()]
    lines += [_LOAD.format(name, shape, "f32") for name, shape in blocks.items()]
    lines += [_LOOP.format("first", 128), _LOOP.format("second", 128)]
    text = "\n".join(lines)
    pointer = '!tt.ptr<f32, "global">'
    return f"""
"builtin.module"() ({{
  "tt.func"() ({{
  ^bb0(%a_base: {pointer}, %b_base: {pointer}, %n: i32):
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %c = arith.constant dense<0.0> : tensor<64x32xf32>
    {text}
    "tt.return"() : () -> ()
  }}) {{function_type = ({pointer}, {pointer}, i32) -> (), sym_name = "f"}} : () -> ()
}}) : () -> ()
"""


@pytest.mark.parametrize(("limit", "reads"), [(64 << 10, 2), (40 << 10, 1)])
def test_an_operand_of_many_registers_is_read_in_each_loop_that_uses_it(  # type: ignore[no-untyped-def]
    run, context, limit: int, reads: int
) -> None:
    """64 words of each thread for A; it is read once, before the loops, where there is no memory to keep it."""
    module: ir.Module = run(_two_loops(), AccelerateMatmul(policy=MATRIX_POLICY), RemoveLayoutConversions())
    spec = replace(context.target.spec, limits={"shared": limit})
    StageMatrixOperands().apply(module, replace(context, target=replace(context.target, spec=spec)))
    assert module.operation.verify()
    left = [dot.operands[0].owner.operation for dot in all_ops(module.operation) if dot.name == "tt.dot"]
    assert [op.name for op in left] == ["ttg.local_load"] * 2
    assert (left[0] == left[1]) == (reads == 1)
    (function,) = functions(module)
    assert all((op.block == function.regions[0].blocks[0]) == (reads == 1) for op in left)
