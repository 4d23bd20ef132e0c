"""Masks that are true up to some index: the loop up to there needs none.

``columns < n`` is true for the first ``n - columns[0]`` indices along the vectors; a condition on rows is
true for all of them or for none.  The loop over vectors is then split: whole vectors before that index
without masks, the rest with.
"""

from __future__ import annotations

from collections.abc import Iterator

from tri_backend_cpu.analysis.demand import operand_maps
from tri_backend_cpu.analysis.plan import Effect, Nest
from tri_backend_cpu.graph import Op, Value, constant_of
from tri_backend_cpu.lower.builder import I64, INT_PREDICATES
from tri_backend_cpu.lower.evaluator import Evaluator
from tri_backend_cpu.lower.linear import linear
from tri_backend_cpu.lower.place import ZERO, Lanes, Place

__all__ = ["Masked", "masks_of", "true_prefix"]

Masked = tuple[Value, Place]


def masks_of(e: Evaluator, nest: Nest, place: Place) -> dict[Masked, None]:
    """The masks of every access that ``nest`` makes when it is at ``place``, with their places."""
    found: dict[Masked, None] = {}
    seen: set[Masked] = set()
    for member in nest.members:
        for operand in member.operands:
            _collect(e, operand, place, found, seen)
        mask = member.op.optional("mask") if isinstance(member, Effect) else None
        if mask is not None and constant_of(mask) is not True:
            found[mask, place] = None
    return found


def _collect(e: Evaluator, value: Value, place: Place, found: dict[Masked, None], seen: set[Masked]) -> None:
    if not value.is_tensor or (value, place) in seen or e.is_stored(value) or value.op is None:
        return
    seen.add((value, place))
    op = value.op
    mask = op.optional("mask") if op.name == "tt.load" else None
    if mask is not None and constant_of(mask) is not True:
        found[mask, place] = None
    for operand, at in _operands(op, place):
        _collect(e, operand, at, found, seen)


def _operands(op: Op, place: Place) -> Iterator[Masked]:
    """The operands of ``op`` and where they are wanted."""
    if op.name in {"tt.reduce", "tt.scan", "tt.dot", "tt.histogram", "tt.join", "tt.cat"} or op.blocks:
        return
    rank = len(place.coordinates)
    for operand, at in operand_maps(op, tuple(range(rank))):
        if at is not None and operand.is_tensor:
            lane = at.index(place.lane) if place.lane in at else None
            yield operand, Place(tuple(ZERO if d is None else place.coordinates[d] for d in at), lane)


def true_prefix(e: Evaluator, mask: Value, place: Place, extent: int) -> Lanes | None:
    """How many of the ``extent`` points from ``place`` along its lane ``mask`` is true for, at least (i64).

    May exceed ``extent`` or be negative.  None when that is not known without computing the mask.
    """
    if place.lane is None or (not mask.is_tensor):
        return _all_or_none(e, mask, place, extent)
    op = mask.op
    if op is None or e.is_stored(mask):
        return None
    match op.name:
        case "arith.andi":
            return _smaller(e, *(true_prefix(e, v, place, extent) for v in op.operands))
        case "tt.broadcast" | "tt.expand_dims" | "tt.trans":
            return true_prefix(e, op.operands[0], e.operand_place(op, place), extent)
        case "tt.splat":
            return _all_or_none(e, op.operands[0], Place(()), extent)
        case "arith.cmpi":
            return _compared(e, op, place, extent)
        case _:
            return None


def _all_or_none(e: Evaluator, mask: Value, place: Place, extent: int) -> Lanes:
    """A condition that is the same along the lane."""
    lanes = e.lanes(mask, place)
    with e.frame.at(lanes.level) as b:
        chosen = b.select(lanes.value, b.i64(extent), b.i64(0))
    return Lanes(chosen, lanes.level, wide=False)


def _smaller(e: Evaluator, x: Lanes | None, y: Lanes | None) -> Lanes | None:
    if x is None or y is None:
        return None
    level = max(x.level, y.level)
    with e.frame.at(level) as b:
        return Lanes(b.same("arith.minsi", x.value, y.value), level, wide=False)


def _compared(e: Evaluator, op: Op, place: Place, extent: int) -> Lanes | None:
    """``run < limit`` or ``run <= limit``, in either order, the run growing by 1 along the lane."""
    predicate = INT_PREDICATES[op.attributes["predicate"]]
    run, limit = op.operands if predicate in {"slt", "sle"} else reversed(op.operands)
    if predicate not in {"slt", "sle", "sgt", "sge"}:
        return None
    low, high = (linear(e, v, place, e.axis) for v in (run, limit))
    if low.vector is not None or high.vector is not None or high.stride:
        return None
    if low.stride == 0:
        return _all_or_none(e, op.result, place.first(), extent)
    if low.stride != 1:
        return None
    high.constant -= low.constant - (predicate in {"sle", "sge"})
    return _difference(e, high.total(e.frame), low.total(e.frame), high.constant)


def _difference(e: Evaluator, high: Lanes | None, low: Lanes | None, constant: int) -> Lanes:
    """``high - low + constant``."""
    level = max(high.level if high else 0, low.level if low else 0)
    with e.frame.at(level) as b:
        result = high.value if high is not None else b.i64(0)
        if low is not None:
            result = b.same("arith.subi", result, low.value)
        if constant:
            result = b.same("arith.addi", result, b.constant(constant, I64))
    return Lanes(result, level, wide=False)
