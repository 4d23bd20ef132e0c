"""Exchanges between lanes whose numbers differ by a fixed mask, and reductions of lanes: by the instructions that take the fewest cycles.

An exchange is a chain of moves, each the exclusive or of lanes by some mask.  In a reduction lanes that differ by combined masks hold the same, so any
mask that differs from the wanted one by those will do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial, reduce
from operator import attrgetter

from tri_backend_amd.dialect import DppOp, PermlaneSwapOp, PermlaneX16Op, ReadLaneOp, SwizzleOp
from tri_backend_amd.lowering.lane_costs import LaneCosts
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Builder, LaneMove, LaneReduction, LaneSwap

__all__ = ["Permute", "lane_before", "reduce_lanes", "xor_lanes"]

#: a permute of any lanes: the lane that is this one's exclusive or with a mask
Permute = Callable[[Builder, ir.Value, int], ir.Value]

_BROADCAST_15, _BROADCAST_31 = 0x142, 0x143
_ROW, _ROWS = 16, (16, 32)
#: a lane's bit and those below it -> CDNA's control by which the last lane of the row, or of both rows, before is read
_BROADCASTS = {(16, 15): _BROADCAST_15, (32, 31): _BROADCAST_31}
_QUAD = 4
#: lane 15 of the other row, for all of a row: a constant that the instruction has room for
_LAST = (1 << 64) - 1


@dataclass(frozen=True)
class _Chain:
    """Moves one after the other, and what they take; ``fuses``: the last is an operand of whatever reads it."""

    cycles: int
    moves: tuple[LaneMove, ...]
    fuses: bool = False


@dataclass(frozen=True)
class _Step:
    """A step of a reduction, and what it takes with the combination."""

    cycles: int
    move: LaneMove | LaneSwap


def xor_lanes(b: Builder, value: ir.Value, mask: int, costs: LaneCosts, permute: Permute) -> ir.Value:
    """``value`` (i32) of the lane whose number is this one's exclusive or with ``mask``."""
    chain = min(_exchanges(mask, costs, permute), key=attrgetter("cycles"))
    return _in_turn(chain.moves, b, value)


def lane_before(
    b: Builder, value: ir.Value, bit: int, low: int, reverse: bool, costs: LaneCosts
) -> ir.Value | None:
    """The result of :meth:`.Primitives.shuffle_before`; None where no instruction has that lane as a constant, or an exchange does as well."""
    clear, put = (low, bit) if reverse else (bit, low)
    rows = costs.other_row is not None
    if not low:
        return _swap(bit, b, value)[int(reverse)] if costs.swap is not None and bit in _ROWS else None
    if bit | low < _QUAD:
        quad = sum((lane & ~clear | put) << (2 * lane) for lane in range(_QUAD))
        return _dpp(quad, b, value)
    if not rows and not reverse and (bit, low) in _BROADCASTS:
        return _dpp(_BROADCASTS[bit, low], b, value)
    if rows and bit == _ROW and low < _ROW:
        lanes = sum((lane & ~clear | put) % _ROW << (4 * lane) for lane in range(_ROW))
        return _other_row(lanes, b, value)
    if bit | low < 2 * _ROW:
        return SwizzleOp.build([value], [b.i32], {"offset": _number(put << 5 | 0x1F & ~clear)})[0]
    return None


def reduce_lanes(masks: tuple[int, ...], costs: LaneCosts, permute: Permute) -> LaneReduction:
    """The reduction of lanes that differ by combinations of ``masks``."""
    steps: list[_Step] = []
    same = {0}
    for mask in masks:
        steps.append(min(_combinations(mask, same, costs, permute), key=attrgetter("cycles")))
        same |= {mask ^ other for other in same}
    cycles, collected = sum(step.cycles for step in steps), _collected(masks, costs)
    if collected is not None and collected[0] < cycles:
        return collected[1]
    return LaneReduction(tuple(step.move for step in steps))


