"""In which order the programs of a grid run: as they are numbered, or the longest first.

Programs that go over more of a sequence the larger their number (causal attention) should begin with the longest: what is left when
most CTAs are done is short then.  But programs that read the same memory (the queries of one head: its keys and values) should run at the same
time, too.  So, with the axis of lengths called ``along`` and the others together ``across``:

    groups of as many ``across`` as a cache holds the memory of; in a group the longest of all, then the next ones ...

What a program reads in its loops, at most, is computed from the loops' bounds for the longest of them, before the programs begin.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tri_core.dialects.tt import DescriptorLoadOp, FuncOp, GetNumProgramsOp, GetProgramIdOp, LoadOp
from tri_core.ir.regions import For
from tri_core.ir.traits import is_rematerializable
from tri_core.ir.views import isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect import edit
from tri_gpu_dialect.edit import all_ops
from tri_gpu_dialect.types import tensor_info

if TYPE_CHECKING:
    from tri_gpu_dialect.analysis.trip_counts import TripCounts

__all__ = ["LongestFirst", "Numbered", "ProgramOrder", "make", "number", "order_of"]

_LOADS = (LoadOp, DescriptorLoadOp)
#: what is read is counted in so many bytes, for long sequences' sake
_UNIT = 64


def make(name: str, operands: Sequence[ir.Value] = (), **attributes: ir.Attribute) -> ir.Value:
    """The i32 that an op at the ambient insertion point gives."""
    return edit.make(name, operands, ir.IntegerType.get_signless(32), **attributes).results[0]


def number(value: int) -> ir.Value:
    """A constant."""
    return edit.constant(32, value)


@dataclass(frozen=True)
class Numbered:
    """As they are numbered, x first; ``sizes`` of the grid, ``plane`` is that of x and y."""

    sizes: Sequence[ir.Value]
    plane: ir.Value

    def ids(self, place: ir.Value, wanted: set[int]) -> dict[int, ir.Value]:
        """The program ids, along the ``wanted`` axes, of the program at ``place``, made here."""
        found = {}
        if 0 in wanted:
            found[0] = make("arith.remui", [place, self.sizes[0]])
        if 1 in wanted:
            rows = make("arith.divui", [place, self.sizes[0]])
            found[1] = make("arith.remui", [rows, self.sizes[1]])
        if 2 in wanted:
            found[2] = make("arith.divui", [place, self.plane])
        return found


@dataclass(frozen=True)
class LongestFirst:
    """The longest first, along ``axis``, where they are the last if ``grows``; ``group`` of ``across`` at the same time."""

    sizes: Sequence[ir.Value]
    axis: int
    grows: bool
    across: ir.Value
    group: ir.Value
    #: programs of a whole group
    whole: ir.Value

    def ids(self, place: ir.Value, wanted: set[int]) -> dict[int, ir.Value]:
        """The program ids, along the ``wanted`` axes, of the program at ``place``, made here."""
        before = make("arith.divui", [place, self.whole])
        inside = make("arith.subi", [place, make("arith.muli", [before, self.whole])])
        first = make("arith.muli", [before, self.group])
        width = make("arith.minui", [self.group, make("arith.subi", [self.across, first])])
        along = make("arith.divui", [inside, width])
        other = make("arith.addi", [first, make("arith.subi", [inside, make("arith.muli", [along, width])])])
        if self.grows:
            along = make("arith.subi", [make("arith.subi", [self.sizes[self.axis], number(1)]), along])
        low, high = (axis for axis in range(3) if axis != self.axis)
        found = {self.axis: along}
        if low in wanted:
            found[low] = make("arith.remui", [other, self.sizes[low]])
        if high in wanted:
            found[high] = make("arith.divui", [other, self.sizes[low]])
        return found


ProgramOrder = Numbered | LongestFirst


def order_of(
    function: ir.Operation,
    trips: TripCounts,
    sizes: Sequence[ir.Value],
    plane: ir.Value,
    total: ir.Value,
    cache: int | None,
) -> ProgramOrder:
    """The order for ``function``, a grid of ``sizes``, and a cache of ``cache`` bytes (None: any); what it needs is made here."""
    axis = trips.steepest
    if axis is None:
        return Numbered(sizes, plane)
    grows = trips.slopes[axis] > 0
    across = make("arith.divui", [total, sizes[axis]])
    group = _group(function, axis, sizes, grows, across, cache)
    whole = make("arith.muli", [group, sizes[axis]])
    return LongestFirst(sizes, axis, grows, across, group, whole)


# --- what is read -----------------------------------------------------------------------------------------


def _group(
    function: ir.Operation,
    axis: int,
    sizes: Sequence[ir.Value],
    grows: bool,
    across: ir.Value,
    cache: int | None,
) -> ir.Value:
    """Number of programs along ``across`` per group; all of them if the size of their data is unknown."""
    loops = [(op, read) for op in all_ops(function) if isa(op, For) and (read := _read(op))]
    if cache is None or not loops or not all(_is_scalar(v) for op, _ in loops for v in list(op.operands)[:3]):
        return across
    longest = make("arith.subi", [sizes[axis], number(1)]) if grows else number(0)
    again = _Again(sizes, {axis: longest})
    total = number(0)
    for op, read in loops:
        lower, upper, step = (again.of(v) for v in list(op.operands)[:3])
        iterations = make("arith.divsi", [make("arith.subi", [upper, lower]), step])
        iterations = make("arith.maxsi", [iterations, number(0)])
        total = make("arith.addi", [total, make("arith.muli", [iterations, number(math.ceil(read / _UNIT))])])
    group = make("arith.divui", [number(cache // _UNIT), make("arith.maxsi", [total, number(1)])])
    return make("arith.minui", [across, make("arith.maxsi", [group, number(1)])])


def _read(loop: ir.Operation) -> int:
    """Bytes that an iteration of ``loop`` loads, outside of loops inside of it."""
    inner = {op for each in all_ops(loop) if isa(each, For) and each != loop for op in all_ops(each)}
    found = 0
    for op in all_ops(loop):
        info = tensor_info(op.results[0].type) if isa(op, *_LOADS) and op not in inner else None
        found += 0 if info is None else info.numel * info.bitwidth // 8
    return found


def _is_scalar(value: ir.Value) -> bool:
    """True if ``value``, an i32, is computed from parameters, constants and program ids, by scalars alone."""
    ahead, seen = [value], {value}
    while ahead:
        each = ahead.pop()
        if isinstance(each.owner, ir.Block):
            if not isa(each.owner.owner.operation, FuncOp):
                return False
            continue
        op = each.owner.operation
        if not is_rematerializable(op) or len(op.regions) or tensor_info(each.type) is not None:
            return False
        ahead += [v for v in op.operands if v not in seen]
        seen.update(op.operands)
    return str(value.type) == "i32"


@dataclass
class _Again:
    """Scalars computed once more, for program ids that are ``ids`` along some axes and 0 along others."""

    sizes: Sequence[ir.Value]
    ids: dict[int, ir.Value]

    def __post_init__(self) -> None:
        self.known: dict[ir.Value, ir.Value] = {}

    def of(self, value: ir.Value) -> ir.Value:
        """``value``, made here."""
        if isinstance(value.owner, ir.Block):
            return value
        if value not in self.known:
            self.known[value] = self._made(value)
        return self.known[value]

    def _made(self, value: ir.Value) -> ir.Value:
        op = value.owner.operation
        if isa(op, GetProgramIdOp, GetNumProgramsOp):
            axis = int(ir.IntegerAttr(op.attributes["axis"]).value)
            if isa(op, GetNumProgramsOp):
                return self.sizes[axis]
            return self.ids[axis] if axis in self.ids else number(0)
        operands = [self.of(v) for v in op.operands]
        made = op.clone(ip=ir.InsertionPoint.current).operation
        for i, operand in enumerate(operands):
            made.operands[i] = operand
        return made.results[ir.OpResult(value).result_number]
