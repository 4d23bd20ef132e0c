"""Loads of a dot's loop that run ahead, by where their pointers come from and what the loop writes."""

from __future__ import annotations

import pytest

from tri_core.ir.regions import loops_in
from tri_core.mlir import ir
from tri_gpu_dialect.analysis.pipelined_loads import obstacle, pipelined_loads
from tri_gpu_dialect.passes import AccelerateMatmul, Coalesce
from tri_gpu_dialect.testing.dot_loops import matmul
from tri_gpu_dialect.testing.matrix import MATRIX_POLICY

_POINTERS = 'tensor<16x8x!tt.ptr<f16, "global">>'
_MODIFIERS = "cache = 1 : i32, evict = 1 : i32"
#: the pointer that the right operand's loads come from, in place of the argument
_FROM = {
    "argument": "",
    "integer": """%wide = arith.extsi %n : i32 to i64
    %other = "tt.int_to_ptr"(%wide) : (i64) -> !tt.ptr<f16, "global">""",
    "table": f"""%table = "tt.bitcast"(%c) : (!tt.ptr<f32, "global">) -> !tt.ptr<i64, "global">
    %entry = "tt.load"(%table) {{{_MODIFIERS}, isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>}} : (!tt.ptr<i64, "global">) -> i64
    %other = "tt.int_to_ptr"(%entry) : (i64) -> !tt.ptr<f16, "global">""",
    "select": """%some = arith.cmpi sgt, %n, %zero : i32
    %other = arith.select %some, %a, %b : !tt.ptr<f16, "global">""",
    "branch": """%some = arith.cmpi sgt, %n, %zero : i32
    %other = scf.if %some -> (!tt.ptr<f16, "global">) { scf.yield %a : !tt.ptr<f16, "global"> } else { scf.yield %b : !tt.ptr<f16, "global"> }""",
}
#: what the loop does beside
_BESIDE = {
    "nothing": "",
    "store to c": f""""tt.store"(%c1, %acc) {{{_MODIFIERS}, operandSegmentSizes = array<i32: 1, 1, 0>}} : (tensor<16x16x!tt.ptr<f32, "global">>, tensor<16x16xf32>) -> ()\n""",
    "store to a": f"""%stored = arith.constant dense<0.0> : tensor<16x8xf16>
      "tt.store"(%a1, %stored) {{{_MODIFIERS}, operandSegmentSizes = array<i32: 1, 1, 0>}} : ({_POINTERS}, tensor<16x8xf16>) -> ()\n""",
    "volatile load": f"""%flag = "tt.load"(%c) {{{_MODIFIERS}, isVolatile = true, operandSegmentSizes = array<i32: 1, 0, 0>}} : (!tt.ptr<f32, "global">) -> f32\n""",
}
#: pointers that no store to an argument reaches; those that may be any memory; those of a and b
_LOADS = {
    ("argument", "nothing"): 2,
    ("integer", "nothing"): 2,
    ("table", "nothing"): 2,
    ("select", "nothing"): 2,
    ("branch", "nothing"): 2,
    ("argument", "store to c"): 2,
    ("integer", "store to c"): 1,
    ("table", "store to c"): 1,
    ("select", "store to c"): 2,
    ("branch", "store to c"): 2,
    ("argument", "store to a"): 1,
    ("select", "store to a"): 0,
    ("branch", "store to a"): 0,
    ("integer", "store to a"): 0,
    ("argument", "volatile load"): 0,
}


def text(pointer: str, beside: str) -> str:
    """A matmul whose right operand comes from ``pointer`` and whose loop does ``beside``."""
    found = matmul(8, transposed=False, twice=False).replace("%next = ", _BESIDE[beside] + "%next = ")
    if pointer != "argument":
        splat = '%b0 = "tt.splat"(%b)'
        assert splat in found
        found = found.replace(splat, f'{_FROM[pointer]}\n    %b0 = "tt.splat"(%other)')
    return found


@pytest.mark.parametrize(("pointer", "beside"), list(_LOADS))
def test_loads_that_run_ahead(run, pointer: str, beside: str) -> None:  # type: ignore[no-untyped-def]
    policy = MATRIX_POLICY
    module: ir.Module = run(
        text(pointer, beside), Coalesce(policy=policy), AccelerateMatmul(policy=policy), num_warps=4
    )
    (loop,) = loops_in(module.operation)
    plan = pipelined_loads(loop, lambda _: True)
    count = _LOADS[pointer, beside]
    assert (0 if plan is None else len(plan.loads)) == count
    assert (obstacle(loop, lambda _: True) is not None) == (count == 0)
