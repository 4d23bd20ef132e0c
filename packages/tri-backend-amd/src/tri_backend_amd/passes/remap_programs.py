"""Programs that are neighbours run on the same XCD, and share its second-level cache.

MI300 and MI350 hand work groups to their XCDs in turn: group g of the launch runs on XCD g % n (AMD's CDNA3 white paper; 8 on MI300X and
MI355X, 6 on MI300A).  Programs that read the same rows of a matrix are neighbours, so each XCD reads all of them.  With the option
``xcds = n`` group g is program

    (g % n) * q + min(g % n, r) + g // n            q = programs // n, r = programs % n

so an XCD has the programs of one range, of q or q + 1.  All programs run once, whatever their number.
"""

from __future__ import annotations

from typing import ClassVar

from tri_core.api import Pass, StageContext
from tri_core.dialects.tt import AtomicCasOp, AtomicRmwOp, GetNumProgramsOp, GetProgramIdOp
from tri_core.dialects.tt.enums import MemSemantic
from tri_core.ir.dots import is_dot
from tri_core.ir.effects import SYNCHRONIZE_GRID, effects_of
from tri_core.ir.views import cast, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_core.remarks import declined
from tri_gpu_dialect.edit import all_ops, functions
from tri_gpu_dialect.transforms.pipeline.building import add, build, integer, multiply

__all__ = ["RemapPrograms"]


@dataclass(frozen=True)
class RemapPrograms(Pass):
    """See the module; ``xcds`` share the programs of a launch.

    Kernels with a dot alone: others share little.  Not those that number programs along more than one axis, since groups are handed out along
    all of them, nor those that synchronise with other programs, which may count on the order in which these begin.
    """

    name: ClassVar[str] = "amdg-remap-programs"

    xcds: int = 8

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Number the programs of every function of ``module`` anew."""
        for function in functions(module):
            ops = all_ops(function)
            ids = [op for op in ops if isa(op, GetProgramIdOp)]
            if not ids:
                continue
            if why := _obstacle(ops):
                declined(self.name, ids[0], "programs are not numbered by XCD: {}", why)
            else:
                self._number(function, ids)

    def _number(self, function: ir.Operation, ids: list[ir.Operation]) -> None:
        """Replace ``ids``, all along the first axis, by one number that is computed first."""
        i32 = ir.IntegerType.get_signless(32)
        axis = {"axis": ids[0].attributes["axis"]}
        with ir.InsertionPoint.at_block_begin(function.regions[0].blocks[0]), ids[0].location:
            group = build(GetProgramIdOp.OPERATION_NAME, [], [i32], axis)
            programs = build(GetNumProgramsOp.OPERATION_NAME, [], [i32], axis)
            xcds = integer(i32, self.xcds)
            xcd, place = (build(f"arith.{op}ui", [group, xcds], [i32]) for op in ("rem", "div"))
            each, more = (build(f"arith.{op}ui", [programs, xcds], [i32]) for op in ("div", "rem"))
            longer = build("arith.minui", [xcd, more], [i32])
            program = add(add(multiply(xcd, each), longer), place)
        for op in ids:
            op.results[0].replace_all_uses_with(program)
            op.erase()


def _obstacle(ops: list[ir.Operation]) -> str | None:
    """Reason that the programs of a kernel of ``ops`` keep their ids; None if there is none."""
    if not any(is_dot(op) for op in ops):
        return "the kernel has no dot"
    numbered = [op for op in ops if isa(op, GetProgramIdOp, GetNumProgramsOp)]
    if any(_axis(op) for op in numbered):
        return "they are numbered along more than one axis"
    if any(SYNCHRONIZE_GRID in (effects_of(op) or ()) or _orders(op) for op in ops):
        return "they may wait for one another"
    return None


def _orders(op: ir.Operation) -> bool:
    """True if ``op`` is an atomic that another program may wait for: a compare-and-swap, or one that orders
    other accesses.
    """
    if isa(op, AtomicCasOp):
        return True
    return isa(op, AtomicRmwOp) and MemSemantic(cast(op, AtomicRmwOp).sem.value) is not MemSemantic.RELAXED


def _axis(op: ir.Operation) -> int:
    view = cast(op, GetProgramIdOp) if isa(op, GetProgramIdOp) else cast(op, GetNumProgramsOp)
    return int(view.axis.value)
