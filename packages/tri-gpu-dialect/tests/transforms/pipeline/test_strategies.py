"""Each way in which a load reaches its use: the order of the new loop's ops, the same results without races, and refusals."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from tri_core.api import CommonOptions, ComputeUnit, OutOfResources, StageContext
from tri_core.errors import PluginError
from tri_core.mlir import ir
from tri_core.testing import filecheck
from tri_gpu_dialect.edit import all_ops
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
from tri_gpu_dialect.policies.gpu import DefaultPolicy, PipelinePolicy
from tri_gpu_dialect.policies.loads import LoadStrategy
from tri_gpu_dialect.testing import ReferencePrimitives, make_target
from tri_gpu_dialect.testing.dot_loops import matmul
from tri_gpu_dialect.testing.matrix import MATRIX_POLICY
from tri_gpu_dialect.transforms.pipeline.strategies import AsyncCopy, InRegisters, ThroughRegisters
from tri_runtime.simulator import simulate

UNIT = ComputeUnit(partitions=4, warps=8, registers=512, shared=65536, blocks=16)
STRATEGIES = [
    AsyncCopy(),
    *(kind(stages=n) for kind in (ThroughRegisters, InRegisters) for n in (2, 3, 4)),
]


def policy_of(strategy: LoadStrategy | None) -> DefaultPolicy:
    return replace(MATRIX_POLICY, pipeline=PipelinePolicy(loads=strategy))


def pipelined(  # type: ignore[no-untyped-def]
    run,
    text: str,
    strategy: LoadStrategy | None,
    *,
    stages: int = 4,
    target: Any = None,
    late: bool = True,
    accelerated: bool = True,
) -> ir.Module:
    """``text`` with its loops in ``stages``; ``accelerated``: its dots are on matrix instructions."""
    policy = policy_of(strategy)
    matrix = [AccelerateMatmul(policy=policy)] if accelerated else []
    module: ir.Module = run(text, Coalesce(policy=policy), *matrix, RemoveLayoutConversions(), num_warps=4)
    target = target or make_target(32, unit=UNIT, limits={"shared": 65536})
    context = StageContext(target=target, options=CommonOptions(), kernel_name="f", codegen=None)  # type: ignore[arg-type]
    steps: list[Any] = [Pipeline(num_stages=stages, policy=policy), VerifyLayouts()]
    if late:
        steps += [StageMatrixOperands(policy=policy), AllocateSharedMemory(), InsertBarriers()]
    for step in steps:
        step.apply(module, context)
    return module


def check_results(module: ir.Module, k: int, trips: int, *, transposed: bool) -> None:
    """Simulate ``module``, the loop of :func:`matmul` in ``trips`` iterations."""
    target, options = make_target(32), CommonOptions(num_warps=4)
    words = ReferencePrimitives(target, options, threads_per_warp=32, num_warps=4)
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
        num_threads=128,
        threads_per_warp=32,
        shared_bytes=lowered.shared_bytes,
    )
    right = b.transpose(0, 2, 1) if transposed else b
    np.testing.assert_array_equal(c, (a.astype(np.float64) @ right)[:trips].sum(0))


@settings(max_examples=60)
@given(
    strategy=st.sampled_from(STRATEGIES),
    stages=st.integers(2, 5),
    k=st.sampled_from([8, 16]),
    trips=st.integers(0, 6),
    constant=st.booleans(),
    transposed=st.booleans(),
)
def test_results_stay(  # type: ignore[no-untyped-def]
    run, strategy: LoadStrategy, stages: int, k: int, trips: int, constant: bool, transposed: bool
) -> None:
    text = matmul(k, transposed=transposed, twice=False)
    if constant:
        text = text.replace("%zero to %n", "%zero to %trips").replace(
            "%one =", f"%trips = arith.constant {trips} : i32\n    %one ="
        )
    module = pipelined(run, text, strategy, stages=stages)
    event(f"{strategy}: {'tt.num_stages' in str(module)}")
    check_results(module, k, trips, transposed=transposed)


@pytest.mark.parametrize("trips", [0, 1, 3, 6])
@pytest.mark.parametrize("transposed", [False, True])
def test_dots_of_multiply_adds_are_fed_by_copies(run, transposed: bool, trips: int) -> None:  # type: ignore[no-untyped-def]
    """Without copies their loads are waited for in each iteration, and what is on its way is in registers beside the operands."""
    text = matmul(16, transposed=transposed, twice=False)
    module = pipelined(run, text, AsyncCopy(), stages=3, accelerated=False)
    assert "ttg.async_copy_global_to_local" in str(module)
    assert "tt.load" not in str(module)
    check_results(module, 16, trips, transposed=transposed)


@pytest.mark.parametrize("strategy", [ThroughRegisters(), InRegisters()])
def test_registers_hold_nothing_ahead_for_multiply_adds(run, strategy: LoadStrategy) -> None:  # type: ignore[no-untyped-def]
    """Operands of such dots fill registers by themselves."""
    text = matmul(16, transposed=False, twice=False)
    assert str(pipelined(run, text, strategy, accelerated=False)).count("tt.load") == 2


#: what the loop is, and what is not in it
LOOPS = {
    AsyncCopy(): """
