"""Loop-invariant code motion."""

from __future__ import annotations

from typing import ClassVar

from tri_core.dialects.tt import LoadOp
from tri_core.dialects.tt.accesses import reads_again
from tri_core.ir.effects import READ_GLOBAL, effects_of
from tri_core.ir.regions import loops_in
from tri_core.ir.views import isa
from tri_core.ir.walking import walk
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir, run_passes
from tri_core.passes import loops
from tri_core.passes.base import Pass
from tri_core.passes.rewriting import make
from tri_core.pipeline import StageContext
from tri_core.remarks import declined

__all__ = ["LICM"]

_UPSTREAM = "loop-invariant-code-motion"
#: the annotation of a loop that keeps invariant code inside
_ANNOTATION = "llvm.loop_annotation"
#: what ops in a loop may do for its loads to be moved out
_READ_ONLY = frozenset({READ_GLOBAL})


@dataclass(frozen=True)
class LICM(Pass):
    """Moves pure ops with invariant operands out of loops, and, with ``loads``, loads from loops that only read.

    A counted loop may run zero times: then the load before it is masked off.  A loop with a store, an atomic or
    anything else that may write keeps its loads, and one that is marked to keep what is invariant.
    """

    name: ClassVar[str] = "licm"
    loads: bool = True

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite ``module`` in place."""
        run_passes(module, _UPSTREAM)
        # inner loops first: what left one may leave the next
        hoisted = [_hoist_loads(loop) for loop in loops_in(module.operation)] if self.loads else []
        if any(hoisted):
            run_passes(module, _UPSTREAM)


def _hoist_loads(loop: ir.Operation) -> bool:
    """Move invariant loads of ``loop`` before it; whether there were any."""
    found = [view.operation for view in loops.body(loop).operations if isa(view.operation, LoadOp)]
    found = [load for load in found if not reads_again(load) and _is_invariant(load, loop)]
    if not found or (why := _obstacle(loop)) is not None:
        for load in found:
            declined(
                LICM.name, load, "the load reads the same in every iteration and stays in the loop: {}", why
            )
        return False
    runs = None if loops.known_trips(loop) else loops.runs(loop)
    for load in found:
        load.move_before(loop)
        if runs is not None:
            _mask(load, runs)
    return True


def _obstacle(loop: ir.Operation) -> str | None:
    """Reason that invariant loads stay in ``loop``; None if there is none."""
    if _ANNOTATION in loop.attributes:
        return "it is marked to keep what is invariant"
    return None if _only_reads(loop) else "something in it may write memory"


def _mask(load: ir.Operation, runs: ir.Value) -> None:
    """Let ``load`` read only if ``runs``."""
    type_ = load.result.type
    wanted = runs
    if isinstance(type_, ir.RankedTensorType):
        wanted = make(load, "tt.splat", ir.RankedTensorType.get(type_.shape, runs.type), [runs])
    pointer, *others = load.operands
    if others:
        wanted = make(load, "arith.andi", wanted.type, [others[0], wanted])
    attributes = {name: load.attributes[name] for name in load.attributes}
    attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get([1, 1, int(len(others) > 1)])
    value = make(load, "tt.load", type_, [pointer, wanted, *others[1:]], attributes)
    load.result.replace_all_uses_with(value)
    load.erase()


def _is_invariant(load: ir.Operation, loop: ir.Operation) -> bool:
    return all(not _is_inside(value, loop) for value in load.operands)


def _is_inside(value: ir.Value, loop: ir.Operation) -> bool:
    """True if ``value`` is defined in the body of ``loop`` itself; a load's operands are not deeper."""
    owner = value.owner
    return (owner if isinstance(owner, ir.Block) else owner.operation.block) == loops.body(loop)


def _only_reads(loop: ir.Operation) -> bool:
    found = True

    def visit(op: ir.Operation) -> ir.WalkResult:
        nonlocal found
        effects = effects_of(op)
        again = isa(op, LoadOp) and reads_again(op)
        found = found and effects is not None and effects <= _READ_ONLY and not again
        return ir.WalkResult.ADVANCE if found else ir.WalkResult.INTERRUPT

    walk(loop, visit)
    return found
