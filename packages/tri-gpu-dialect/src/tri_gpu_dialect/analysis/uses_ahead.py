"""Uses of a value, and of the values that elementwise ops and branches make of it."""

from __future__ import annotations

from collections.abc import Iterator

from tri_core.dialects.tt import BroadcastOp, ExpandDimsOp, ReduceOp
from tri_core.ir.regions import edges_of, ends_region, is_loop
from tri_core.ir.traits import maps_elements
from tri_core.ir.views import isa
from tri_core.mlir import ir

__all__ = ["becomes_rows", "uses_ahead"]

#: values that are looked at for what will be done with one of them
_FOLLOWED = 32


def uses_ahead(value: ir.Value) -> Iterator[ir.OpOperand]:
    """The uses of ``value``, and of tensors of its shape that elementwise ops and branches make of it: the nearest of them."""
    ahead, seen = [value], 0
    while ahead and seen < _FOLLOWED:
        here, seen = ahead.pop(0), seen + 1
        for use in here.uses:
            yield use
            op = use.owner.operation
            if maps_elements(op.name):
                ahead += op.results
            elif ends_region(op) and not is_loop(op.parent.operation):
                edges = [edge for edge in edges_of(op.parent.operation) if edge.source == op]
                ahead += [
                    to for edge in edges for v, to in zip(edge.values, edge.targets, strict=True) if v == here
                ]


def becomes_rows(value: ir.Value) -> bool:
    """True where ``value`` becomes rows (or columns) of a larger tensor that is reduced."""
    wide = [
        ahead.owner.operation.results[0]
        for use in uses_ahead(value)
        if isa(use.owner.operation, ExpandDimsOp)
        for ahead in uses_ahead(use.owner.operation.results[0])
        if isa(ahead.owner.operation, BroadcastOp)
    ]
    return any(isa(use.owner.operation, ReduceOp) for value in wide for use in uses_ahead(value))
