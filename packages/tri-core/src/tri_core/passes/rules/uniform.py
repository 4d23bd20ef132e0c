"""Tensors with one value in every place: a ``tt.splat``, or a dense constant that is a splat."""

from __future__ import annotations

from collections.abc import Sequence

from tri_core.mlir import ir
from tri_core.passes.rewriting import constant, make, producer

__all__ = ["is_uniform", "scalar", "uniform_attr", "uniform_tensor", "with_shape"]


def with_shape(type_: ir.Type, shape: Sequence[int]) -> ir.RankedTensorType:
    """A tensor type like ``type_`` with ``shape``."""
    return ir.RankedTensorType.get(list(shape), ir.RankedTensorType(type_).element_type)


def uniform_attr(value: ir.Value) -> ir.TypedAttr | None:
    """The scalar constant that ``value`` (scalar or tensor) holds everywhere, if it is known."""
    op = producer(value)
    if op is not None and op.name == "tt.splat":
        op = producer(op.operands[0])
    if op is None or op.name != "arith.constant":
        return None
    attribute = op.attributes["value"]
    if isinstance(attribute, ir.DenseElementsAttr):
        return attribute.get_splat_value() if attribute.is_splat else None
    return attribute


def is_uniform(value: ir.Value) -> bool:
    """Whether ``value`` is a tensor that is the same everywhere."""
    op = producer(value)
    if op is None:
        return False
    if op.name == "tt.splat":
        return True
    return isinstance(value.type, ir.RankedTensorType) and uniform_attr(value) is not None


def scalar(value: ir.Value, at: ir.Operation) -> ir.Value:
    """The scalar in every place of a uniform ``value``; a constant is made before ``at``."""
    op = producer(value)
    if op is not None and op.name == "tt.splat":
        return op.operands[0]
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