// CHECK-COUNT-2: "ttg.local_alloc"() : () -> !ttg.memdesc<array<i64: 4, 16, 16>
// CHECK: scf.for
// CHECK: "ttg.async_wait"() {num = 2 : i32}
// CHECK-COUNT-2: "ttg.async_copy_global_to_local"
// CHECK: "ttg.async_commit_group"
// CHECK-COUNT-2: "ttg.local_load"
// CHECK: "tt.dot"
// CHECK-NOT: "tt.load"
// CHECK: scf.yield
""",
    ThroughRegisters(): """
// CHECK-COUNT-2: "ttg.local_alloc"() : () -> !ttg.memdesc<array<i64: 16, 16>
// CHECK: scf.for
// CHECK-COUNT-2: "tt.load"
// CHECK-COUNT-2: "ttg.local_load"
// CHECK: "tt.dot"
// CHECK-COUNT-2: "ttg.local_store"
// CHECK: scf.yield
// the last iteration, where there is one
// CHECK: scf.if
// CHECK-NOT: "tt.load"
// CHECK: "tt.dot"
""",
    # what is loaded two iterations ahead waits a whole one in registers; stored last
    ThroughRegisters(stages=3): """
// CHECK-COUNT-2: "ttg.local_alloc"() : () -> !ttg.memdesc<array<i64: 16, 16>
// CHECK: scf.for {{.*}}, %[[X:.*]] = %{{.*}}, %[[Y:.*]] = %{{[^,]*}}) ->
// CHECK: %[[NX:.*]] = "tt.load"
// CHECK: %[[NY:.*]] = "tt.load"
// CHECK-COUNT-2: "ttg.local_load"
// CHECK: "tt.dot"
// CHECK: "ttg.local_store"(%[[X]],
// CHECK: "ttg.local_store"(%[[Y]],
// CHECK: scf.yield {{.*}}, %[[NX]], %[[NY]] :
// CHECK-NOT: "tt.dot"
""",
    InRegisters(): """
