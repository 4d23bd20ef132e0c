"""Scratch memory that ops declare, or that a target measures: a third party's gets its own, and barriers, with no edit elsewhere."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from tri_core import mlir
from tri_core.api import Anchor, CommonOptions, PluginError, StageContext, VerificationError
from tri_core.mlir import ext, ir
from tri_core.text import parse_module
from tri_gpu_dialect.async_units.passes import async_unit_passes, memory_passes
from tri_gpu_dialect.edit import all_ops, functions, module_int
from tri_gpu_dialect.encodings import Blocked
from tri_gpu_dialect.lowering import (
    Lowered,
    Lowering,
    LoweringTable,
    generic_table,
    lower,
    simulated_pipeline,
)
from tri_gpu_dialect.lowering.indices import linear_indices
from tri_gpu_dialect.passes import AllocateSharedMemory, InsertBarriers
from tri_gpu_dialect.plans import NeedsScratch, ScratchMeasure, ScratchMeasures
from tri_gpu_dialect.plans.scratch import SHARED
from tri_gpu_dialect.policies.gpu import DefaultPolicy
from tri_gpu_dialect.stage import ttgir_passes, ttgir_stage
from tri_gpu_dialect.testing import ReferencePrimitives, make_target
from tri_runtime.simulator import simulate


class Exchanges(ext.Dialect, name="made_up_exchange"):  # type: ignore[call-arg]  # the bindings are untyped
    """A third party's."""


class RollOp(Exchanges.Operation, name="roll", traits=[NeedsScratch]):
    """Each thread gets what another one had; 4 bytes for each of ``threads``."""

    src: ext.Operand[Any]
    threads: ir.IntegerAttr
    result: ext.Result[Any]

    def scratch_bytes(self) -> int:
        """A word for each thread."""
        return 4 * int(self.threads.value)

    def scratch_alignment(self) -> int:
        """As the made-up instruction wants it."""
        return 256


class SilentOp(Exchanges.Operation, name="silent", traits=[NeedsScratch]):
    """Forgot how much."""

    src: ext.Operand[Any]
    result: ext.Result[Any]


class TurnOp(Exchanges.Operation, name="turn"):
    """The elements in the opposite order; a target that lowers it says what memory that takes."""

    src: ext.Operand[Any]
    result: ext.Result[Any]


ENCODING = Blocked((1, 4), (4, 8), (4, 1), (1, 0))
TENSOR = f"tensor<64x32xf32, {ENCODING}>"
ROLL = '%{0} = "made_up_exchange.roll"(%{1}) {{threads = {2} : i32}} : (TENSOR) -> TENSOR'


@pytest.fixture(autouse=True)
def _dialect() -> Iterator[None]:
    mlir.registry.add_dialect(Exchanges)
    with mlir.session():
        yield


def _module(*lines: str) -> ir.Module:
    attributes = '"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32, "ttg.num-ctas" = 1 : i32'
    body = "\n".join(lines).replace("TENSOR", TENSOR)
    return ir.Module.parse(
        f'module attributes {{{attributes}}} {{ "tt.func"() ({{\n'
        f"%t = arith.constant dense<0.0> : {TENSOR}\n{body}\n"
        '"tt.return"() : () -> () }) {function_type = () -> (), sym_name = "f", sym_visibility = "public", '
        "arg_attrs = [], res_attrs = []} : () -> () }"
    )


def _names(module: ir.Module) -> list[str]:
    (function,) = functions(module)
    return [
        op.name.rpartition(".")[2]
        for op in all_ops(function)
        if op.name in ("ttg.barrier", "made_up_exchange.roll")
    ]


@pytest.mark.parametrize("threads", [1, 32, 128, 4096])
def test_a_third_partys_op_gets_its_scratch_and_barriers(context: StageContext, threads: int) -> None:
    module = _module(ROLL.format("a", "t", threads), ROLL.format("b", "a", threads))
    AllocateSharedMemory().apply(module, context)
    first, second = (op for op in all_ops(module.operation) if op.name == RollOp.OPERATION_NAME)
    assert SHARED.bytes(first) == 4 * threads
    assert SHARED.alignment(first) == 256
    offsets = [int(ir.IntegerAttr(op.attributes["allocation.offset"]).value) for op in (first, second)]
    assert all(offset % 256 == 0 for offset in offsets)
    assert module_int(module, "ttg.shared") >= max(offsets) + 4 * threads
    InsertBarriers().apply(module, context)
    # in one place, the second must not write what the first one's threads may still read
    apart = abs(offsets[1] - offsets[0]) >= 4 * threads
    assert _names(module) == (["roll", "roll"] if apart else ["roll", "barrier", "roll"])


