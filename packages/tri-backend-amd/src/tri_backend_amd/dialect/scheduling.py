"""``amdg.instruction_sched_hint``: how LLVM's scheduler should mix the instructions of a block, and the intrinsics that tell it.

LLVM's "User Guide for AMDGPU Backend" describes them: ``sched.group.barrier`` makes groups of so many instructions of a kind, in the order of the
calls; ``iglp.opt`` takes one of the schedules that LLVM has itself.
"""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Sequence
from typing import Any

from tri_backend_amd.dialect.amdg import AMDG
from tri_core.ir.effects import Effects
from tri_core.mlir import ir
from tri_gpu_dialect.dialect.verify import rule
from tri_gpu_dialect.lowering import Builder, MachineOp, SimulatedCTA

__all__ = [
    "COUNTERS",
    "VARIANTS",
    "IglpOp",
    "InstCounterAttr",
    "InstructionSchedHintOp",
    "SchedBarrierOp",
    "SchedGroupOp",
    "SchedHintVariantAttr",
    "SetPriorityOp",
    "count_of",
    "variant_of",
]

VARIANTS = ("none", "llvm_iglp_0", "llvm_iglp_1", "local_prefetch")
COUNTERS = (
    "numDsReadsA", "numDsReadsB", "numDsWritesA", "numDsWritesB", "numGlobalLoadsA", "numGlobalLoadsB", "numMMAs",
)  # fmt: skip
_FLAGS = ("isBufferLoadsAEnabled", "isBufferLoadsBEnabled")


class InstCounterAttr(AMDG.Attribute, name="inst_counter"):
    """So many instructions of a kind, and the type that each handles (``none`` where there are none)."""

    count: Any
    type: Any


class SchedHintVariantAttr(AMDG.Attribute, name="sched_hint_variant"):
    """The name of a schedule, a string."""

    schedule: Any


def count_of(op: Any, counter: str) -> int:
    """The instructions that ``counter`` of ``op`` says; 0 without it."""
    given = op.attributes
    return int(ir.IntegerAttr(given[counter].maybe_downcast().params[0]).value) if counter in given else 0


def variant_of(op: Any) -> str:
    """The schedule that ``op`` asks for."""
    return str(ir.StringAttr(op.attributes["variant"].maybe_downcast().params[0]).value)


def _knows(op: Any) -> str | None:
    given = op.operation.attributes
    if (
        not isinstance(given["variant"].maybe_downcast(), SchedHintVariantAttr)
        or variant_of(op.operation) not in VARIANTS
    ):
        return f"variant is {given['variant']}; one of {', '.join(VARIANTS)} is expected"
    for name in given:
        if name in COUNTERS and not isinstance(given[name].maybe_downcast(), InstCounterAttr):
            return f"{name} is {given[name]}; #amdg.InstCounter<COUNT, TYPE> is expected"
        if name.startswith(("num", "is")) and name not in (*COUNTERS, *_FLAGS):
            return f"{name} is no counter; known: {', '.join((*COUNTERS, *_FLAGS))}"
    return None


class InstructionSchedHintOp(AMDG.Operation, name="instruction_sched_hint", traits=[Effects()]):
    """Asks for schedule ``variant`` of the block that it stands in, the loop of a dot most often.

    ``local_prefetch`` puts accesses of memory, one by one, between matrix instructions; how many there are of each is in ``numMMAs``,
    ``numGlobalLoadsA`` and so on, for the dot's operands.
    """

    variant: Any
    verify_invariants = rule(_knows)


class SchedGroupOp(MachineOp, dialect=AMDG, name="sched_group"):
    """The next group of a schedule: ``size`` instructions of the kinds in ``mask``."""

    mask: ir.IntegerAttr
    size: ir.IntegerAttr

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """An intrinsic; all groups are of one pipeline."""
        operands = [b.int_(self.mask.value), b.int_(self.size.value), b.int_(0)]
        b.intrinsic("llvm.amdgcn.sched.group.barrier", operands, [])
        return []

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Any]) -> Sequence[Any]:
        """Nothing: order alone changes."""
        return []


class SchedBarrierOp(MachineOp, dialect=AMDG, name="sched_barrier", traits=[Effects()]):
    """Nothing but the kinds of instructions in ``mask`` is moved from one side to the other."""

    mask: ir.IntegerAttr

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """An intrinsic."""
        b.intrinsic("llvm.amdgcn.sched.barrier", [b.int_(self.mask.value)], [])
        return []

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Any]) -> Sequence[Any]:
        """Nothing: order alone changes."""
        return []


class SetPriorityOp(MachineOp, dialect=AMDG, name="set_priority", traits=[Effects()]):
    """From here on the wavefront has priority ``level``, 0 (as it begins) to 3: of those of a SIMD that are ready, the highest issues."""

    level: ir.IntegerAttr

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """``s_setprio``."""
        b.intrinsic("llvm.amdgcn.s.setprio", [b.int_(self.level.value, 16)], [])
        return []

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Any]) -> Sequence[Any]:
        """Nothing: order alone changes."""
        return []


class IglpOp(MachineOp, dialect=AMDG, name="iglp_opt"):
    """One of LLVM's own schedules."""

    which: ir.IntegerAttr

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """An intrinsic."""
        b.intrinsic("llvm.amdgcn.iglp.opt", [b.int_(self.which.value)], [])
        return []

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Any]) -> Sequence[Any]:
        """Nothing: order alone changes."""
        return []
