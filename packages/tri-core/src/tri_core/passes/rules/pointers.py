"""Pointer arithmetic and casts."""

from __future__ import annotations

from collections.abc import Sequence

from tri_core.dialects.tt import AddPtrOp, BitcastOp, IntToPtrOp, PtrToIntOp
from tri_core.ir.traits import source_of
from tri_core.ir.views import cast, defining_op
from tri_core.mlir import ir
from tri_core.passes.rewriting import constant, make
from tri_core.passes.rules.table import COMBINE, TABLE
from tri_core.passes.rules.uniform import uniform_attr

__all__: list[str] = []

_Values = Sequence[ir.Value] | None


@TABLE.rule("tt.addptr")
def _no_offset(op: ir.Operation) -> _Values:
    offset = _constant_offset(op)
    return [cast(op, AddPtrOp).ptr] if offset == 0 else None


@COMBINE.rule("tt.addptr", fed_by=["tt.addptr"])
def _constant_offsets(op: ir.Operation) -> _Values:
    """``p + a + b`` with constants is ``p + (a + b)``, if that does not overflow: offsets extend by their sign."""
    inner = defining_op(cast(op, AddPtrOp).ptr, AddPtrOp)
    if inner is None or inner.offset.type != cast(op, AddPtrOp).offset.type:
        return None
    first, second = _constant_offset(inner.operation), _constant_offset(op)
    if first is None or second is None:
        return None
    type_ = inner.offset.type
    element = type_.element_type if isinstance(type_, ir.RankedTensorType) else type_
    width = ir.IntegerType(element).width
    if not -(1 << (width - 1)) <= first + second < 1 << (width - 1):
        return None
    attribute: ir.TypedAttr = ir.IntegerAttr.get(element, first + second)
    if isinstance(type_, ir.RankedTensorType):
        attribute = ir.DenseElementsAttr.get_splat(type_, attribute)
    return [make(op, "tt.addptr", op.result.type, [inner.ptr, constant(op, attribute)])]


@TABLE.rule("tt.bitcast")
def _bitcast_of_bitcast(op: ir.Operation) -> _Values:
    inner = defining_op(source_of(op), BitcastOp)
    return None if inner is None else [make(op, "tt.bitcast", op.result.type, [inner.src])]


@TABLE.rule("tt.ptr_to_int")
def _ptr_to_int_of_int_to_ptr(op: ir.Operation) -> _Values:
    inner = defining_op(source_of(op), IntToPtrOp)
    return None if inner is None else [inner.src]


@TABLE.rule("tt.int_to_ptr")
def _int_to_ptr_of_ptr_to_int(op: ir.Operation) -> _Values:
    inner = defining_op(source_of(op), PtrToIntOp)
    if inner is None:
        return None
    source = inner.src
    return [source if source.type == op.result.type else make(op, "tt.bitcast", op.result.type, [source])]


def _constant_offset(op: ir.Operation) -> int | None:
    attribute = uniform_attr(cast(op, AddPtrOp).offset)
    return None if attribute is None else ir.IntegerAttr(attribute).value
