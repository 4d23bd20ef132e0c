"""Random masks: what the pass makes of them gives what they gave."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tri_core.mlir import ir
from tri_gpu_dialect.edit import all_ops
from tri_gpu_dialect.passes import FoldComparisons
from tri_gpu_dialect.testing.evaluator import evaluate

KERNEL = """
"builtin.module"() ({
  "tt.func"() ({
  ^bb0(%p: !tt.ptr<f32, "global">, %out: !tt.ptr<f32, "global">, %n: i32):
    %zero = arith.constant LOWER : i32
    %step = arith.constant STEP : i32
    %end = arith.constant UPPER : i32
    %bound = arith.constant dense<BOUND> : tensor<8xi32>
    %factor = arith.constant dense<FACTOR> : tensor<8xi32>
    %other = arith.constant dense<7.0> : tensor<8xf32>
    %r = "tt.make_range"() {start = START : i32, end = STOP : i32} : () -> tensor<8xi32>
    %base = "tt.splat"(%p) : (!tt.ptr<f32, "global">) -> tensor<8x!tt.ptr<f32, "global">>
    %obase = "tt.splat"(%out) : (!tt.ptr<f32, "global">) -> tensor<8x!tt.ptr<f32, "global">>
    scf.for %i = %zero to %end step %step : i32 {
      %at = "tt.splat"(%i) : (i32) -> tensor<8xi32>
      %o = arith.addi %at, %r : tensor<8xi32>
      %v = OPERATION %o, %factor : tensor<8xi32>
      %m1 = arith.cmpi PREDICATE, %v, %bound : tensor<8xi32>
      %ns = "tt.splat"(%n) : (i32) -> tensor<8xi32>
      %m2 = arith.cmpi slt, %o, %ns : tensor<8xi32>
      %mask = MASK
      %q = "tt.addptr"(%base, %o) : (tensor<8x!tt.ptr<f32, "global">>, tensor<8xi32>) -> tensor<8x!tt.ptr<f32, "global">>
      %x = "tt.load"(%q, %mask, %other) {cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<8x!tt.ptr<f32, "global">>, tensor<8xi1>, tensor<8xf32>) -> tensor<8xf32>
      %w = "tt.addptr"(%obase, %o) : (tensor<8x!tt.ptr<f32, "global">>, tensor<8xi32>) -> tensor<8x!tt.ptr<f32, "global">>
      "tt.store"(%w, %x, %m1) {cache = 1 : i32, evict = 1 : i32, operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<8x!tt.ptr<f32, "global">>, tensor<8xf32>, tensor<8xi1>) -> ()
    }
    "tt.return"() : () -> ()
  }) {function_type = (!tt.ptr<f32, "global">, !tt.ptr<f32, "global">, i32) -> (), sym_name = "f", arg_attrs = [{}, {}, {}]} : () -> ()
}) : () -> ()
"""
OPERATIONS = ["addi", "subi", "muli", "divsi", "remsi", "andi", "ori", "xori", "minsi", "maxsi"]
PREDICATES = ["eq", "ne", "slt", "sle", "sgt", "sge"]
MASKS = [
    "arith.andi %m1, %m2 : tensor<8xi1>",
    "arith.ori %m1, %m2 : tensor<8xi1>",
    "arith.andi %m1, %m1 : tensor<8xi1>",
]


def evaluated(module: ir.Module, n: int) -> np.ndarray:  # type: ignore[type-arg]
    source, made = np.arange(200, dtype=np.float32), np.full(200, -1, np.float32)
    evaluate(module.body.operations[0].operation, [source, made, n])
    return made


def masks(module: ir.Module) -> list[bool]:
    return [
        op.opview.mask is not None for op in all_ops(module.operation) if op.name in ("tt.load", "tt.store")
    ]


@settings(max_examples=80)
@given(
    lower=st.integers(0, 20),
    trips=st.integers(0, 4),
    step=st.sampled_from([1, 3, 8, 16]),
    start=st.integers(0, 40),
    factor=st.one_of(st.integers(1, 100), st.sampled_from([7, 8, 15, 16, 64])),
    bound=st.integers(-10, 130),
    operation=st.sampled_from(OPERATIONS),
    predicate=st.sampled_from(PREDICATES),
    mask=st.sampled_from(MASKS),
    n=st.integers(-5, 150),
)  # fmt: skip
def test_results_stay(
    lower: int, trips: int, step: int, start: int, factor: int, bound: int, operation: str, predicate: str, mask: str, n: int
) -> None:  # fmt: skip
    text = (
        KERNEL.replace("MASK", mask)
        .replace("OPERATION", f"arith.{operation}")
        .replace("PREDICATE", predicate)
    )
    values = {
        "LOWER": lower, "UPPER": lower + trips * step, "STEP": step, "START": start, "STOP": start + 8,
        "FACTOR": factor, "BOUND": bound,
    }  # fmt: skip
    for name, value in values.items():
        text = text.replace(name, str(value))
    module = ir.Module.parse(text)
    expected = evaluated(module, n)
    FoldComparisons().apply(module, None)  # type: ignore[arg-type]
    assert module.operation.verify()
    np.testing.assert_array_equal(evaluated(module, n), expected)


def _folded(bound: int) -> ir.Module:
    text = KERNEL.replace("MASK", MASKS[2]).replace("OPERATION", "arith.andi").replace("PREDICATE", "slt")
    values = {"LOWER": 0, "UPPER": 64, "STEP": 8, "START": 0, "STOP": 8, "FACTOR": 15, "BOUND": bound}
    for name, value in values.items():
        text = text.replace(name, str(value))
    module = ir.Module.parse(text)
    FoldComparisons().apply(module, None)  # type: ignore[arg-type]
    return module


def test_masks_that_are_true_go_and_others_stay() -> None:
    """``(i + r) & 15`` is below 16, and not always below 15."""
    assert masks(_folded(16)) == [False, False]
    assert masks(_folded(15)) == [True, True]
