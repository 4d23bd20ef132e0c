"""Regions that compute on elements: what they are given and what they give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tri_core.dialects.tt.constraints.vocabulary import Constraint, View
from tri_core.mlir import ir

__all__ = ["CONSTRAINTS", "region_signature"]

#: terminators and the ops whose regions they end
_ENDS = {
    "tt.reduce_return": "tt.reduce",
    "tt.scan_return": "tt.scan",
    "tt.map_elementwise_return": "tt.map_elementwise",
}


def region_signature(
    op: ir.Operation, terminator: str, arguments: Sequence[ir.Type], results: Sequence[ir.Type]
) -> str | None:
    """Error in the region of ``op`` if it does not take ``arguments`` and end with ``results``; None
    otherwise.
    """
    blocks = list(op.regions[0].blocks)
    if not blocks:
        return "expects a region with a block; it is empty"
    given = [argument.type for argument in blocks[0].arguments]
    if given != list(arguments):
        return f"expects a region of arguments {_list(arguments)}; got {_list(given)}"
    if len(blocks[-1].operations) == 0:
        return f"expects a region that ends with {terminator}; its last block is empty"
    end = blocks[-1].operations[len(blocks[-1].operations) - 1].operation
    # a terminator with operands of several types may be here under another name while it is verified
    if not end.name.endswith(terminator):
        return f"expects a region that ends with {terminator}; it ends with {end.name}"
    returned = [value.type for value in end.operands]
    if returned != list(results):
        return f"expects a region that returns {_list(results)}; it returns {_list(returned)}"
    return None


def _list(types: Sequence[ir.Type]) -> str:
    return f"({', '.join(map(str, types))})"


def _in(parent: str) -> Constraint:
    def constraint(view: View) -> str | None:
        above = view.op.parent
        if above is not None and above.operation.name.endswith(parent):
            return None
        return f"expects to end a region of {parent}; it is in {'nothing' if above is None else above.operation.name}"

    return constraint


CONSTRAINTS: Mapping[str, Sequence[Constraint]] = {end: (_in(parent),) for end, parent in _ENDS.items()}
