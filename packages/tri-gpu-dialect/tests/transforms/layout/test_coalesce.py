from __future__ import annotations

import pytest

from tri_core.mlir import ir
from tri_gpu_dialect.analysis.layout_rules import encoding_of
from tri_gpu_dialect.encodings import Blocked
from tri_gpu_dialect.passes import Coalesce
from tri_gpu_dialect.policies.gpu import DefaultPolicy


def accesses(module: ir.Module) -> list[Blocked]:
    found: list[Blocked] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name in ("tt.load", "tt.store"):
            encoding = encoding_of(op.operands[0])
            assert isinstance(encoding, Blocked)
            found.append(encoding)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found


def copy(elements: tuple[str, str], divisibility: int = 16, size: int = 1024) -> str:
    """TTIR of a kernel that copies ``size`` elements, casting an element type to another."""
    source, result = elements
    lines = [f'%r = "tt.make_range"() {{start = 0 : i32, end = {size} : i32}} : () -> tensor<{size}xi32>']
    for name, element in (("x", source), ("y", result)):
        pointer = f'!tt.ptr<{element}, "global">'
        many = f"tensor<{size}x{pointer}>"
        lines.append(f'%{name}s = "tt.splat"(%{name}) : ({pointer}) -> {many}')
        lines.append(f'%{name}p = "tt.addptr"(%{name}s, %r) : ({many}, tensor<{size}xi32>) -> {many}')
    have, want = (f"tensor<{size}x{e}>" for e in elements)
    pointers = [f'tensor<{size}x!tt.ptr<{e}, "global">>' for e in elements]
    lines.append(
        f'%v = "tt.load"(%xp) {{operandSegmentSizes = array<i32: 1, 0, 0>}} : ({pointers[0]}) -> {have}'
    )
    lines.append(
        f"%w = arith.extf %v : {have} to {want}" if source != result else f"%w = arith.negf %v : {have}"
    )
    lines.append(
        f'"tt.store"(%yp, %w) {{operandSegmentSizes = array<i32: 1, 1, 0>}} : ({pointers[1]}, {want}) -> ()'
    )
    hint = f"{{tt.divisibility = {divisibility} : i32}}"
    body = "\n".join(lines)
    return (
        f'"tt.func"() ({{ ^bb0(%x: !tt.ptr<{source}, "global">, %y: !tt.ptr<{result}, "global">):\n{body}\n'
        f'"tt.return"() : () -> () }}) {{sym_name = "f", arg_attrs = [{hint}, {hint}], '
        f'function_type = (!tt.ptr<{source}, "global">, !tt.ptr<{result}, "global">) -> ()}} '
        ": () -> ()"
    )


@pytest.mark.parametrize(
    ("elements", "divisibility", "size", "vector"),
    [
        (("f32", "f32"), 16, 1024, 4),
        (("f16", "f16"), 16, 1024, 8),
        (("f32", "f32"), 8, 1024, 2),
        (("f32", "f32"), 4, 1024, 1),
        # no wider than there are elements for all threads
        (("f32", "f32"), 16, 256, 2),
        (("f32", "f32"), 16, 64, 1),
        # the wider element sets the width for both, so that no conversion is needed
        (("f16", "f32"), 16, 1024, 4),
    ],
)
def test_vectors_follow_alignment_and_element(run, elements, divisibility, size, vector) -> None:  # type: ignore[no-untyped-def]
    module = run(copy(elements, divisibility, size), Coalesce())
    assert accesses(module) == [Blocked.make((size,), (vector,), (0,), 4, 32)] * 2


def test_a_policy_limits_vectors(run) -> None:  # type: ignore[no-untyped-def]
    module = run(copy(("f16", "f16")), Coalesce(policy=DefaultPolicy(max_vector_bits=64)))
    assert {e.size_per_thread for e in accesses(module)} == {(4,)}


def test_lanes_follow_the_contiguous_dimension(run, kernel) -> None:  # type: ignore[no-untyped-def]
    a, b, c = accesses(run(kernel("matmul"), Coalesce()))
    assert a == Blocked((1, 8), (8, 4), (4, 1), (1, 0))
    assert b == c == Blocked((1, 8), (4, 8), (4, 1), (1, 0))


