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
from tri_gpu_dialect.policies.gpu import PipelinePolicy
from tri_gpu_dialect.testing import ReferencePrimitives, make_target
from tri_gpu_dialect.testing.dot_loops import dot_text, matmul, second_loads
from tri_gpu_dialect.testing.matrix import MATRIX_POLICY
from tri_gpu_dialect.transforms.pipeline.strategies import AsyncCopy
from tri_runtime.simulator import simulate


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
    steps.insert(4, Prefetch(policy=replace(MATRIX_POLICY, pipeline=PipelinePolicy(loads=AsyncCopy()))))
    assert str(run(text, *steps)) == before


def test_a_loop_without_copies_stays(run) -> None:  # type: ignore[no-untyped-def]
    text = matmul(16, transposed=False, twice=False)
    plain = [p for p in passes(1, 1) if not isinstance(p, Prefetch)]
    assert str(run(text, *passes(1, 1))) == str(run(text, *plain))


def test_a_slot_that_is_read_after_the_dots_keeps_the_loop(run) -> None:  # type: ignore[no-untyped-def]
    """The second dot has one operand from a stage, read right before it: the stage may not be let go before."""
    late = "%w = arith.constant dense<1.0> : tensor<16xKKxf16>\n" + second_loads(False).partition("\n")[2]
    late = (late + dot_text("next", "w", "y2", "mid")).replace("BSHAPE", "16x16").replace("KK", "16")
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
        pipeline = replace(MATRIX_POLICY.pipeline, prefetch_words=words)
        policy = replace(MATRIX_POLICY, pipeline=pipeline)
        steps = [replace(p, policy=policy) if isinstance(p, Prefetch) else p for p in passes(3, 1)]
        module = run(text, *steps, num_warps=1)
        loops.append(str(module).count('"tt.dot"'))
    assert loops == [1, 2]
