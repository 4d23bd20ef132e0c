"""Recurrences whose rows and numbers come ahead: the same results, rows by copies, one register of what stays in registers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from tri_core.api import CommonOptions, ComputeUnit, StageContext
from tri_core.mlir import ir
from tri_core.text import parse_module
from tri_gpu_dialect.analysis.pressure import registers_of
from tri_gpu_dialect.edit import all_ops, block_ops
from tri_gpu_dialect.lowering import generic_table, lower
from tri_gpu_dialect.passes import (
    AllocateSharedMemory,
    Coalesce,
    InsertBarriers,
    Pipeline,
    RemoveLayoutConversions,
    VerifyLayouts,
)
from tri_gpu_dialect.policies.gpu import PipelinePolicy
from tri_gpu_dialect.policies.loads import LoadStrategy
from tri_gpu_dialect.testing import ReferencePrimitives, make_target
from tri_gpu_dialect.testing.matrix import MATRIX_POLICY
from tri_gpu_dialect.transforms.pipeline.strategies import AsyncCopy, ThroughRegisters
from tri_runtime.simulator import simulate

#: ``state = state * g[t] + k[t] v[t]``, of which ``o[t]`` is the sum over rows that ``k[t]`` weighs
_RECURRENCE = """
module {
  tt.func public @f(%k: !tt.ptr<TYPE> {tt.divisibility = 16 : i32}, %v: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %g: !tt.ptr<f32>, %o: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %n: i32) {
    %next = arith.constant dense<32> : tensor<32xi32>
    %nextk = arith.constant dense<16> : tensor<16xi32>
    %one = arith.constant 1 : i32
    %zero = arith.constant 0 : i32
    %none = arith.constant dense<0.0> : tensor<16x32xf32>
    %rows = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
    %cols = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32>
    %k0 = tt.splat %k : !tt.ptr<TYPE> -> tensor<16x!tt.ptr<TYPE>>
    %k1 = tt.addptr %k0, %rows : tensor<16x!tt.ptr<TYPE>>, tensor<16xi32>
    %v0 = tt.splat %v : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>>
    %v1 = tt.addptr %v0, %cols : tensor<32x!tt.ptr<f32>>, tensor<32xi32>
    %o0 = tt.splat %o : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>>
    %o1 = tt.addptr %o0, %cols : tensor<32x!tt.ptr<f32>>, tensor<32xi32>
    %r:4 = scf.for %t = %zero to %n step %one iter_args(%state = %none, %pk = %k1, %pv = %v1, %po = %o1) -> (tensor<16x32xf32>, tensor<16x!tt.ptr<TYPE>>, tensor<32x!tt.ptr<f32>>, tensor<32x!tt.ptr<f32>>)  : i32 {
      %kl = tt.load %pk : tensor<16x!tt.ptr<TYPE>>
      WIDER
      %bv = tt.load %pv : tensor<32x!tt.ptr<f32>>
      %pg = tt.addptr %g, %t : !tt.ptr<f32>, i32
      %bg = tt.load %pg : !tt.ptr<f32>
      %decay = tt.splat %bg : f32 -> tensor<16x32xf32>
      %kept = arith.mulf %state, %decay : tensor<16x32xf32>
      %kc = tt.expand_dims %bk {axis = 1 : i32} : tensor<16xf32> -> tensor<16x1xf32>
      %vr = tt.expand_dims %bv {axis = 0 : i32} : tensor<32xf32> -> tensor<1x32xf32>
      %kb = tt.broadcast %kc : tensor<16x1xf32> -> tensor<16x32xf32>
      %vb = tt.broadcast %vr : tensor<1x32xf32> -> tensor<16x32xf32>
      %kv = arith.mulf %kb, %vb : tensor<16x32xf32>
      %new = arith.addf %kept, %kv : tensor<16x32xf32>
      %weighed = arith.mulf %new, %kb : tensor<16x32xf32>
      %out = "tt.reduce"(%weighed) <{axis = 0 : i32}> ({
      ^bb0(%x: f32, %y: f32):
        %z = arith.addf %x, %y : f32
        tt.reduce.return %z : f32
      }) : (tensor<16x32xf32>) -> tensor<32xf32>
      tt.store %po, %out : tensor<32x!tt.ptr<f32>>
      %pk2 = tt.addptr %pk, %nextk : tensor<16x!tt.ptr<TYPE>>, tensor<16xi32>
      %pv2 = tt.addptr %pv, %next : tensor<32x!tt.ptr<f32>>, tensor<32xi32>
      %po2 = tt.addptr %po, %next : tensor<32x!tt.ptr<f32>>, tensor<32xi32>
      scf.yield %new, %pk2, %pv2, %po2 : tensor<16x32xf32>, tensor<16x!tt.ptr<TYPE>>, tensor<32x!tt.ptr<f32>>, tensor<32x!tt.ptr<f32>>
    }
    tt.return
  }
}
"""
UNIT = ComputeUnit(partitions=4, warps=16, registers=512, shared=65536, blocks=16)


def recurrence(type_: str) -> str:
    """The text of it, of rows ``k`` of f16 or f32."""
    wider = "%bk = arith.extf %kl : tensor<16xf16> to tensor<16xf32>"
    text = _RECURRENCE.replace("WIDER", wider if type_ == "f16" else "")
    return (
        text.replace("TYPE", type_) if type_ == "f16" else text.replace("TYPE", type_).replace("%bk", "%kl")
    )


def ahead(  # type: ignore[no-untyped-def]
    run, text: str, strategy: LoadStrategy, stages: int, warps: int = 1, *, asked: bool = True
) -> ir.Module:
    """``text`` with what its loop loads ``stages - 1`` iterations ahead, if that is ``asked`` of recurrences."""
    policy = replace(MATRIX_POLICY, pipeline=PipelinePolicy(loads=strategy, recurrences=asked))
    generic = parse_module(text).operation.get_asm(print_generic_op_form=True)
    module: ir.Module = run(generic, Coalesce(policy=policy), RemoveLayoutConversions(), num_warps=warps)
    target = make_target(32, unit=UNIT, limits={"shared": 65536})
    context = StageContext(target=target, options=CommonOptions(), kernel_name="f", codegen=None)  # type: ignore[arg-type]
    steps: list[Any] = [Pipeline(num_stages=stages, policy=policy), VerifyLayouts()]
    for step in (*steps, AllocateSharedMemory(), InsertBarriers()):
        step.apply(module, context)
    return module


def body_of(module: ir.Module) -> list[ir.Operation]:
    (loop,) = (op for op in all_ops(module.operation) if op.name == "scf.for")
    return block_ops(loop.regions[0].blocks[0])


@settings(max_examples=40)
@given(
    strategy=st.sampled_from([AsyncCopy(), ThroughRegisters()]),
    type_=st.sampled_from(["f32", "f16"]),
    stages=st.integers(1, 4),
    trips=st.integers(0, 5),
    warps=st.sampled_from([1, 2, 4]),
)
def test_results_stay(  # type: ignore[no-untyped-def]
    run, strategy: LoadStrategy, type_: str, stages: int, trips: int, warps: int
) -> None:
    module = ahead(run, recurrence(type_), strategy, stages, warps)
    event(f"copies: {'async_copy' in str(module)}")
    target, options = make_target(32), CommonOptions(num_warps=warps)
    words = ReferencePrimitives(target, options, threads_per_warp=32, num_warps=warps)
    lowered = lower(module, target, options, words, generic_table())
    random = np.random.default_rng(trips)
    # nothing is loaded that the loop does not load: the arrays end there
    k = random.integers(-3, 4, (max(trips, 1), 16)).astype(np.float16 if type_ == "f16" else np.float32)
    v = random.integers(-3, 4, (max(trips, 1), 32)).astype(np.float32)
    g = random.integers(-2, 3, max(trips, 1)).astype(np.float32)
    o = np.full((max(trips, 1), 32), np.nan, np.float32)
    simulate(
        lowered.module,
        lowered.name,
        (1, 1, 1),
        [k, v, g, o, trips],
        num_threads=warps * 32,
        threads_per_warp=32,
        shared_bytes=lowered.shared_bytes,
    )
    state, expected = np.zeros((16, 32)), np.full_like(o, np.nan)
    for t in range(trips):
        state = state * g[t] + np.outer(k[t], v[t])
        expected[t] = k[t] @ state
    np.testing.assert_array_equal(o, expected)


def test_rows_in_many_copies_come_by_copies_and_the_rest_waits_in_registers(run) -> None:  # type: ignore[no-untyped-def]
    body = body_of(ahead(run, recurrence("f32"), AsyncCopy(), 3))
    names = [op.name for op in body]
    assert names.count("ttg.async_copy_global_to_local") == 1
    loads = [op for op in body if op.name == "tt.load"]
    assert [len(op.operands) for op in loads] == [2, 2], "masked off past the end"
    (first,) = (at for at, name in enumerate(names) if name == "tt.reduce")
    assert max(names.index("tt.load"), names.index("ttg.async_copy_global_to_local")) < first
    ends = list(body[-1].operands)
    assert all(any(r in ends for r in op.results) for op in loads), "used in the next iteration"
    assert "ttg.convert_layout" not in names, "the stage is read in the layout that is needed"


def test_rows_that_no_copy_suits_wait_spread_over_the_threads(run) -> None:  # type: ignore[no-untyped-def]
    body = body_of(ahead(run, recurrence("f16"), AsyncCopy(), 2))
    loads = [op for op in body if op.name == "tt.load"]
    assert len(loads) == 3
    assert max(registers_of(op.results[0]) for op in loads) == 1
    assert not any(op.name == "ttg.async_copy_global_to_local" for op in body)


@pytest.mark.parametrize("strategy", [AsyncCopy(), ThroughRegisters()], ids=["copies", "registers"])
def test_one_stage_and_policies_without_leave_the_loop(run, strategy: LoadStrategy) -> None:  # type: ignore[no-untyped-def]
    for module in (
        ahead(run, recurrence("f32"), strategy, 1),
        ahead(run, recurrence("f32"), strategy, 3, asked=False),
    ):
        assert [len(op.operands) for op in body_of(module) if op.name == "tt.load"] == [1, 1, 1]


def test_what_the_loop_writes_is_not_read_ahead(run) -> None:  # type: ignore[no-untyped-def]
    text = recurrence("f32").replace("%v0 = tt.splat %v", "%v0 = tt.splat %o")
    body = body_of(ahead(run, text, AsyncCopy(), 3))
    assert [len(op.operands) for op in body if op.name == "tt.load"].count(1) == 1


def test_a_vector_that_is_carried_makes_no_recurrence(run) -> None:  # type: ignore[no-untyped-def]
    text = (
        recurrence("f32")
        .replace("16x32x", "1x32x")
        .replace("16x1x", "1x1x")
        .replace("tensor<16x", "tensor<1x")
    )
    text = text.replace("{end = 16", "{end = 1")
    body = body_of(ahead(run, text, AsyncCopy(), 3))
    assert [len(op.operands) for op in body if op.name == "tt.load"] == [1, 1, 1]


def short(most: int) -> str:
    """The recurrence whose rows of ``k`` and ``v`` are 2 and 4 registers of a thread, of ``most`` steps at most."""
    text = recurrence("f32").replace(
        "%r:4 =", f"%most = arith.constant {most} : i32\n    %m = arith.minsi %n, %most : i32\n    %r:4 ="
    )
    return text.replace("%zero to %n", "%zero to %m")


@pytest.mark.parametrize(("most", "warps", "is_ahead"), [(16, 8, False), (16, 1, True), (2048, 8, True)])
def test_short_loops_of_few_registers_leave_waiting_to_other_warps(  # type: ignore[no-untyped-def]
    run, most: int, warps: int, is_ahead: bool
) -> None:
    """Rows of many registers, and loops over a sequence, come ahead."""
    body = body_of(ahead(run, short(most), AsyncCopy(), 2, warps))
    names = [op.name for op in body]
    assert ([len(op.operands) for op in body if op.name == "tt.load"] != [1, 1, 1]) == is_ahead
    assert is_ahead or "ttg.async_copy_global_to_local" not in names
