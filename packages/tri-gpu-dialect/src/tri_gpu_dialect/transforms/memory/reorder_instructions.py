"""Moves what reads operands of dots out of buffers down to where it is used: registers hold them for a shorter time.

    x = local_load a; b = alloc (load p); y = local_load b; dot x, y
    ->  b = alloc (load p); x = local_load a; y = local_load b; dot x, y

An operand's layout holds copies in several threads, so it takes more registers than the block that was loaded from global
memory; and the barrier in front of such a read keeps the global loads behind it from being under way together with
those before it.

Operands of dots by multiply-add, of which each thread needs whole rows and columns, are converted where they are used, too, behind other
dots and loops: the tensor that they are made of takes fewer registers.

Loads of a few registers in loops without dots are issued before conversions and reductions in which threads wait for each other
(:mod:`tri_gpu_dialect.transforms.memory.early_loads`): those of a step of a recurrence are under way together.

A read stays in its block, above whatever may write a buffer, waits, or has a region of a program in it, and above dots:
``prefetch`` has put reads in front of the dots that hide them.  But a large operand of a buffer that is filled as it is made, and
never again, is read right before its dot, whatever is in between: threads have no registers for those of several dots at once.

Buffers live longer by this: where the target has too little shared memory for that all stay where they are; where fewer CTAs fit a unit
because of it, and these have too few warps to hide what they wait for, reads stay where they are, as many as it takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import ClassVar

from tri_core.api import Pass, StageContext
from tri_core.dialects.tt import DotOp, LoadOp, ReduceOp, ScanOp
from tri_core.ir.traits import is_rematerializable, is_view, source_of
from tri_core.ir.views import cast, defining_op, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_core.occupancy import occupancy
from tri_core.remarks import declined
from tri_core.target import ComputeUnit
from tri_gpu_dialect import layouts
from tri_gpu_dialect.analysis.layout_rules import encoding_of
from tri_gpu_dialect.base import MemDescType
from tri_gpu_dialect.dialect import ConvertLayoutOp, LocalAllocOp, LocalLoadOp, MemDescTransOp
from tri_gpu_dialect.edit import all_ops, ancestor_in, block_ops, functions, module_int
from tri_gpu_dialect.encodings import Blocked, DotOperand
from tri_gpu_dialect.layouts import REGISTER
from tri_gpu_dialect.plans.scratch import SHARED, ScratchMeasures
from tri_gpu_dialect.transforms.memory.early_loads import issue_loads_early
from tri_gpu_dialect.transforms.memory.placement import bytes_needed
from tri_gpu_dialect.types import tensor_info

__all__ = ["ReorderInstructions"]

#: resident warps of a partition that hide the latency of memory and barriers
_WARPS = 2

#: ops, beside pure ones and views, that write no buffer which anybody reads yet, and order nothing
_PASSED = (LocalLoadOp, LoadOp, ReduceOp, ScanOp)


@dataclass(frozen=True)
class ReorderInstructions(Pass):
    """See the module; runs before shared memory is allocated, with the same ``measures`` of scratch memory; operands of ``late_words`` are large."""

    name: ClassVar[str] = "reorder-instructions"

    measures: ScratchMeasures = SHARED
    late_words: int | None = None

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Move the reads of every function of ``module``."""
        limit = context.target.spec.limits.get("shared") if context is not None else None
        warps = module_int(module, "ttg.num-warps")
        for function in functions(module):
            before = bytes_needed(function, self.measures) if limit is not None else 0
            moved = _Moves(self.late_words)
            for block in _blocks(function):
                issue_loads_early(block, self.measures)
                moved.sink_all(block)
            if limit is None or not moved.places:
                continue
            needed = bytes_needed(function, self.measures)
            if needed > limit:
                moved.undo()
                text = (
                    "operands are read early: with {} bytes of shared memory their buffers cannot live longer"
                )
                declined(self.name, function, text, limit)
                continue
            first = needed
            while moved.places and _crowds_out(context.target.spec.unit, warps, before, needed):
                moved.undo_last()
                needed = bytes_needed(function, self.measures)
            if needed != first:
                text = "operands are read early: buffers that live longer take {} bytes, so that too few CTAs fit a unit"
                declined(self.name, function, text, first)


def _crowds_out(unit: ComputeUnit | None, warps: int, before: int, needed: int) -> bool:
    """True if CTAs of ``needed`` bytes instead of ``before`` leave partitions with fewer warps than
    ``_WARPS``, and with fewer than before.
    """
    if unit is None:
        return False
    had, left = (occupancy(unit, warps=warps, registers=None, shared=size).warps for size in (before, needed))
    return left < min(had, _WARPS * unit.partitions)


