"""Reductions in loops give the same when threads are combined after the loop, and cross threads only there."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tri_core.api import CommonOptions
from tri_core.mlir import ir
from tri_gpu_dialect import layouts
from tri_gpu_dialect.edit import all_ops
from tri_gpu_dialect.lowering import generic_table, lower
from tri_gpu_dialect.passes import (
    AllocateSharedMemory,
    Coalesce,
    InsertBarriers,
    OptimizeThreadLocality,
    RemoveLayoutConversions,
)
from tri_gpu_dialect.plans.reduction import plan_reduction
from tri_gpu_dialect.testing import ReferencePrimitives, make_target
from tri_runtime.simulator import simulate

#: rows of N, M at a time, reduced along AXIS with OP, combined with what came before by OP
KERNEL = """
"builtin.module"() ({
  "tt.func"() ({
  ^bb0(%x: !tt.ptr<ELEMENT, "global">, %out: !tt.ptr<ELEMENT, "global">, %n: i32):
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %rm = "tt.make_range"() {start = 0 : i32, end = MM : i32} : () -> tensor<MMxi32>
    %rn = "tt.make_range"() {start = 0 : i32, end = NN : i32} : () -> tensor<NNxi32>
    %r1 = "tt.expand_dims"(%rm) {axis = 1 : i32} : (tensor<MMxi32>) -> tensor<MMx1xi32>
    %c1 = "tt.expand_dims"(%rn) {axis = 0 : i32} : (tensor<NNxi32>) -> tensor<1xNNxi32>
    %w = arith.constant dense<NN> : tensor<MMx1xi32>
    %r2 = arith.muli %r1, %w : tensor<MMx1xi32>
    %r3 = "tt.broadcast"(%r2) : (tensor<MMx1xi32>) -> tensor<MMxNNxi32>
    %c3 = "tt.broadcast"(%c1) : (tensor<1xNNxi32>) -> tensor<MMxNNxi32>
    %at = arith.addi %r3, %c3 : tensor<MMxNNxi32>
    %base = "tt.splat"(%x) : (!tt.ptr<ELEMENT, "global">) -> tensor<MMxNNx!tt.ptr<ELEMENT, "global">>
    %p0 = "tt.addptr"(%base, %at) : (tensor<MMxNNx!tt.ptr<ELEMENT, "global">>, tensor<MMxNNxi32>) -> tensor<MMxNNx!tt.ptr<ELEMENT, "global">>
    %step = arith.constant dense<STEP> : tensor<MMxNNxi32>
    %init = arith.constant dense<START> : tensor<KEPTxELEMENT>
    %r:2 = scf.for %i = %zero to %n step %one iter_args(%acc = %init, %p = %p0) -> (tensor<KEPTxELEMENT>, tensor<MMxNNx!tt.ptr<ELEMENT, "global">>) : i32 {
      %v = "tt.load"(%p) {cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<MMxNNx!tt.ptr<ELEMENT, "global">>) -> tensor<MMxNNxELEMENT>
      %s = "tt.reduce"(%v) ({
      ^bb0(%a: ELEMENT, %b: ELEMENT):
        %t = OP %a, %b : ELEMENT
        "tt.reduce_return"(%t) : (ELEMENT) -> ()
      }) {axis = AXIS : i32} : (tensor<MMxNNxELEMENT>) -> tensor<KEPTxELEMENT>
      %next = COMBINE : tensor<KEPTxELEMENT>
      %q = "tt.addptr"(%p, %step) : (tensor<MMxNNx!tt.ptr<ELEMENT, "global">>, tensor<MMxNNxi32>) -> tensor<MMxNNx!tt.ptr<ELEMENT, "global">>
      scf.yield %next, %q : tensor<KEPTxELEMENT>, tensor<MMxNNx!tt.ptr<ELEMENT, "global">>
    }
    %ro = "tt.make_range"() {start = 0 : i32, end = KEPT : i32} : () -> tensor<KEPTxi32>
    %ob = "tt.splat"(%out) : (!tt.ptr<ELEMENT, "global">) -> tensor<KEPTx!tt.ptr<ELEMENT, "global">>
    %op = "tt.addptr"(%ob, %ro) : (tensor<KEPTx!tt.ptr<ELEMENT, "global">>, tensor<KEPTxi32>) -> tensor<KEPTx!tt.ptr<ELEMENT, "global">>
    "tt.store"(%op, %r#0) {cache = 1 : i32, evict = 1 : i32, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<KEPTx!tt.ptr<ELEMENT, "global">>, tensor<KEPTxELEMENT>) -> ()
    "tt.return"() : () -> ()
  }) {function_type = (!tt.ptr<ELEMENT, "global">, !tt.ptr<ELEMENT, "global">, i32) -> (), sym_name = "f", arg_attrs = [{tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {}]} : () -> ()
}) : () -> ()
"""
OPS = {
    "arith.addf": np.add, "arith.maxnumf": np.fmax, "arith.minnumf": np.fmin, "arith.maximumf": np.maximum,
    "arith.addi": np.add, "arith.muli": np.multiply, "arith.maxsi": np.maximum, "arith.minsi": np.minimum,
    "arith.andi": np.bitwise_and, "arith.ori": np.bitwise_or, "arith.xori": np.bitwise_xor,
}  # fmt: skip


def kernel(m: int, n: int, axis: int, op: str, combine: str = "") -> str:
    floats = op.endswith("f")
    text = KERNEL.replace("COMBINE", combine or f"{op} %acc, %s").replace("OP", op).replace("AXIS", str(axis))
    text = text.replace("ELEMENT", "f32" if floats else "i32").replace("START", "3.0" if floats else "3")
    text = text.replace("STEP", str(m * n)).replace("KEPT", str(n if axis == 0 else m))
    return text.replace("MM", str(m)).replace("NN", str(n))


BEFORE = (Coalesce(), RemoveLayoutConversions())
AFTER = (AllocateSharedMemory(), InsertBarriers())


def computed(module: ir.Module, x: np.ndarray, trips: int, kept: int, warps: int) -> np.ndarray:  # type: ignore[type-arg]
    target, options = make_target(32), CommonOptions(num_warps=warps)
    words = ReferencePrimitives(target, options, threads_per_warp=32, num_warps=warps)
    lowered = lower(module, target, options, words, generic_table())
    made = np.full(kept, 77, x.dtype)
    simulate(
        lowered.module,
        lowered.name,
        (1, 1, 1),
        [x, made, trips],
        num_threads=warps * 32,
        threads_per_warp=32,
        shared_bytes=lowered.shared_bytes,
    )
    return made


def crossing(module: ir.Module) -> list[bool]:
    """For each reduction in the loop, whether it crosses threads."""
    (loop,) = (op for op in all_ops(module.operation) if op.name == "scf.for")
    plans = [
        plan_reduction(layouts.of(op.operands[0].type), ir.IntegerAttr(op.attributes["axis"]).value)
        for op in all_ops(loop)
        if op.name == "tt.reduce"
    ]
    return [bool(plan.lane_masks or plan.warp_masks) for plan in plans]


@settings(max_examples=25)
@given(
    m=st.sampled_from([1, 4, 16, 64]),
    n=st.sampled_from([8, 32, 128]),
    axis=st.sampled_from([0, 1]),
    op=st.sampled_from(sorted(OPS)),
    trips=st.integers(0, 3),
    warps=st.sampled_from([1, 4]),
    seed=st.integers(0, 99),
)
def test_results_stay(run, m: int, n: int, axis: int, op: str, trips: int, warps: int, seed: int) -> None:  # type: ignore[no-untyped-def]
    text = kernel(m, n, axis, op)
    dtype = np.float32 if op.endswith("f") else np.int32
    x = np.random.default_rng(seed).integers(-9, 10, (max(trips, 1), m, n)).astype(dtype)
    if op in ("arith.maxnumf", "arith.minnumf", "arith.maximumf"):
        x[np.random.default_rng(seed).random(x.shape) < 0.1] = np.nan
    module = run(text, *BEFORE, OptimizeThreadLocality(), *AFTER, num_warps=warps)
    kept = n if axis == 0 else m
    start = np.full((1, kept), 3, dtype)
    rows = np.concatenate([start, *(np.moveaxis(x[i], axis, 0) for i in range(trips))])
    # in the type itself: NumPy would sum integers in wider ones
    expected = OPS[op].reduce(rows, dtype=dtype)
    np.testing.assert_array_equal(computed(module, x, trips, kept, warps), expected)


@pytest.mark.parametrize(("m", "n", "axis"), [(4, 128, 1), (64, 64, 1), (64, 16, 0)])
def test_nothing_crosses_threads_in_the_loop(run, m: int, n: int, axis: int) -> None:  # type: ignore[no-untyped-def]
    text = kernel(m, n, axis, "arith.addf")
    assert True in crossing(run(text, *BEFORE))
    assert True not in crossing(run(text, *BEFORE, OptimizeThreadLocality()))


@pytest.mark.parametrize(
    "combine",
    ["arith.mulf %acc, %s", "arith.addf %s, %s", "arith.addf %init, %s", "arith.maxnumf %acc, %s"],
)
def test_other_loops_stay(run, combine: str) -> None:  # type: ignore[no-untyped-def]
    text = kernel(4, 128, 1, "arith.addf", combine)
    assert str(run(text, *BEFORE, OptimizeThreadLocality())) == str(run(text, *BEFORE))


#: the sum so far is multiplied, row by row, by the largest element that is new
SCALED = """%f = "tt.reduce"(%v) ({
      ^bb0(%a: f32, %b: f32):
        %t = arith.maxnumf %a, %b : f32
        "tt.reduce_return"(%t) : (f32) -> ()
      }) {axis = AXIS : i32} : (tensor<MMxNNxf32>) -> tensor<KEPTxf32>
      %scaled = arith.mulf FACTORS : tensor<KEPTxf32>
      %next = arith.addf SUMMANDS"""


def scaled(
    m: int, n: int, axis: int, start: str = "0.0", factors: str = "%acc, %f", swap: bool = False
) -> str:
    summands = "%s, %scaled" if swap else "%scaled, %s"
    text = SCALED.replace("FACTORS", factors).replace("SUMMANDS", summands)
    whole = KERNEL.replace("%next = COMBINE", text).replace("START", start)
    whole = whole.replace("OP", "arith.addf").replace("AXIS", str(axis)).replace("ELEMENT", "f32")
    whole = whole.replace("STEP", str(m * n)).replace("KEPT", str(n if axis == 0 else m))
    return whole.replace("MM", str(m)).replace("NN", str(n))


def twice(text: str) -> str:
    """The loop of ``text`` again behind it, over the same rows, from what the first one left."""
    start, end = text.index("    %r:2 = scf.for"), text.index("    %ro =")
    second = text[start:end].replace("%r:2", "%z:2").replace("%acc = %init", "%acc = %r#0")
    return text[:end] + second + text[end:].replace("%r#0", "%z#0")


@settings(max_examples=25)
@given(
    m=st.sampled_from([1, 4, 16, 64]),
    n=st.sampled_from([8, 32, 128]),
    axis=st.sampled_from([0, 1]),
    trips=st.integers(0, 2),
    loops=st.sampled_from([1, 2]),
    warps=st.sampled_from([1, 4]),
    swap=st.booleans(),
    seed=st.integers(0, 99),
)
def test_scaled_sums_stay(  # type: ignore[no-untyped-def]
    run, m: int, n: int, axis: int, trips: int, loops: int, warps: int, swap: bool, seed: int
) -> None:
    """Small integers, of which f32 has all sums and dots."""
    text = scaled(m, n, axis, swap=swap, factors="%f, %acc" if swap else "%acc, %f")
    x = np.random.default_rng(seed).integers(-4, 5, (max(trips, 1), m, n)).astype(np.float32)
    module = run(
        twice(text) if loops == 2 else text, *BEFORE, OptimizeThreadLocality(), *AFTER, num_warps=warps
    )
    expected = np.zeros(n if axis == 0 else m)
    for i in [*range(trips)] * loops:
        expected = expected * x[i].max(axis) + x[i].sum(axis)
    np.testing.assert_array_equal(computed(module, x, trips, len(expected), warps), expected)


def sums(module: ir.Module) -> list[bool]:
    """For each sum of ``module``, whether it crosses threads."""
    found = [op for op in all_ops(module.operation) if op.name == "tt.reduce"]
    found = [op for op in found if op.regions[0].blocks[0].operations[0].operation.name == "arith.addf"]
    plans = [
        plan_reduction(layouts.of(op.operands[0].type), ir.IntegerAttr(op.attributes["axis"]).value)
        for op in found
    ]
    return [bool(plan.lane_masks or plan.warp_masks) for plan in plans]


def test_parts_of_scaled_sums_go_on_in_the_next_loop(run) -> None:  # type: ignore[no-untyped-def]
    """Threads are combined once, behind both."""
    text = twice(scaled(64, 64, 1))
    assert sums(run(text, *BEFORE)) == [True, True]
    found = sums(run(text, *BEFORE, OptimizeThreadLocality()))
    assert found.count(True) == 1
    assert found[-1]


@pytest.mark.parametrize(
    ("start", "factors"), [("3.0", "%acc, %f"), ("0.0", "%acc, %acc"), ("0.0", "%f, %f")]
)
def test_other_scaled_sums_stay(run, start: str, factors: str) -> None:  # type: ignore[no-untyped-def]
    """From what is not zeros, which would have to be scaled with the parts; powers; no sum of what came before."""
    text = scaled(4, 128, 1, start, factors)
    assert str(run(text, *BEFORE, OptimizeThreadLocality())) == str(run(text, *BEFORE))


def test_partial_results_are_bounded(run) -> None:  # type: ignore[no-untyped-def]
    """64 x 64 over 128 threads, vectors of 4: 8 rows' parts per thread."""
    text = kernel(64, 64, 1, "arith.addf")
    kept = str(run(text, *BEFORE))
    assert str(run(text, *BEFORE, OptimizeThreadLocality(words=7))) == kept
    assert str(run(text, *BEFORE, OptimizeThreadLocality(words=8))) != kept
