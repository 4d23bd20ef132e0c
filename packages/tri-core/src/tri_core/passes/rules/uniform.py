"""Tensors with one value in every place: a ``tt.splat``, or a dense constant that is a splat."""

from __future__ import annotations

from collections.abc import Sequence

from tri_core.dialects.tt import SplatOp
from tri_core.ir.traits import source_of
from tri_core.ir.views import defining_op, isa
from tri_core.mlir import arith, ir
from tri_core.passes.rewriting import constant, make

__all__ = ["is_uniform", "scalar", "uniform_attr", "uniform_tensor", "with_shape"]


def with_shape(type_: ir.Type, shape: Sequence[int]) -> ir.RankedTensorType:
    """A tensor type like ``type_`` with ``shape``."""
    return ir.RankedTensorType.get(list(shape), ir.RankedTensorType(type_).element_type)


def uniform_attr(value: ir.Value) -> ir.TypedAttr | None:
    """The scalar constant that ``value`` (scalar or tensor) holds everywhere, if it is known."""
    op = defining_op(value)
    if op is not None and isa(op, SplatOp):
        op = defining_op(source_of(op))
    if op is None or not isa(op, arith.ConstantOp):
        return None
    attribute = op.attributes["value"]
    if isinstance(attribute, ir.DenseElementsAttr):
        return attribute.get_splat_value() if attribute.is_splat else None
    return attribute


def is_uniform(value: ir.Value) -> bool:
    """True if ``value`` is a tensor whose elements are all equal."""
    op = defining_op(value)
    if op is None:
        return False
    if isa(op, SplatOp):
        return True
    return isinstance(value.type, ir.RankedTensorType) and uniform_attr(value) is not None


def scalar(value: ir.Value, at: ir.Operation) -> ir.Value:
    """The scalar in every place of a uniform ``value``; a constant is made before ``at``."""
    splat = defining_op(value, SplatOp)
    if splat is not None:
        return splat.src
    attribute = uniform_attr(value)
    if attribute is None:
        raise ValueError("not uniform")
    return constant(at, attribute)


def uniform_tensor(value: ir.Value, type_: ir.Type, at: ir.Operation) -> ir.Value:
    """The uniform ``value`` in another tensor type (of the same element type), made before ``at``."""
    attribute = uniform_attr(value)
    if attribute is not None:
        return constant(at, ir.DenseElementsAttr.get_splat(type_, attribute))
    return make(at, "tt.splat", type_, [scalar(value, at)])
