"""Types of values that carry a layout: tensors in registers, and descriptors of shared memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

from tri.compiler.builder import ir_type
from tri.experimental.gluon.layouts import AutoLayout, DistributedLayout, SharedLayout
from tri.language import types as t
from tri.language.constexpr import unwrap
from tri_core.errors import CompilationError
from tri_core.mlir import ir
from tri_gpu_dialect.base import AsyncTokenType, MemDescType
from tri_gpu_dialect.types import tensor_type

__all__ = ["async_token", "distributed_type", "layout_in", "shared_memory_descriptor_type"]


class distributed_type(t.block_type):
    """A tensor of ``shape`` with elements of ``element_ty``, placed by ``layout``."""

    layout: DistributedLayout

    def __new__(cls, element_ty: t.dtype, shape: Sequence[int], layout: Any) -> Self:
        """The one type with these properties; CompilationError for a layout of another rank."""
        element_ty, shape, layout = (
            unwrap(element_ty),
            tuple(unwrap(s) for s in unwrap(shape)),
            unwrap(layout),
        )
        if not isinstance(layout, DistributedLayout):
            raise CompilationError(
                f"a tensor's layout is one in registers, not {layout!r}", remedy="e.g. gl.BlockedLayout(...)"
            )
        key = (cls, element_ty, shape, layout)
        found = cls._interned.get(key)
        if found is None:
            if not isinstance(layout, AutoLayout) and layout.encoding() and layout.rank != len(shape):
                raise CompilationError(
                    f"{layout} is of rank {layout.rank}; a tensor of shape {list(shape)} has rank {len(shape)}",
                    remedy="write a layout with one entry for each dimension",
                )
            found = cls._interned[key] = object.__new__(cls)
            found._fill_block(element_ty, shape)
            found.layout = layout
            found.name = f"<[{', '.join(map(str, shape))}], {element_ty}, {layout}>"
        return found  # type: ignore[return-value]

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by name, so that types stay interned."""
        return distributed_type, (self.element_ty, self.shape, self.layout)

    def with_element_ty(self, element_ty: t.dtype) -> t.dtype:
        """The same shape and layout with another element type."""
        return distributed_type(element_ty, self.shape, self.layout)

    def make_ir_type(self) -> ir.Type:
        """The tensor type with the layout's encoding; without one for a layout that is left open."""
        return tensor_type(self.shape, ir_type(self.element_ty), self.layout.encoding())

    def mangle(self) -> str:
        """The type inside the name of a specialised function."""
        return f"{super().mangle()}L{self.layout.mangle()}L"


def layout_in(type_: t.dtype) -> DistributedLayout | None:
    """The layout of a tensor's type; None for a scalar, or a layout that is left open."""
    if isinstance(type_, distributed_type) and not isinstance(type_.layout, AutoLayout):
        return type_.layout
    return None


class shared_memory_descriptor_type(t.foreign_type):
    """A descriptor of a tensor in shared memory: a part of a buffer of ``alloc_shape``."""

    element_ty: t.dtype
    shape: tuple[int, ...]
    layout: SharedLayout
    alloc_shape: tuple[int, ...]

    def __new__(
        cls, element_ty: t.dtype, shape: Sequence[int], layout: Any, alloc_shape: Sequence[int] | None = None
    ) -> Self:
        """The one type with these properties; CompilationError for a layout that is none of shared memory."""
        element_ty, shape, layout = (
            unwrap(element_ty),
            tuple(unwrap(s) for s in unwrap(shape)),
            unwrap(layout),
        )
        whole = shape if alloc_shape is None else tuple(unwrap(s) for s in unwrap(alloc_shape))
        if not isinstance(layout, SharedLayout):
            raise CompilationError(
                f"a buffer's layout is one of shared memory, not {layout!r}",
                remedy="e.g. gl.SwizzledSharedLayout(1, 1, 1, order=[1, 0])",
            )
        key = (cls, element_ty, shape, layout, whole)
        found = cls._interned.get(key)
        if found is None:
            found = cls._interned[key] = object.__new__(cls)
            found.element_ty, found.shape, found.layout, found.alloc_shape = element_ty, shape, layout, whole
            found.name = f"shared_memory_descriptor<{element_ty}, {list(shape)}, {layout}, {list(whole)}>"
            found.primitive_bitwidth = found.itemsize = 0
        return found  # type: ignore[return-value]

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by name, so that types stay interned."""
        return type(self), (self.element_ty, self.shape, self.layout, self.alloc_shape)

    @property
    def nbytes_per_cta(self) -> int:
        """Bytes of what one CTA of the cluster has in its memory, without gaps."""
        share = self.layout.encoding().share(self.shape)
        return math.prod(share) * self.element_ty.primitive_bitwidth // 8

    def make_ir_type(self) -> ir.Type:
        """``!ttg.memdesc``, which may be written."""
        return MemDescType.of(
            self.shape,
            ir_type(self.element_ty),
            self.layout.encoding().to_attr(),
            mutable=True,
            alloc_shape=self.alloc_shape,
        )

    def mangle(self) -> str:
        """The type inside the name of a specialised function."""
        return f"MD{self.element_ty.mangle()}S{'_'.join(map(str, self.shape))}L{self.layout.mangle()}"

    def __repr__(self) -> str:
        return self.name


class async_token(t.foreign_type):
    """The result of an operation that starts, groups or waits for copies: nothing that a kernel computes with."""

    def __new__(cls) -> Self:
        """The one type."""
        found = cls._interned.get((cls,))
        if found is None:
            found = cls._interned[cls,] = object.__new__(cls)
            found.name, found.primitive_bitwidth, found.itemsize = "async_token", 0, 0
        return found  # type: ignore[return-value]

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by name, so that types stay interned."""
        return async_token, ()

    def make_ir_type(self) -> ir.Type:
        """``!ttg.async.token``."""
        return AsyncTokenType.get()
