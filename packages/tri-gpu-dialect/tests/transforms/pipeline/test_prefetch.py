"""Prefetched loops compute the same, without races, whatever the sizes, the stages and the trips."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tri_core.api import CommonOptions
from tri_core.mlir import ir
from tri_gpu_dialect.edit import all_ops
from tri_gpu_dialect.lowering import generic_table, lower
from tri_gpu_dialect.passes import (
    AccelerateMatmul,
    AllocateSharedMemory,
    Coalesce,
    InsertBarriers,
    Pipeline,
    Prefetch,
    RemoveLayoutConversions,
    StageMatrixOperands,
)
from tri_gpu_dialect.policy import PipelinePolicy
from tri_gpu_dialect.testing import ReferencePrimitives, make_target
from tri_gpu_dialect.testing.matrix import MATRIX_POLICY
from tri_runtime.simulator import simulate

#: ``c += sum over i of a[i] @ b[i]``, then once more with ``a`` transposed if ``%b`` is read through ``TRANS``
MATMUL = """
"builtin.module"() ({
  "tt.func"() ({
  ^bb0(%a: !tt.ptr<f16, "global">, %b: !tt.ptr<f16, "global">, %c: !tt.ptr<f32, "global">, %n: i32):
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %start = arith.constant dense<0.0> : tensor<16x16xf32>
    %r16 = "tt.make_range"() {start = 0 : i32, end = 16 : i32} : () -> tensor<16xi32>
    %rk = "tt.make_range"() {start = 0 : i32, end = KK : i32} : () -> tensor<KKxi32>
    %ar = "tt.expand_dims"(%r16) {axis = 1 : i32} : (tensor<16xi32>) -> tensor<16x1xi32>
    %ac = "tt.expand_dims"(%rk) {axis = 0 : i32} : (tensor<KKxi32>) -> tensor<1xKKxi32>
    %aw = arith.constant dense<KK> : tensor<16x1xi32>
    %as = arith.muli %ar, %aw : tensor<16x1xi32>
    %arb = "tt.broadcast"(%as) : (tensor<16x1xi32>) -> tensor<16xKKxi32>
    %acb = "tt.broadcast"(%ac) : (tensor<1xKKxi32>) -> tensor<16xKKxi32>
    %ao = arith.addi %arb, %acb : tensor<16xKKxi32>
    %a0 = "tt.splat"(%a) : (!tt.ptr<f16, "global">) -> tensor<16xKKx!tt.ptr<f16, "global">>
    %a1 = "tt.addptr"(%a0, %ao) : (tensor<16xKKx!tt.ptr<f16, "global">>, tensor<16xKKxi32>) -> tensor<16xKKx!tt.ptr<f16, "global">>
    BPOINTERS
    %co_r = "tt.expand_dims"(%r16) {axis = 0 : i32} : (tensor<16xi32>) -> tensor<1x16xi32>
    %cw = arith.constant dense<16> : tensor<16x1xi32>
    %cs = arith.muli %ar, %cw : tensor<16x1xi32>
    %crb = "tt.broadcast"(%cs) : (tensor<16x1xi32>) -> tensor<16x16xi32>
    %ccb = "tt.broadcast"(%co_r) : (tensor<1x16xi32>) -> tensor<16x16xi32>
    %co = arith.addi %crb, %ccb : tensor<16x16xi32>
    %c0 = "tt.splat"(%c) : (!tt.ptr<f32, "global">) -> tensor<16x16x!tt.ptr<f32, "global">>
    %c1 = "tt.addptr"(%c0, %co) : (tensor<16x16x!tt.ptr<f32, "global">>, tensor<16x16xi32>) -> tensor<16x16x!tt.ptr<f32, "global">>
    %step = arith.constant dense<STEP> : tensor<16xKKxi32>
    %stepb = arith.constant dense<STEP> : tensor<BSHAPExi32>
    %r:3 = scf.for %i = %zero to %n step %one iter_args(%acc = %start, %at = %a1, %bt = %b1) -> (tensor<16x16xf32>, tensor<16xKKx!tt.ptr<f16, "global">>, tensor<BSHAPEx!tt.ptr<f16, "global">>) : i32 {
      %x = "tt.load"(%at) {cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<16xKKx!tt.ptr<f16, "global">>) -> tensor<16xKKxf16>
      %y = "tt.load"(%bt) {cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<BSHAPEx!tt.ptr<f16, "global">>) -> tensor<BSHAPExf16>
      BODY
      %at2 = "tt.addptr"(%at, %step) : (tensor<16xKKx!tt.ptr<f16, "global">>, tensor<16xKKxi32>) -> tensor<16xKKx!tt.ptr<f16, "global">>
      %bt2 = "tt.addptr"(%bt, %stepb) : (tensor<BSHAPEx!tt.ptr<f16, "global">>, tensor<BSHAPExi32>) -> tensor<BSHAPEx!tt.ptr<f16, "global">>
      scf.yield %next, %at2, %bt2 : tensor<16x16xf32>, tensor<16xKKx!tt.ptr<f16, "global">>, tensor<BSHAPEx!tt.ptr<f16, "global">>
    }
    "tt.store"(%c1, %r#0) {cache = 1 : i32, evict = 1 : i32, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<16x16x!tt.ptr<f32, "global">>, tensor<16x16xf32>) -> ()
    "tt.return"() : () -> ()
  }) {function_type = (!tt.ptr<f16, "global">, !tt.ptr<f16, "global">, !tt.ptr<f32, "global">, i32) -> (), sym_name = "f", arg_attrs = [{tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}, {}]} : () -> ()
}) : () -> ()
"""
#: the right operand as it lies: k rows of 16, or 16 rows of k
_ROWS = """
    %br = "tt.expand_dims"(%rk) {axis = 1 : i32} : (tensor<KKxi32>) -> tensor<KKx1xi32>
    %bc = "tt.expand_dims"(%r16) {axis = 0 : i32} : (tensor<16xi32>) -> tensor<1x16xi32>
    %bw = arith.constant dense<16> : tensor<KKx1xi32>
    %bs = arith.muli %br, %bw : tensor<KKx1xi32>
    %brb = "tt.broadcast"(%bs) : (tensor<KKx1xi32>) -> tensor<KKx16xi32>
    %bcb = "tt.broadcast"(%bc) : (tensor<1x16xi32>) -> tensor<KKx16xi32>
    %bo = arith.addi %brb, %bcb : tensor<KKx16xi32>
    %b0 = "tt.splat"(%b) : (!tt.ptr<f16, "global">) -> tensor<KKx16x!tt.ptr<f16, "global">>
    %b1 = "tt.addptr"(%b0, %bo) : (tensor<KKx16x!tt.ptr<f16, "global">>, tensor<KKx16xi32>) -> tensor<KKx16x!tt.ptr<f16, "global">>
"""
_COLUMNS = """
    %b0 = "tt.splat"(%b) : (!tt.ptr<f16, "global">) -> tensor<16xKKx!tt.ptr<f16, "global">>
    %b1 = "tt.addptr"(%b0, %ao) : (tensor<16xKKx!tt.ptr<f16, "global">>, tensor<16xKKxi32>) -> tensor<16xKKx!tt.ptr<f16, "global">>
"""
_DOT = '%{0} = "tt.dot"(%{1}, %{2}, %{3}) {{inputPrecision = 2 : i32}} : (tensor<16xKKxf16>, tensor<KKx16xf16>, tensor<16x16xf32>) -> tensor<16x16xf32>\n'
_TRANS = '%z = "tt.trans"(%y) {order = array<i32: 1, 0>} : (tensor<16xKKxf16>) -> tensor<KKx16xf16>\n'


def matmul(k: int, *, transposed: bool, twice: bool) -> str:
    """The text of the kernel; ``twice``: two dots per iteration."""
    body = _TRANS if transposed else ""
    right = "z" if transposed else "y"
    body += _DOT.format("mid", "x", right, "acc") if twice else ""
    # a second dot of the same loads would make them have two readers: it takes loads of its own
    if twice:
        body += _second(transposed)
        body += _DOT.format("next", "x2", "z2" if transposed else "y2", "mid")
    else:
        body += _DOT.format("next", "x", right, "acc")
    shape = f"16x{k}" if transposed else f"{k}x16"
    text = MATMUL.replace("BPOINTERS", _COLUMNS if transposed else _ROWS).replace("BODY", body)
    return text.replace("BSHAPE", shape).replace("STEP", str(16 * k)).replace("KK", str(k))


def _second(transposed: bool) -> str:
    load = '%{0} = "tt.load"(%{1}) {{cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>}} : (tensor<{2}x!tt.ptr<f16, "global">>) -> tensor<{2}xf16>\n'
    text = load.format("x2", "at", "16xKK") + load.format("y2", "bt", "BSHAPE")
    return text + (_TRANS.replace("%z", "%z2").replace("%y", "%y2") if transposed else "")


def passes(stages: int, steps: int) -> list[object]:
    return [
        Coalesce(policy=MATRIX_POLICY),
        AccelerateMatmul(policy=MATRIX_POLICY),
        RemoveLayoutConversions(),
        Pipeline(num_stages=stages, policy=MATRIX_POLICY),
        Prefetch(steps=steps, policy=MATRIX_POLICY),
        StageMatrixOperands(),
        AllocateSharedMemory(),
        InsertBarriers(),
    ]


@settings(max_examples=25)
@given(
    k=st.sampled_from([8, 16, 32]),
    steps=st.sampled_from([1, 2]),
    stages=st.integers(2, 4),
    trips=st.integers(0, 5),
    warps=st.sampled_from([1, 4]),
    transposed=st.booleans(),
    twice=st.booleans(),
)
def test_results_stay(  # type: ignore[no-untyped-def]
    run, k: int, steps: int, stages: int, trips: int, warps: int, transposed: bool, twice: bool
) -> None:
    module = run(matmul(k, transposed=transposed, twice=twice), *passes(stages, steps), num_warps=warps)
    target, options = make_target(32), CommonOptions(num_warps=warps)
    words = ReferencePrimitives(target, options, threads_per_warp=32, num_warps=warps)
    lowered = lower(module, target, options, words, generic_table())
    random = np.random.default_rng(k + trips)
    a = random.integers(-3, 4, (trips + stages, 16, k)).astype(np.float16)
    b = random.integers(-3, 4, (trips + stages, *((16, k) if transposed else (k, 16)))).astype(np.float16)
    c = np.full((16, 16), np.nan, np.float32)
    simulate(
        lowered.module,
        lowered.name,
        (1, 1, 1),
        [a, b, c, trips],
        num_threads=warps * 32,
        threads_per_warp=32,
        shared_bytes=lowered.shared_bytes,
    )
    right = b.transpose(0, 2, 1) if transposed else b
    expected = (a.astype(np.float64) @ right)[:trips].sum(0) * (2 if twice else 1)
    np.testing.assert_array_equal(c, expected)


@pytest.mark.parametrize("k", [16, 32])
def test_one_barrier_per_iteration(run, k: int) -> None:  # type: ignore[no-untyped-def]
    module = run(matmul(k, transposed=False, twice=False), *passes(3, 1))
    (loop,) = (op for op in all_ops(module.operation) if op.name == "scf.for")
    names = [op.name for op in all_ops(loop)]
    assert names.count("ttg.barrier") == names.count("ttg.async_wait") == 1
    assert names.count("tt.dot") == k // 8
    assert names.count("ttg.local_load") == 2 * (k // 8)


def test_without_the_policys_word_nothing_is_done(run) -> None:  # type: ignore[no-untyped-def]
    steps = [p for p in passes(3, 1) if not isinstance(p, Prefetch)]
    text = matmul(16, transposed=False, twice=False)
    before = str(run(text, *steps))
    steps.insert(
        4, Prefetch(policy=replace(MATRIX_POLICY, pipeline=PipelinePolicy(async_copy_bits=(32, 64, 128))))
    )
    assert str(run(text, *steps)) == before


def test_a_loop_without_copies_stays(run) -> None:  # type: ignore[no-untyped-def]
    text = matmul(16, transposed=False, twice=False)
    plain = [p for p in passes(1, 1) if not isinstance(p, Prefetch)]
    assert str(run(text, *passes(1, 1))) == str(run(text, *plain))


def test_a_slot_that_is_read_after_the_dots_keeps_the_loop(run) -> None:  # type: ignore[no-untyped-def]
    """The second dot has one operand from a stage, read right before it: the stage may not be let go before."""
    late = "%w = arith.constant dense<1.0> : tensor<16xKKxf16>\n" + _second(False).partition("\n")[2]
    late = (late + _DOT.format("next", "w", "y2", "mid")).replace("BSHAPE", "16x16").replace("KK", "16")
    text = matmul(16, transposed=False, twice=False)
    text = text.replace('%next = "tt.dot"', '%mid = "tt.dot"').replace("%at2 =", late + "%at2 =", 1)
    module: ir.Module = run(text, *passes(3, 1))
    (loop,) = (op for op in all_ops(module.operation) if op.name == "scf.for")
    names = [op.name for op in all_ops(loop)]
    assert names[0] == "ttg.async_wait"
    assert names.count("tt.dot") == 2
    assert names.index("tt.dot") < max(i for i, name in enumerate(names) if name == "ttg.local_load")


def test_a_dot_that_takes_too_many_registers_stays(run) -> None:  # type: ignore[no-untyped-def]
    """16 x 16 results over 32 lanes are 8 words; a slice of 8 of both operands twice, 4 words each."""
    text, loops = matmul(16, transposed=False, twice=False), []
    for words in (15, 16):
        steps = [replace(p, words=words) if isinstance(p, Prefetch) else p for p in passes(3, 1)]
        module = run(text, *steps, num_warps=1)
        loops.append(str(module).count('"tt.dot"'))
    assert loops == [1, 2]
