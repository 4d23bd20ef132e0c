"""Visibility of a tile's elements beyond a limit.

A dot's row i depends on row i of its left operand alone.  Where rows past a limit are only stored under a mask that
leaves them out, it does not matter what was read for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field

from tri_core.dialects.tt import AtomicRmwOp, StoreOp
from tri_core.ir.regions import For, If
from tri_core.ir.traits import is_elementwise, source_of
from tri_core.ir.views import cast, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_core.passes.tiles.polynomial import Polynomial
from tri_core.passes.tiles.reading import Reader

__all__ = ["only_inside_matters"]

Place = tuple[ir.Value, int]


def only_inside_matters(reader: Reader, value: ir.Value, dim: int, limit: Polynomial) -> bool:
    """True if elements of ``value`` whose index along ``dim`` is ``limit`` or more reach no memory."""
    return _Flow(reader, limit).run(value, dim)


@dataclass
class _Flow:
    reader: Reader
    limit: Polynomial
    seen: set[Place] = field(default_factory=set)

    def run(self, value: ir.Value, dim: int) -> bool:
        """Follow the value to all its uses."""
        ahead = [(value, dim)]
        while ahead:
            place = ahead.pop()
            if place in self.seen:
                continue
            self.seen.add(place)
            for use in place[0].uses:
                reached = self.use(use.owner.operation, use.operand_number, place[1])
                if reached is None:
                    return False
                ahead += reached
        return True

    def use(self, op: ir.Operation, number: int, dim: int) -> list[Place] | None:
        """Places of the elements after a use; None if they may be observed, or it is unknown."""
        rule = _RULES.get(op.name)
        if rule is not None:
            return rule(self, op, number, dim)
        if is_elementwise(op):
            return [(r, dim) for r in op.results]
        return None


Rule = Callable[[_Flow, ir.Operation, int, int], "list[Place] | None"]


def _store(flow: _Flow, op: ir.Operation, number: int, dim: int) -> list[Place] | None:
    """Fine where the mask has the limit."""
    return _left_out(flow, cast(op, StoreOp).mask, dim) if number == 1 else None


def _left_out(flow: _Flow, mask: ir.Value | None, dim: int) -> list[Place] | None:
    """No place where ``mask`` leaves out what is past the limit; None where it does not."""
    if mask is None:
        return None
    conditions = flow.reader.some_conditions(mask)
    fits = any(c.dim == dim and not c.lower and c.limit == flow.limit for c in conditions)
    return [] if fits else None


def _atomic(flow: _Flow, op: ir.Operation, number: int, dim: int) -> list[Place] | None:
    """As a store, where nobody asks for what was there before."""
    is_read = any(True for _ in op.results[0].uses)
    return _left_out(flow, cast(op, AtomicRmwOp).mask, dim) if number == 1 and not is_read else None


def _dot(_: _Flow, op: ir.Operation, number: int, dim: int) -> list[Place] | None:
    rank = op.results[0].type.rank
    along = {0: rank - 2, 1: rank - 1}.get(number, dim)
    inner = {0: rank - 1, 1: rank - 2}.get(number)
    if number > 2 or dim == inner:
        return None
    return [(op.results[0], dim if dim < rank - 2 else along)]


def _trans(_: _Flow, op: ir.Operation, __: int, dim: int) -> list[Place]:
    return [(op.results[0], list(ir.DenseI32ArrayAttr(op.attributes["order"])).index(dim))]


def _broadcast(_: _Flow, op: ir.Operation, __: int, dim: int) -> list[Place] | None:
    same = source_of(op).type.shape[dim] == op.results[0].type.shape[dim]
    return [(op.results[0], dim)] if same else None


def _expand(_: _Flow, op: ir.Operation, __: int, dim: int) -> list[Place]:
    return [(op.results[0], dim + (dim >= ir.IntegerAttr(op.attributes["axis"]).value))]


def _reduce(_: _Flow, op: ir.Operation, __: int, dim: int) -> list[Place] | None:
    axis = ir.IntegerAttr(op.attributes["axis"]).value
    if dim == axis or not isinstance(op.results[0].type, ir.RankedTensorType):
        return None
    return [(r, dim - (dim > axis)) for r in op.results]


def _for(_: _Flow, op: ir.Operation, number: int, dim: int) -> list[Place] | None:
    if number < 3:
        return None
    return [(op.regions[0].blocks[0].arguments[number - 2], dim), (op.results[number - 3], dim)]


def _yield(_: _Flow, op: ir.Operation, number: int, dim: int) -> list[Place] | None:
    parent = op.parent.operation
    if isa(parent, If):
        return [(parent.results[number], dim)]
    if not isa(parent, For):
        return None
    return list(_carried(parent, number, dim))


def _carried(loop: ir.Operation, number: int, dim: int) -> Iterator[Place]:
    yield loop.regions[0].blocks[0].arguments[number + 1], dim
    yield loop.results[number], dim


_RULES: Mapping[str, Rule] = {
    "tt.store": _store,
    "tt.atomic_rmw": _atomic,
    "tt.dot": _dot,
    "tt.trans": _trans,
    "tt.broadcast": _broadcast,
    "tt.expand_dims": _expand,
    "tt.reduce": _reduce,
    For.OPERATION_NAME: _for,
    "scf.yield": _yield,
}