def _combinations(mask: int, same: set[int], costs: LaneCosts, permute: Permute) -> Iterator[_Step]:
    """Ways to combine lanes that differ by ``mask`` where those that differ by masks in ``same`` hold the same."""
    for other in same:
        for chain in _exchanges(mask ^ other, costs, permute):
            yield _Step(chain.cycles + (0 if chain.fuses else costs.vector), partial(_in_turn, chain.moves))
    if costs.other_row is not None and mask == _ROW and set(range(_ROW)) <= same:
        yield _Step(costs.other_row + costs.vector, partial(_other_row, _LAST))
    if costs.swap is not None and mask in _ROWS:
        yield _Step(costs.swap + costs.vector, LaneSwap(partial(_swap, mask)))


def _exchanges(mask: int, costs: LaneCosts, permute: Permute) -> Iterator[_Chain]:
    """Ways to move values by the exclusive or with ``mask``."""
    low, high = mask % _ROW, mask - mask % _ROW
    if not high:
        yield from _in_row(mask, costs)
    if costs.other_row is not None and high == _ROW:
        lanes = sum((lane ^ low) << (4 * lane) for lane in range(_ROW))
        yield _Chain(costs.other_row + costs.selectors, (partial(_other_row, lanes),))
    if costs.swap is not None and high in _ROWS:
        swapped = partial(_swapped, high)
        for inner in _in_row(low, costs) if low else (_Chain(0, ()),):
            yield _Chain(costs.swap + costs.vector + inner.cycles, (swapped, *inner.moves), inner.fuses)
    if mask < 2 * _ROW:
        yield _Chain(costs.swizzle, (partial(_swizzle, mask),))
    yield _Chain(costs.permute, (lambda b, value: permute(b, value, mask),))


def _in_row(mask: int, costs: LaneCosts) -> Iterator[_Chain]:
    """One DPP move, or two."""
    for first, control in costs.controls.items():
        if first == mask:
            yield _Chain(costs.dpp, (partial(_dpp, control),), fuses=True)
        elif (second := costs.controls.get(first ^ mask)) is not None:
            yield _Chain(2 * costs.dpp, (partial(_dpp, control), partial(_dpp, second)), fuses=True)


def _collected(masks: tuple[int, ...], costs: LaneCosts) -> tuple[int, LaneReduction] | None:
    """CDNA's 64 lanes: the last lanes of rows collect the total, which a scalar register then hands to all; with what it takes."""
    if masks != (1, 2, 4, 8, 16, 32):
        return None
    in_row = (costs.controls[1], costs.controls[2], costs.controls[7], costs.controls[8])
    moves = tuple(partial(_dpp, control) for control in (*in_row, _BROADCAST_15, _BROADCAST_31))
    return costs.dpp * len(moves) + costs.read_lane, LaneReduction(moves, partial(_read_lane, 63))


# --- words ------------------------------------------------------------------------------------------------


def _number(value: int, bits: int = 32) -> ir.Attribute:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(bits), value)


def _in_turn(moves: tuple[LaneMove, ...], b: Builder, value: ir.Value) -> ir.Value:
    return reduce(lambda moved, move: move(b, moved), moves, value)


def _dpp(control: int, b: Builder, value: ir.Value) -> ir.Value:
    return DppOp.build([value], [b.i32], {"control": _number(control)})[0]


def _swizzle(mask: int, b: Builder, value: ir.Value) -> ir.Value:
    return SwizzleOp.build([value], [b.i32], {"offset": _number(mask << 10 | 0x1F)})[0]


def _other_row(lanes: int, b: Builder, value: ir.Value) -> ir.Value:
    signed = lanes - (1 << 64) if lanes >> 63 else lanes
    return PermlaneX16Op.build([value], [b.i32], {"lanes": _number(signed, 64)})[0]


def _swap(rows: int, b: Builder, value: ir.Value) -> tuple[ir.Value, ir.Value]:
    first, second = PermlaneSwapOp.build([value, value], [b.i32, b.i32], {"lanes": _number(rows)})
    return first, second


def _swapped(rows: int, b: Builder, value: ir.Value) -> ir.Value:
    """Lanes whose bit is clear find the other's value in the second word, the others in the first."""
    first, second = _swap(rows, b, value)
    return b.select(b.cmp("eq", first, value), second, first)


def _read_lane(lane: int, b: Builder, value: ir.Value) -> ir.Value:
    return ReadLaneOp.build([value], [b.i32], {"lane": _number(lane)})[0]