def test_an_op_that_declares_scratch_and_no_size_is_refused() -> None:
    module = _module('%a = "made_up_exchange.silent"(%t) : (TENSOR) -> TENSOR')
    op = next(o for o in all_ops(module.operation) if o.name == SilentOp.OPERATION_NAME)
    with pytest.raises(VerificationError, match=r"made_up_exchange\.silent declares NeedsScratch") as caught:
        SHARED.bytes(op)
    assert "SilentOp.scratch_bytes" in caught.value.remedy


# --- measures of a target -------------------------------------------------------------------------------

SIZE = 256
TURN = TurnOp.OPERATION_NAME
#: loads, turns twice and stores
KERNEL = f"""
module {{
  tt.func public @k(%p: !tt.ptr<f32> {{tt.divisibility = 16 : i32}}, %q: !tt.ptr<f32> {{tt.divisibility = 16 : i32}}) {{
    %r = tt.make_range {{start = 0 : i32, end = {SIZE} : i32}} : tensor<{SIZE}xi32>
    %ps = tt.splat %p : !tt.ptr<f32> -> tensor<{SIZE}x!tt.ptr<f32>>
    %from = tt.addptr %ps, %r : tensor<{SIZE}x!tt.ptr<f32>>, tensor<{SIZE}xi32>
    %x = tt.load %from : tensor<{SIZE}x!tt.ptr<f32>>
    %y = "{TURN}"(%x) : (tensor<{SIZE}xf32>) -> tensor<{SIZE}xf32>
    %y2 = arith.addf %y, %x : tensor<{SIZE}xf32>
    %z = "{TURN}"(%y2) : (tensor<{SIZE}xf32>) -> tensor<{SIZE}xf32>
    %w = arith.subf %z, %x : tensor<{SIZE}xf32>
    %qs = tt.splat %q : !tt.ptr<f32> -> tensor<{SIZE}x!tt.ptr<f32>>
    %to = tt.addptr %qs, %r : tensor<{SIZE}x!tt.ptr<f32>>, tensor<{SIZE}xi32>
    tt.store %to, %w : tensor<{SIZE}x!tt.ptr<f32>>
    tt.return
  }}
}}"""


