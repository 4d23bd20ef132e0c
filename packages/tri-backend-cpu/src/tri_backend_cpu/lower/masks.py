"""Masks that are true up to some index: the loop up to there needs none.

``columns < n`` is true for the first ``n - columns[0]`` indices along the vectors; a condition on rows is
true for all of them or for none.  The loop over vectors is then split: whole vectors before that index
without masks, the rest with.
"""

from __future__ import annotations

from tri_backend_cpu.analysis.plan import Effect, Nest
from tri_backend_cpu.builder import I64, INT_PREDICATES
from tri_backend_cpu.lower.evaluator import Evaluator
from tri_backend_cpu.lower.linear import Runs, linear
from tri_backend_cpu.lower.place import Lanes, Place
from tri_core.ttir import Op, Value, constant_of

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
    """The masks of the loads that ``value`` at ``place`` is computed from."""
    waiting = [(value, place)]
    while waiting:
        point = waiting.pop()
        op = point[0].op
        if op is None or point in seen or not point[0].is_tensor or e.is_stored(point[0]):
            continue
        seen.add(point)
        mask = op.optional("mask") if op.name == "tt.load" else None
        if mask is not None and constant_of(mask) is not True:
            found[mask, point[1]] = None
        waiting.extend(e.operands_at(op, point[1]))


def true_prefix(e: Evaluator, mask: Value, place: Place, extent: int) -> Lanes | None:
    """Lower bound (i64) of the number of leading points for which ``mask`` is true, of the ``extent`` points
    from ``place`` along its lane.

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
    low, high = (linear(e, v, place, Runs(e.axis, extent)) for v in (run, limit))
    if low.vector is not None or high.vector is not None:
        return None
    if high.stride > 0 and low.stride == 0:  # what grows past a limit is true everywhere if it is so at first
        return _all_or_none(e, op.result, place.first(), extent)
    if high.stride:
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
