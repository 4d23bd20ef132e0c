"""Loops whose loads are under way in registers: the same results without races, one buffer, no mask more, and only if registers suffice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from tri_core.api import CommonOptions, ComputeUnit, StageContext
from tri_core.mlir import ir
from tri_gpu_dialect.edit import all_ops, block_ops
from tri_gpu_dialect.lowering import generic_table, lower
from tri_gpu_dialect.passes import (
    AccelerateMatmul,
    AllocateSharedMemory,
    Coalesce,
    InsertBarriers,
    Pipeline,
    RemoveLayoutConversions,
    StageMatrixOperands,
    VerifyLayouts,
)
from tri_gpu_dialect.policies.gpu import PipelinePolicy
from tri_gpu_dialect.policies.operands import ByCycles
from tri_gpu_dialect.testing import ReferencePrimitives, make_target
from tri_gpu_dialect.testing.dot_loops import matmul
from tri_gpu_dialect.testing.matrix import MATRIX_POLICY
from tri_gpu_dialect.transforms.pipeline.strategies import ThroughRegisters
from tri_runtime.simulator import simulate

POLICY = replace(MATRIX_POLICY, pipeline=PipelinePolicy(loads=ThroughRegisters()))
BY_CYCLES = replace(POLICY, dots=replace(POLICY.dots, operands=ByCycles()))


def unit(registers: int) -> ComputeUnit:
    return ComputeUnit(partitions=4, warps=8, registers=registers, shared=65536, blocks=16)


def pipelined(
    run, text: str, policy=POLICY, *, registers: int = 512, shared: int = 65536, warps: int = 4, late=True
) -> ir.Module:  # type: ignore[no-untyped-def]
    """``text`` with its loops through registers, on a target that has ``registers``."""
    first = [Coalesce(policy=policy), AccelerateMatmul(policy=policy), RemoveLayoutConversions()]
    module: ir.Module = run(text, *first, num_warps=warps)
    target = make_target(32, unit=unit(registers), limits={"shared": shared})
    context = StageContext(target=target, options=CommonOptions(), kernel_name="f", codegen=None)  # type: ignore[arg-type]
    steps = [Pipeline(policy=policy), VerifyLayouts()]
    if late:
        steps += [StageMatrixOperands(policy=policy), AllocateSharedMemory(), InsertBarriers()]
    for step in steps:
        step.apply(module, context)
    return module


def loops(module: ir.Module) -> list[ir.Operation]:
    return [op for op in all_ops(module.operation) if op.name == "scf.for"]


@settings(max_examples=30)
@given(
    k=st.sampled_from([8, 16, 32]),
    trips=st.integers(0, 5),
    constant=st.booleans(),
    warps=st.sampled_from([1, 4]),
    transposed=st.booleans(),
    twice=st.booleans(),
    converted=st.booleans(),
    by_cycles=st.booleans(),
)
def test_results_stay(  # type: ignore[no-untyped-def]
    run,
    k: int,
    trips: int,
    constant: bool,
    warps: int,
    transposed: bool,
    twice: bool,
    converted: bool,
    by_cycles: bool,
) -> None:
    text = matmul(k, transposed=transposed, twice=twice)
    if constant:
        text = text.replace("%zero to %n", "%zero to %trips").replace(
            "%one =", f"%trips = arith.constant {trips} : i32\n    %one ="
        )
    if converted:  # the left operand is computed of what is loaded
        text = doubled(text, k)
    module = pipelined(run, text, BY_CYCLES if by_cycles else POLICY, warps=warps)
    event(f"branches: {sum(op.name == 'scf.if' for op in all_ops(module.operation))}")
    target, options = make_target(32), CommonOptions(num_warps=warps)
    words = ReferencePrimitives(target, options, threads_per_warp=32, num_warps=warps)
    lowered = lower(module, target, options, words, generic_table())
    random = np.random.default_rng(k + trips)
    # nothing is loaded that the loop does not load: the arrays end there
    a = random.integers(-3, 4, (max(trips, 1), 16, k)).astype(np.float16)
    b = random.integers(-3, 4, (max(trips, 1), *((16, k) if transposed else (k, 16)))).astype(np.float16)
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
    expected = (a.astype(np.float64) @ right)[:trips].sum(0) * (2 if twice else 1) * (2 if converted else 1)
    if twice and converted:  # the second dot's operands are loads as they are
        expected = expected * 3 / 4
    np.testing.assert_array_equal(c, expected)


def doubled(text: str, k: int) -> str:
    """``text`` with ``%x + %x`` in place of ``%x``, of which the first dot is made."""
    type_ = f"tensor<16x{k}xf16>"
    text = text.replace('"tt.dot"(%x, ', '"tt.dot"(%xx, ')
    before, load, after = text.partition("%y = ")
    return f"{before}%xx = arith.addf %x, %x : {type_}\n      {load}{after}"


def test_one_buffer_loads_first_and_stores_last(run) -> None:  # type: ignore[no-untyped-def]
    module = pipelined(run, matmul(16, transposed=False, twice=False))
    (loop,) = loops(module)
    names = [op.name for op in block_ops(loop.regions[0].blocks[0])]
    order = [n for n in names if n in ("tt.load", "tt.dot", "ttg.local_load", "ttg.local_store")]
    assert order == [*["tt.load"] * 2, *["ttg.local_load"] * 2, "tt.dot", *["ttg.local_store"] * 2]
    assert names.count("ttg.barrier") == 2
    allocated = [op for op in all_ops(module.operation) if op.name == "ttg.local_alloc"]
    assert [list(op.results[0].type.shape) for op in allocated] == [[16, 16], [16, 16]]
    assert all(len(op.operands) == 1 for op in all_ops(loop) if op.name == "tt.load"), "none got a mask"
    (last,) = (op for op in all_ops(module.operation) if op.name == "scf.if")
    assert [op.name for op in all_ops(last)].count("tt.dot") == 1


def test_a_loop_that_surely_runs_needs_no_branch(run) -> None:  # type: ignore[no-untyped-def]
    text = matmul(16, transposed=False, twice=False).replace("%zero to %n", "%zero to %trips")
    text = text.replace("%one =", "%trips = arith.constant 4 : i32\n    %one =")
    module = pipelined(run, text)
    names = [op.name for op in all_ops(module.operation)]
    assert names.count("tt.dot") == 2
    assert "scf.if" not in names
    assert all(len(op.operands) == 1 for op in all_ops(module.operation) if op.name == "tt.load")


@pytest.mark.parametrize("registers", [48, 128])
def test_without_registers_the_loop_stays_and_says_so(run, registers: int) -> None:  # type: ignore[no-untyped-def]
    """16 x 16 sums over a warp of 32 are 8 registers, beside 48; loads are 2 x 4 more: 64 in all."""
    module = pipelined(
        run, matmul(16, transposed=False, twice=False), registers=registers, warps=1, late=False
    )
    is_pipelined = "ttg.local_store" in str(module)
    assert is_pipelined == (registers >= 64)
    assert ("registers are too few" in str(module)) == (not is_pipelined)


@pytest.mark.parametrize("shared", [1023, 1024])
def test_without_memory_for_a_buffer_of_each_the_loop_stays_and_says_so(run, shared: int) -> None:  # type: ignore[no-untyped-def]
    """Two operands of 16 x 16 halves."""
    module = pipelined(run, matmul(16, transposed=False, twice=False), shared=shared, late=False)
    assert ("ttg.local_store" in str(module)) == (shared == 1024)
    said = f"each takes 1024 bytes of shared memory, {shared} of {shared} are free"
    assert (said in str(module)) == (shared < 1024)


def test_who_does_not_ask_gets_nothing(run) -> None:  # type: ignore[no-untyped-def]
    text = matmul(16, transposed=False, twice=False)
    module = pipelined(run, text, replace(POLICY, pipeline=PipelinePolicy()), late=False)
    assert "ttg.local" not in str(module)
    first = [Coalesce(policy=POLICY), AccelerateMatmul(policy=POLICY), RemoveLayoutConversions()]
    assert "ttg.local" not in str(run(text, *first, Pipeline(num_stages=1, policy=POLICY)))
