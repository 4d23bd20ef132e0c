"""Tensor descriptors whose blocks have a layout in shared memory: passed by the host, or made in the kernel."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from typing import Any, Self

from tri.experimental.gluon.layouts import SharedLayout, layout_of
from tri.language import types as t
from tri.language.constexpr import constexpr
from tri.language.structure import Structure
from tri.language.tensor import tensor
from tri_core.errors import CompilationError
from tri_core.mlir import ir, registry, session
from tri_core.plugins import manager
from tri_gpu_dialect.encodings import decode

__all__ = ["layout_text", "tensor_descriptor"]


@functools.lru_cache(maxsize=256)
def layout_text(layout: SharedLayout) -> str:
    """``layout`` as the IR writes it."""
    manager().register_ir(registry)  # host code asks before anything is compiled
    with session():
        return str(layout.encoding().to_attr())


@functools.lru_cache(maxsize=256)
def _layout(text: str) -> SharedLayout:
    """The layout that the IR writes as ``text``."""
    encoding = decode(ir.Attribute.parse(text))
    found = layout_of(encoding)
    assert isinstance(found, SharedLayout)
    return found


class tensor_descriptor(Structure):
    """A tensor in global memory, which asynchronous copies read and write in blocks; ``shape`` is int32, ``strides`` int64."""

    def __init__(self, handle: tensor, shape: Sequence[tensor], strides: Sequence[tensor]) -> None:
        self.handle = handle
        self.shape = tuple(shape)
        self.strides = tuple(strides)
        if not self.type.layout:
            raise CompilationError(
                f"{self.type} says no layout of its blocks in shared memory",
                remedy="make the descriptor with one: the vendor's TensorDescriptor, on the host or in the kernel",
            )

    @property
    def type(self) -> t.tensor_descriptor_type:
        """The type of blocks, and their layout."""
        assert isinstance(self.handle.type, t.tensor_descriptor_type)
        return self.handle.type

    @property
    def block_type(self) -> t.block_type:
        """The type of a block."""
        return self.type.block_type

    @property
    def block_shape(self) -> tuple[constexpr, ...]:
        """The dimensions of a block."""
        return tuple(map(constexpr, self.block_type.shape))

    @property
    def dtype(self) -> t.dtype:
        """The type of the elements."""
        return self.block_type.element_ty

    @property
    def layout(self) -> SharedLayout:
        """The layout of a block in shared memory."""
        return _layout(self.type.layout)

    @property
    def nbytes_per_cta(self) -> int:
        """Bytes of a block that come to one CTA."""
        share = self.layout.encoding().share(self.block_type.shape)
        return math.prod(share) * self.dtype.itemsize

    def structure_parts(self) -> tuple[Any, ...]:
        """The descriptor, its shape and strides."""
        return (self.handle, self.shape, self.strides)

    def structure_with(self, parts: Iterable[Any]) -> Self:
        """Another descriptor of such blocks."""
        return type(self)(*parts)

    def structure_names(self) -> tuple[str, ...]:
        """Names for messages."""
        return ("descriptor", "shape", "strides")

    def __repr__(self) -> str:
        return repr(self.type)
