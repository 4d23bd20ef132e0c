"""Loads, stores and assertions whose mask is known, and selects that a load can do itself."""

from __future__ import annotations

from collections.abc import Sequence

from tri_core.dialects.tt import LoadOp, SplatOp
from tri_core.dialects.tt.accesses import reads_again
from tri_core.ir.views import cast, defining_op
from tri_core.mlir import ir
from tri_core.passes.rewriting import constant, make
from tri_core.passes.rules.table import COMBINE, TABLE
from tri_core.passes.rules.uniform import uniform_attr

__all__: list[str] = []

_Values = Sequence[ir.Value] | None


@TABLE.rule("tt.load")
def _load_with_known_mask(op: ir.Operation) -> _Values:
    mask = _known(op, 1)
    if mask is None or reads_again(op):
        return None
    if mask:
        return [_load(op, op, [cast(op, LoadOp).ptr])]
    # where nothing is read and nothing is said, anything may be: without `other` the load stays
    other = cast(op, LoadOp).other
    return None if other is None else [other]


@TABLE.rule("tt.store")
def _store_with_known_mask(op: ir.Operation) -> _Values:
    mask = _known(op, 2)
    if mask is None:
        return None
    if mask:
        pointer, value, _ = op.operands
        attributes = {**_attributes(op), "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 1, 0])}
        ir.Operation.create(
            "tt.store",
            operands=[pointer, value],
            attributes=attributes,
            loc=op.location,
            ip=ir.InsertionPoint(op),
        )
    return []


@TABLE.rule("tt.assert")
def _assert_of_true(op: ir.Operation) -> _Values:
    return [] if _known(op, 0) else None


@COMBINE.rule("arith.select", fed_by=["tt.load"])
def _select_of_load(op: ir.Operation) -> _Values:
    """``select(m, load(p, m), x)`` is ``load(p, m, x)``, where ``x`` is there when the load is.

    A scalar condition chooses the whole tensor: it is the mask when that is its splat.
    """
    mask, loaded, other = op.operands
    load = defining_op(loaded, LoadOp)
    if load is None or reads_again(load.operation) or len(list(loaded.uses)) != 1:
        return None
    if load.mask is None or not _same_mask(load.mask, mask):
        return None
    if uniform_attr(other) is not None:
        value = _again(other, load.operation)
    elif _is_before(other, load.operation):
        value = other
    else:
        return None
    return [_load(op, load.operation, [load.ptr, load.mask, value])]


def _again(value: ir.Value, at: ir.Operation) -> ir.Value:
    """A constant ``value`` before ``at``: its own definition, or the scalar that it is a splat of, may stand behind it."""
    attribute = uniform_attr(value)
    if attribute is None:
        raise ValueError("not constant")
    if isinstance(value.type, ir.RankedTensorType):
        return constant(at, ir.DenseElementsAttr.get_splat(value.type, attribute))
    return constant(at, attribute)


def _same_mask(of_load: ir.Value, of_select: ir.Value) -> bool:
    if of_load == of_select:
        return True
    splat = defining_op(of_load, SplatOp)
    return splat is not None and splat.src == of_select


def _load(op: ir.Operation, load: ir.Operation, operands: list[ir.Value]) -> ir.Value:
    """A load like ``load``, in its place, for ``op``."""
    given = [int(i < len(operands)) for i in range(3)]
    attributes = {**_attributes(load), "operandSegmentSizes": ir.DenseI32ArrayAttr.get(given)}
    return make(load, "tt.load", op.result.type, operands, attributes)


def _is_before(value: ir.Value, op: ir.Operation) -> bool:
    """True if ``value`` is known to be defined before ``op``: in the same block, or as an argument of it."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return owner == op.block
    return owner.operation.block == op.block and owner.operation.is_before_in_block(op)


def _known(op: ir.Operation, index: int) -> bool | None:
    """The value of operand ``index``, an i1, if it is there, known and the same everywhere."""
    if len(op.operands) <= index:
        return None
    attribute = uniform_attr(op.operands[index])
    return None if attribute is None else bool(ir.IntegerAttr(attribute).value)


def _attributes(op: ir.Operation) -> dict[str, ir.Attribute]:
    return {name: op.attributes[name] for name in op.attributes}