class _Moves:
    """Ops that were moved, each with the op that it stood before."""

    def __init__(self, late_words: int | None) -> None:
        self.places: list[tuple[ir.Operation, ir.Operation]] = []
        self.late_words = late_words

    def sink_all(self, block: ir.Block) -> None:
        """Move the reads of ``block`` down to their first users, as far as what is in between lets them pass.

        The last ones first: reads let each other pass, so all places are found in the order that was there before.
        """
        ops = block_ops(block)
        following = ops[-1]
        for i in reversed(range(len(ops) - 1)):
            place = self._place(ops, i)
            if place is not None and place != following:
                self.places.append((ops[i], following))
                ops[i].move_before(place)
            else:
                following = ops[i]

    def _place(self, ops: Sequence[ir.Operation], number: int) -> ir.Operation | None:
        """The op of a block's ``ops`` before which number ``number`` may stand; None where it is no read of an operand.

        What is converted for one dot keeps its order; it goes behind dots and loops, which need registers, else it stays.
        """
        if _is_operand(ops[number]):
            return _place(ops, number, self.late_words)
        if not _is_copied(ops[number]) or (index := _first_user(ops, number)) is None:
            return None
        if not any(isa(op, DotOp) or len(op.regions) for op in islice(ops, number + 1, index)):
            return None
        moved = [op for op, _ in self.places]
        while index > number + 1 and _is_copied(ops[index - 1]) and ops[index - 1] not in moved:
            index -= 1
        return ops[index]

    def undo(self) -> None:
        """Put everything back."""
        while self.places:
            self.undo_last()

    def undo_last(self) -> None:
        """Put back the read that was moved last: the first of the function's last block that is left."""
        op, following = self.places.pop()
        op.move_before(following)


def _blocks(function: ir.Operation) -> Iterator[ir.Block]:
    """Every block of ``function``, those inside of its ops too."""
    for op in all_ops(function):
        for region in op.regions:
            yield from region.blocks


def _place(ops: Sequence[ir.Operation], number: int, late_words: int | None) -> ir.Operation:
    """The op of a block's ``ops`` before which read ``number`` has to stand."""
    block = ops[number].block
    users = [ancestor_in(use.owner.operation, block) for use in ops[number].results[0].uses]
    buffer = None if late_words is None else _lasting(ops[number], late_words)
    following = islice(ops, number + 1, None)
    if buffer is not None:
        return next(op for op in following if op in users or (buffer in op.operands and not _only_reads(op)))
    return next(op for op in following if op in users or not _is_passed(op))


def _only_reads(op: ir.Operation) -> bool:
    """True if ``op`` leaves a buffer as it is: another read of it, or a view."""
    return isa(op, LocalLoadOp) or is_view(op)


def _lasting(load: ir.Operation, least: int) -> ir.Value | None:
    """The buffer that ``load`` reads ``least`` words of a thread or more of, where it is filled as it is made and never again; else None."""
    info, buffer = tensor_info(load.results[0].type), cast(load, LocalLoadOp).src
    assert info is not None
    while (view := defining_op(buffer, MemDescTransOp)) is not None:
        buffer = source_of(view)
    words = layouts.of(load.results[0].type).in_size(REGISTER) * info.bitwidth // 32
    made = defining_op(buffer, LocalAllocOp)
    if words < least or made is None or made.src is None or MemDescType(buffer.type).mutable:
        return None
    return buffer


def _first_user(ops: Sequence[ir.Operation], number: int) -> int | None:
    """The number of the first op of a block's ``ops`` that uses what number ``number`` makes, itself or inside of it; None without users."""
    block = ops[number].block
    users = [ancestor_in(use.owner.operation, block) for use in ops[number].results[0].uses]
    return next((i for i in range(number + 1, len(ops)) if ops[i] in users), None)


def _is_operand(op: ir.Operation) -> bool:
    """True if ``op`` reads a dot operand from a buffer."""
    return isa(op, LocalLoadOp) and isinstance(encoding_of(op.results[0]), DotOperand)


def _is_copied(op: ir.Operation) -> bool:
    """True if ``op`` makes an operand of a dot by multiply-add, with more registers than its own operands."""
    if not isa(op, ConvertLayoutOp):
        return False
    owner = source_of(op).owner
    if not isinstance(owner, ir.Block) and isa(owner.operation, LocalLoadOp):
        return False  # which must not follow
    encoding = encoding_of(op.results[0])
    if not isinstance(encoding, DotOperand) or not isinstance(encoding.parent, Blocked):
        return False
    given, made = (layouts.of(v.type).in_size(REGISTER) for v in (source_of(op), op.results[0]))
    return made > given


def _is_passed(op: ir.Operation) -> bool:
    if isa(op, LocalAllocOp):
        # a new buffer, filled; one that is filled later may be waited for, and would be there together with what is read
        return len(op.operands) > 0
    return isa(op, *_PASSED) or _is_copied(op) or is_view(op) or is_rematerializable(op)
