"""Decoded types of tensors, cached per type."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tri_core.dialects.tt import PointerType
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.layouts.encoding import Encoding, decode

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["TensorInfo", "bitwidth", "pointee_bytes", "shape_of", "tensor_info", "tensor_type"]

Shape = tuple[int, ...]

#: pointers are 64 bits wide on every target
POINTER_BITS = 64


@dataclass(frozen=True)
class TensorInfo:
    """A tensor type taken apart; ``encoding`` is None before layouts are given."""

    shape: Shape
    element_type: ir.Type
    encoding: Encoding | None

    @property
    def numel(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def bitwidth(self) -> int:
        """Bits of an element."""
        return bitwidth(self.element_type)

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.shape)


_infos: dict[ir.Type, TensorInfo | None] = {}
_widths: dict[ir.Type, int] = {}
_pointees: dict[ir.Type, int] = {}
_types: dict[tuple[Shape, ir.Type, Encoding | None], ir.Type] = {}


def tensor_info(type_: ir.Type) -> TensorInfo | None:
    """``type_`` taken apart (cached); None when it is not a ranked tensor type."""
    if type_ in _infos:
        return _infos[type_]
    info = None
    if isinstance(type_, ir.RankedTensorType):
        attr = type_.encoding
        info = TensorInfo(tuple(type_.shape), type_.element_type, None if attr is None else decode(attr))
    _infos[type_] = info
    return info


def tensor_type(shape: Sequence[int], element_type: ir.Type, encoding: Encoding | None) -> ir.Type:
    """The tensor type (cached)."""
    key = (tuple(shape), element_type, encoding)
    found = _types.get(key)
    if found is None:
        attr = None if encoding is None else encoding.to_attr()
        found = _types[key] = ir.RankedTensorType.get(list(shape), element_type, attr)
    return found


def shape_of(type_: ir.Type) -> Shape:
    """The shape of a tensor type; ``()`` for a scalar."""
    info = tensor_info(type_)
    return info.shape if info is not None else ()


def bitwidth(type_: ir.Type) -> int:
    """Bits of a scalar type: integers, floats, pointers (64), index (64)."""
    found = _widths.get(type_)
    if found is None:
        scalar = type_.maybe_downcast() if not hasattr(type_, "width") else type_
        found = _widths[type_] = int(getattr(scalar, "width", POINTER_BITS))
    return found


def pointee_bytes(type_: ir.Type) -> int:
    """Bytes of what a pointer (or each pointer of a tensor) points at; at least 1."""
    found = _pointees.get(type_)
    if found is None:
        info = tensor_info(type_)
        pointer = info.element_type if info is not None else type_
        width = bitwidth(pointer.pointee_type) if isinstance(pointer, PointerType) else 8
        found = _pointees[type_] = max(width // 8, 1)
    return found