// CHECK-NOT: "ttg.local_alloc"
// CHECK: scf.for {{.*}}, %[[X:.*]] = %{{.*}}, %[[Y:.*]] = %{{[^,]*}}) ->
// CHECK: %[[NX:.*]] = "tt.load"
// CHECK: %[[NY:.*]] = "tt.load"
// CHECK: "ttg.convert_layout"(%[[X]])
// CHECK: "ttg.convert_layout"(%[[Y]])
// CHECK: "tt.dot"
// CHECK-NOT: "ttg.local_store"
// CHECK: scf.yield {{.*}}, %[[NX]], %[[NY]] :
// CHECK: scf.if
// CHECK-NOT: "tt.load"
// CHECK: "tt.dot"
""",
}


@pytest.mark.parametrize("strategy", LOOPS, ids=str)
def test_loops(run, strategy: LoadStrategy) -> None:  # type: ignore[no-untyped-def]
    module = pipelined(run, matmul(16, transposed=False, twice=False), strategy, late=False)
    filecheck(str(module), LOOPS[strategy])


def test_stages_of_registers_are_the_policys(run) -> None:  # type: ignore[no-untyped-def]
    """At most those that the policy names, whatever is asked for; at most those that were asked for, whatever the policy names."""
    text = matmul(16, transposed=False, twice=False)

    def loads(strategy: LoadStrategy, stages: int) -> int:
        module = pipelined(run, text, strategy, stages=stages, late=False)
        return sum(op.name == "tt.load" for op in all_ops(module.operation))

    assert loads(InRegisters(stages=4), 4) == 2 + 3 * 2
    assert loads(InRegisters(stages=4), 3) == loads(InRegisters(stages=3), 5) == 2 + 2 * 2
    assert loads(ThroughRegisters(), 5) == 2 + 2


def test_registers_for_all_that_is_under_way(run) -> None:  # type: ignore[no-untyped-def]
    """Two stages have room in as many registers as four have not."""
    text = matmul(16, transposed=False, twice=False)
    few = make_target(32, unit=replace(UNIT, registers=56), limits={"shared": 65536})
    with_two = pipelined(run, text, InRegisters(), target=few, late=False)
    with_four = pipelined(run, text, InRegisters(stages=4), target=few, late=False)
    assert "registers are too few for its loads" not in str(with_two)
    assert "registers are too few for its loads" in str(with_four)


# --- refusals -----------------------------------------------------------------------------------------------


def test_strategies_are_what_the_protocol_says() -> None:
    assert all(isinstance(strategy, LoadStrategy) for strategy in STRATEGIES)
    assert not isinstance("registers", LoadStrategy)


@pytest.mark.parametrize(
    ("made", "field"),
    [
        (lambda: AsyncCopy(bits=()), "AsyncCopy.bits"),
        (lambda: AsyncCopy(bits=(4, 32)), "AsyncCopy.bits"),
        (lambda: AsyncCopy(bits=(48,)), "AsyncCopy.bits"),
        (lambda: AsyncCopy(fewest=True), "AsyncCopy.fewest"),
        (lambda: ThroughRegisters(stages=1), "ThroughRegisters.stages"),
        (lambda: InRegisters(stages=0), "InRegisters.stages"),
        (lambda: PipelinePolicy(loads=3), "PipelinePolicy.loads"),
        (lambda: PipelinePolicy(loads=AsyncCopy), "PipelinePolicy.loads"),
    ],
)
def test_bad_fields_are_refused(made: Any, field: str) -> None:
    with pytest.raises(PluginError, match=field.replace(".", r"\.")) as error:
        made()
    assert error.value.remedy
    assert str(pickle.loads(pickle.dumps(error.value))) == str(error.value)


@pytest.mark.parametrize(
    ("strategy", "spec", "lacking"),
    [
        (AsyncCopy(requires="copies"), {"limits": {"shared": 65536}}, "has no copies"),
        (AsyncCopy(), {"limits": {"shared": 0}}, "no shared memory"),
        (ThroughRegisters(), {"limits": {"shared": 0}}, "no shared memory"),
    ],
)
def test_memories_that_cannot_serve_are_named(run, strategy, spec, lacking: str) -> None:  # type: ignore[no-untyped-def]
    text = matmul(16, transposed=False, twice=False)
    with pytest.raises(PluginError, match=rf"PipelinePolicy\.loads is .*{lacking}") as error:
        pipelined(run, text, strategy, target=make_target(32, **spec))
    assert "None" in str(error.value.remedy)


def test_a_target_with_such_copies_is_served(run) -> None:  # type: ignore[no-untyped-def]
    target = make_target(32, features=frozenset({"copies"}), limits={"shared": 65536})
    module = pipelined(
        run,
        matmul(16, transposed=False, twice=False),
        AsyncCopy(requires="copies"),
        target=target,
        late=False,
    )
    assert "ttg.async_copy_global_to_local" in str(module)


@pytest.mark.parametrize("shared", [3 * 1024, 4 * 1024])
def test_a_ring_that_is_demanded_fits_or_is_refused(run, shared: int) -> None:  # type: ignore[no-untyped-def]
    """Stages of two operands of 512 bytes each."""
    text = matmul(16, transposed=False, twice=False)
    target = make_target(32, limits={"shared": shared})
    small = pipelined(run, text, AsyncCopy(), target=target, late=False)
    assert ("has 3 of 4 stages" in str(small)) == (shared == 3 * 1024)
    if shared == 4 * 1024:
        pipelined(run, text, AsyncCopy(fewest=4), target=target, late=False)
        return
    with pytest.raises(OutOfResources, match=r"AsyncCopy\.fewest demands") as error:
        pipelined(run, text, AsyncCopy(fewest=4), target=target, late=False)
    assert (error.value.need, error.value.have) == (4 * 1024, shared)
    assert "fewer stages" in str(error.value.remedy)
    # nobody demands more than was asked for
    pipelined(run, text, AsyncCopy(fewest=4), stages=2, target=target, late=False)