def test_a_column_major_access_runs_down_the_columns(run) -> None:  # type: ignore[no-untyped-def]
    column = """
    "tt.func"() ({ ^bb0(%p: !tt.ptr<f32, "global">, %s: i32):
      %r = "tt.make_range"() {start = 0 : i32, end = 64 : i32} : () -> tensor<64xi32>
      %row = "tt.expand_dims"(%r) {axis = 1 : i32} : (tensor<64xi32>) -> tensor<64x1xi32>
      %column = "tt.expand_dims"(%r) {axis = 0 : i32} : (tensor<64xi32>) -> tensor<1x64xi32>
      %stride = "tt.splat"(%s) : (i32) -> tensor<1x64xi32>
      %moved = arith.muli %column, %stride : tensor<1x64xi32>
      %a = "tt.broadcast"(%row) : (tensor<64x1xi32>) -> tensor<64x64xi32>
      %b = "tt.broadcast"(%moved) : (tensor<1x64xi32>) -> tensor<64x64xi32>
      %o = arith.addi %a, %b : tensor<64x64xi32>
      %ps = "tt.splat"(%p) : (!tt.ptr<f32, "global">) -> tensor<64x64x!tt.ptr<f32, "global">>
      %pp = "tt.addptr"(%ps, %o) : (tensor<64x64x!tt.ptr<f32, "global">>, tensor<64x64xi32>)
          -> tensor<64x64x!tt.ptr<f32, "global">>
      %v = "tt.load"(%pp) {operandSegmentSizes = array<i32: 1, 0, 0>}
          : (tensor<64x64x!tt.ptr<f32, "global">>) -> tensor<64x64xf32>
      "tt.return"() : () -> ()
    }) {sym_name = "f", function_type = (!tt.ptr<f32, "global">, i32) -> (),
        arg_attrs = [{tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}]} : () -> ()
    """
    assert accesses(run(column, Coalesce())) == [Blocked((4, 1), (16, 2), (1, 4), (0, 1))]


SCATTER = """
"tt.func"() ({ ^bb0(%rows: !tt.ptr<i64, "global">, %x: !tt.ptr<f32, "global">, %out: !tt.ptr<f32, "global">):
  %r = "tt.make_range"() {start = 0 : i32, end = 512 : i32} : () -> tensor<512xi32>
  %width = arith.constant dense<128> : tensor<512xi32>
  %wide = arith.constant dense<128> : tensor<512xi64>
  %row = arith.divsi %r, %width : tensor<512xi32>
  %column = arith.remsi %r, %width : tensor<512xi32>
  %rs = "tt.splat"(%rows) : (!tt.ptr<i64, "global">) -> tensor<512x!tt.ptr<i64, "global">>
  %rp = "tt.addptr"(%rs, %row) : (tensor<512x!tt.ptr<i64, "global">>, tensor<512xi32>) -> tensor<512x!tt.ptr<i64, "global">>
  %number = "tt.load"(%rp) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<512x!tt.ptr<i64, "global">>) -> tensor<512xi64>
  %xs = "tt.splat"(%x) : (!tt.ptr<f32, "global">) -> tensor<512x!tt.ptr<f32, "global">>
  %xp = "tt.addptr"(%xs, %r) : (tensor<512x!tt.ptr<f32, "global">>, tensor<512xi32>) -> tensor<512x!tt.ptr<f32, "global">>
  %value = "tt.load"(%xp) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<512x!tt.ptr<f32, "global">>) -> tensor<512xf32>
  %start = arith.muli %number, %wide : tensor<512xi64>
  %place = arith.extsi %column : tensor<512xi32> to tensor<512xi64>
  %index = arith.addi %place, %start : tensor<512xi64>
  %os = "tt.splat"(%out) : (!tt.ptr<f32, "global">) -> tensor<512x!tt.ptr<f32, "global">>
  %op = "tt.addptr"(%os, %index) : (tensor<512x!tt.ptr<f32, "global">>, tensor<512xi64>) -> tensor<512x!tt.ptr<f32, "global">>
  %old = "tt.atomic_rmw"(%op, %value) {atomic_rmw_op = 5 : i32, sem = 1 : i32, scope = 1 : i32} : (tensor<512x!tt.ptr<f32, "global">>, tensor<512xf32>) -> tensor<512xf32>
  "tt.return"() : () -> () }) {sym_name = "f", arg_attrs = [{tt.divisibility = 16 : i32}, {}, {tt.divisibility = 16 : i32}],
  function_type = (!tt.ptr<i64, "global">, !tt.ptr<f32, "global">, !tt.ptr<f32, "global">) -> ()} : () -> ()
"""


def test_numbers_of_rows_and_what_is_added_to_them_have_the_vectors_of_the_atomic(run) -> None:  # type: ignore[no-untyped-def]
    """Nobody reads what the atomic gives, and the wide numbers have no neighbours that a vector would hold."""
    loads = accesses(run(SCATTER, Coalesce()))
    assert [encoding.size_per_thread for encoding in loads] == [(4,), (4,)]