@dataclass(frozen=True)
class Unit:
    """A made-up backend whose elements lie ``apart`` bytes from each other while they are turned, from a multiple of ``alignment`` on."""

    apart: int
    alignment: int

    @property
    def measures(self) -> ScratchMeasures:
        return SHARED.with_measures({TURN: ScratchMeasure(self.bytes, self.alignment)})

    def bytes(self, op: ir.Operation) -> int:
        return self.apart * int(op.results[0].type.shape[0])

    def table(self) -> LoweringTable:
        table = generic_table()
        table.add(TURN, self.lower, owner=f"unit {self.apart}")
        table.scratch_measures = self.measures
        return table

    def lower(self, ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
        b, base, element = ctx.b, ctx.scratch(op), ctx.storage(op.results[0].type)

        def at(index: ir.Value) -> ir.Value:
            return b.gep(base, b.mul(index, b.int_(self.apart)), b.i8)

        places = linear_indices(ctx, op.results[0].type)
        for place, value in zip(places, ctx.registers(op.operands[0]), strict=True):
            ctx.hw.store_shared(b, at(place), value, None, 4)
        ctx.barrier()
        last = b.int_(SIZE - 1)
        return [[ctx.hw.load_shared(b, at(b.sub(last, place)), element, None, 4) for place in places]]


NEAR, FAR = Unit(apart=4, alignment=16), Unit(apart=32, alignment=512)


def _lowered(unit: Unit, context: StageContext) -> tuple[ir.Module, list[int]]:
    """The kernel as ``unit`` has it after its stage ``ttgir``, and where the scratch memory of its ops is."""
    module = parse_module(KERNEL)
    policy = DefaultPolicy(scratch_measures=unit.measures)
    options = CommonOptions(num_warps=4)
    ttgir_stage(make_target(32), options, policy).run(module, replace(context, options=options))
    turns = [op for op in all_ops(module.operation) if op.name == TURN]
    return module, [int(ir.IntegerAttr(op.attributes["allocation.offset"]).value) for op in turns]


def test_targets_of_one_process_contradict_each_other(context: StageContext) -> None:
    for unit in (NEAR, FAR, NEAR):
        module, offsets = _lowered(unit, context)
        assert module_int(module, "ttg.shared") >= max(offsets) + unit.apart * SIZE
        assert all(offset % unit.alignment == 0 for offset in offsets)
        near = module_int(module, "ttg.shared") <= 2 * NEAR.apart * SIZE
        assert near == (unit is NEAR)


@pytest.mark.parametrize("unit", [NEAR, FAR])
def test_a_backend_measures_an_op_that_it_lowers(context: StageContext, unit: Unit) -> None:
    module, _ = _lowered(unit, context)
    target, options = make_target(32), CommonOptions(num_warps=4)
    words = ReferencePrimitives(target, options, threads_per_warp=32, num_warps=4)
    lowered = lower(module, target, options, words, unit.table())
    x, w = np.arange(SIZE, dtype=np.float32) ** 2, np.full(SIZE, np.nan, np.float32)
    simulate(
        lowered.module, lowered.name, (1, 1, 1), [x, w], num_threads=128, threads_per_warp=32,
        shared_bytes=lowered.shared_bytes,
    )  # fmt: skip
    # turned twice it is as it was
    assert (w == x[::-1]).all()


@pytest.mark.parametrize("unit", [NEAR, FAR])
def test_what_comes_without_places_is_measured_by_the_table(context: StageContext, unit: Unit) -> None:
    target, options = make_target(32), CommonOptions(num_warps=4)
    here = replace(context, target=target, options=options)
    policy, module = DefaultPolicy(scratch_measures=unit.measures), parse_module(KERNEL)
    for step in ttgir_passes(target, options, policy).steps:
        if isinstance(step, AllocateSharedMemory):
            break
        if not isinstance(step, Anchor):
            step.apply(module, here)
    last = simulated_pipeline(
        ttgir_stage(target, options, policy),
        lambda target, options, lanes, warps: ReferencePrimitives(
            target, options, threads_per_warp=lanes, num_warps=warps
        ),
        lambda target, options: unit.table(),
    ).stages[-1]
    shared = last.run(module, here).resources["shared"]
    assert unit.apart * SIZE <= shared <= 2 * unit.apart * SIZE


def test_a_targets_measure_goes_before_what_an_op_declares(context: StageContext) -> None:
    measures = SHARED.with_measures({RollOp.OPERATION_NAME: ScratchMeasure(lambda op: 48, 32)})
    module = _module(ROLL.format("a", "t", 4096))
    op = next(o for o in all_ops(module.operation) if o.name == RollOp.OPERATION_NAME)
    assert [(m.bytes(op), m.alignment(op)) for m in (measures, SHARED)] == [(48, 32), (4 * 4096, 256)]
    AllocateSharedMemory(measures=measures).apply(module, context)
    assert module_int(module, "ttg.shared") == 48


def test_all_passes_of_a_target_ask_its_measures() -> None:
    policy = DefaultPolicy(scratch_measures=NEAR.measures)
    target, options = make_target(32), CommonOptions(num_warps=4)
    loops = async_unit_passes(3, policy)
    listed = [
        *ttgir_passes(target, options, policy).steps,
        *ttgir_passes(target, options, policy, memory_passes(policy), loops).steps,
    ]
    asked = {step.name: step.measures for step in listed if hasattr(step, "measures")}
    assert set(asked) == {
        "buffer-cse", "reorder-instructions", "fit-shared-memory", "allocate-shared-memory", "insert-barriers",
    }  # fmt: skip
    assert set(map(id, asked.values())) == {id(policy.scratch_measures)}


def test_a_measure_that_gives_no_size_is_refused(context: StageContext) -> None:
    measures = SHARED.with_measures({RollOp.OPERATION_NAME: ScratchMeasure(lambda op: -4)})
    module = _module(ROLL.format("a", "t", 32))
    with pytest.raises(VerificationError, match=r"made_up_exchange\.roll gives -4") as caught:
        AllocateSharedMemory(measures=measures).apply(module, context)
    assert "scratch_measures" in caught.value.remedy


def test_the_shared_measures_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        SHARED.by_name["tt.reduce"] = ScratchMeasure(lambda op: 0)  # type: ignore[index]


def test_a_table_of_something_else_is_refused() -> None:
    with pytest.raises(PluginError, match="scratch_measures"):
        DefaultPolicy(scratch_measures={"tt.reduce": 4})  # type: ignore[arg-type]
