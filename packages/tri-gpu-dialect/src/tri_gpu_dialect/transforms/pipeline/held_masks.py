"""Effects of a comparison of tensors as a mask, and the code where it holds for all elements.

Followed through what arranges elements, and through conjunctions, to choices (``arith.select``) and the masks of loads.
"""

from __future__ import annotations

from collections.abc import Iterator

from tri_core.dialects.tt import LoadOp
from tri_core.ir.rewriting import attributes_of, erase_unused
from tri_core.ir.traits import is_rematerializable, moves_data
from tri_core.ir.views import cast, isa
from tri_core.mlir import arith, ir
from tri_gpu_dialect.types import tensor_info

__all__ = ["drop", "masked"]

_LOAD = LoadOp.OPERATION_NAME


def masked(comparison: ir.Operation) -> list[ir.Operation]:
    """The choices and loads that ``comparison``, of tensors, masks; none if it does anything else."""
    found: dict[ir.Operation, None] = {}
    if tensor_info(comparison.results[0].type) is None:
        return []
    for value, user in _uses(comparison.results[0]):
        if _masks(value, user):
            found[user] = None
        elif not isa(user, arith.AndIOp) and not _arranges(user):
            return []
    return list(found)


def _arranges(op: ir.Operation) -> bool:
    """True if ``op`` rearranges or repeats the elements of its one operand."""
    return moves_data(op) and len(op.operands) == len(op.results) == 1


def _masks(value: ir.Value, user: ir.Operation) -> bool:
    """True if ``user`` uses ``value`` only as a condition or mask."""
    if sum(operand == value for operand in user.operands) != 1:
        return False
    return (isa(user, arith.SelectOp) and cast(user, arith.SelectOp).condition == value) or (
        isa(user, LoadOp) and user.opview.mask == value
    )


def drop(comparison: ir.Operation) -> None:
    """Have all that ``comparison`` masks as where it holds everywhere, and erase what nobody needs any more."""
    ahead = [comparison.results[0]]
    while ahead:
        value = ahead.pop()
        for user in dict.fromkeys(use.owner.operation for use in value.uses):
            if _arranges(user) or (isa(user, arith.AndIOp) and len(set(user.operands)) == 1):
                ahead.append(user.results[0])
            elif isa(user, arith.AndIOp):
                left, right = user.operands
                user.results[0].replace_all_uses_with(right if left == value else left)
                user.erase()
            elif isa(user, arith.SelectOp):
                user.results[0].replace_all_uses_with(cast(user, arith.SelectOp).true_value)
                user.erase()
            elif isa(user, LoadOp):
                user.results[0].replace_all_uses_with(_unmasked(user))
                user.erase()
        erase_unused(value.owner.operation, is_rematerializable)


def _unmasked(load: ir.Operation) -> ir.Value:
    """``load`` of all elements, before it."""
    attributes = attributes_of(load, {"operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0, 0])})
    types = [result.type for result in load.results]
    with ir.InsertionPoint(load), load.location:
        made = ir.Operation.create(_LOAD, results=types, operands=[load.opview.ptr], attributes=attributes)
    return made.results[0]


def _uses(value: ir.Value) -> Iterator[tuple[ir.Value, ir.Operation]]:
    """Every use of ``value`` and of what is made of it by arranging and conjunction."""
    ahead, seen = [value], {value}
    while ahead:
        here = ahead.pop()
        for use in here.uses:
            user = use.owner.operation
            yield here, user
            if (isa(user, arith.AndIOp) or _arranges(user)) and user.results[0] not in seen:
                seen.add(user.results[0])
                ahead.append(user.results[0])
