"""Descriptors of shared memory, and what is done with them: one ``ttg`` op each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tri.compiler.builder import Builder
from tri.experimental.gluon.builder import GluonBuilder, of_gluon
from tri.experimental.gluon.layouts import DistributedLayout, SharedLayout, layout_of, linear_record
from tri.experimental.gluon.memory_descriptors import memory_descriptor
from tri.experimental.gluon.types import distributed_type, shared_memory_descriptor_type
from tri.language import builtin
from tri.language import types as t
from tri.language.casts import convert, value_of
from tri.language.tensor import dimensions, tensor
from tri_core.errors import CompilationError, Unsupported
from tri_gpu_dialect.layouts import layout_for
from tri_gpu_dialect.layouts.encoding import MALFORMED
from tri_gpu_dialect.plans.views import permuted

__all__ = ["allocate_shared_memory", "shared_memory_descriptor"]

Shape = tuple[int, ...]


class shared_memory_descriptor(memory_descriptor):
    """A tensor in shared memory, or a view of a part of one."""

    __slots__ = ()

    @property
    def type(self) -> shared_memory_descriptor_type:
        """Element type, shape and layout."""
        assert isinstance(self.handle.type, shared_memory_descriptor_type)
        return self.handle.type

    @property
    def numel(self) -> int:
        """The number of elements."""
        return math.prod(self.type.shape)

    @property
    def layout(self) -> SharedLayout:
        """The layout of the buffer."""
        return self.type.layout

    @property
    def nbytes_per_cta(self) -> int:
        """Bytes in the memory of one CTA, without gaps."""
        return self.type.nbytes_per_cta

    # --- contents ---------------------------------------------------------------------------------------

    @builtin
    def load(self, layout: Any, *, _semantic: Builder) -> tensor:
        """The tensor, in ``layout``."""
        b = of_gluon(_semantic, "shared_memory_descriptor.load")
        kind = self.type
        _check_registers(layout, "load")
        b.encoding(layout, kind.shape)
        return b.value("ttg.local_load", distributed_type(kind.element_ty, kind.shape, layout), self.handle)

    @builtin
    def store(self, value: Any, *, _semantic: Builder) -> None:
        """Write ``value``, a tensor of the descriptor's shape and dtype."""
        b = of_gluon(_semantic, "shared_memory_descriptor.store")
        _check_value(self.type, value, "store")
        b.create("ttg.local_store", operands=[value, self.handle])

    @builtin
    def gather(self, indices: Any, axis: int, *, _semantic: Builder) -> tensor:
        """``result[.., i, ..] = self[.., indices[.., i, ..], ..]`` along ``axis``, in the layout of ``indices``."""
        b = of_gluon(_semantic, "shared_memory_descriptor.gather")
        axis = self._axis(indices, axis, "gather")
        type_ = indices.type.with_element_ty(self.dtype)
        return b.value("ttg.local_gather", type_, self.handle, indices, attributes={"axis": b.i32(axis)})

    @builtin
    def scatter(self, values: Any, indices: Any, axis: int, *, _semantic: Builder) -> None:
        """``self[.., indices[.., i, ..], ..] = values[.., i, ..]`` along ``axis``."""
        b = of_gluon(_semantic, "shared_memory_descriptor.scatter")
        axis = self._axis(indices, axis, "scatter")
        if not isinstance(values, tensor) or values.dtype is not self.dtype:
            raise CompilationError(f"scatter takes values of {self.dtype}", remedy="cast them with .to(...)")
        b.create(
            "ttg.local_scatter", operands=[self.handle, values, indices], attributes={"axis": b.i32(axis)}
        )

    def _axis(self, indices: Any, axis: Any, name: str) -> int:
        if (
            not isinstance(indices, tensor)
            or len(dimensions(indices)) != self.rank
            or not indices.dtype.is_int()
        ):
            raise CompilationError(
                f"{name} takes indices of rank {self.rank} with integers, got {indices!r}",
                remedy="expand them to the descriptor's rank",
            )
        if not isinstance(axis, int) or not 0 <= axis < self.rank:
            raise CompilationError(
                f"axis {axis!r} of a descriptor of rank {self.rank}", remedy="count from 0"
            )
        return axis

    # --- views ------------------------------------------------------------------------------------------

    @builtin
    def index(self, index: Any, *, _semantic: Builder) -> shared_memory_descriptor:
        """Part ``index`` along the first dimension, which the result has not."""
        b = of_gluon(_semantic, "shared_memory_descriptor.index")
        kind = self.type
        if len(kind.shape) < 2:
            raise CompilationError(
                f"index of {self} of rank 1", remedy="a descriptor of rank 2 or more has parts"
            )
        if isinstance(index, int) and not 0 <= index < kind.shape[0]:
            raise CompilationError(
                f"index {index} is out of range: {self} has {kind.shape[0]} parts",
                remedy=f"use 0 to {kind.shape[0] - 1}",
            )
        type_ = shared_memory_descriptor_type(
            kind.element_ty, kind.shape[1:], kind.layout, kind.alloc_shape[-len(kind.shape) + 1 :]
        )
        place = convert(b, value_of(b, index), t.int32)
        return shared_memory_descriptor(b.value("ttg.memdesc_index", type_, self.handle, place))

    @builtin
    def slice(self, start: int, length: int, dim: int = 0, *, _semantic: Builder) -> shared_memory_descriptor:
        """The part from ``start`` of ``length`` along ``dim``; all three are constexpr."""
        b = of_gluon(_semantic, "shared_memory_descriptor.slice")
        kind = self.type
        if not all(isinstance(n, int) for n in (start, length, dim)) or not 0 <= dim < len(kind.shape):
            raise CompilationError(
                f"slice({start!r}, {length!r}, dim={dim!r}) of {self}",
                remedy=f"give constexpr ints, and dim 0 to {len(kind.shape) - 1}",
            )
        have = kind.shape[dim]
        if length < 1 or start < 0 or start + length > have or start % length:
            raise CompilationError(
                f"slice({start}, {length}, dim={dim}) is not an aligned part of the {have} of dimension {dim}",
                remedy=f"start is a multiple of length, and start + length at most {have}",
            )
        shape = tuple(length if d == dim else n for d, n in enumerate(kind.shape))
        type_ = shared_memory_descriptor_type(kind.element_ty, shape, kind.layout, kind.alloc_shape)
        offsets = b.i32_array([start if d == dim else 0 for d in range(len(shape))])
        return shared_memory_descriptor(
            b.value("ttg.memdesc_subslice", type_, self.handle, attributes={"offsets": offsets})
        )

    @builtin
    def permute(self, order: Any, *, _semantic: Builder) -> shared_memory_descriptor:
        """The tensor with its dimensions in ``order``; nothing moves."""
        b = of_gluon(_semantic, "shared_memory_descriptor.permute")
        kind = self.type
        order = tuple(order)
        if sorted(order) != list(range(len(kind.shape))):
            raise CompilationError(
                f"{list(order)} is not a permutation of the {len(kind.shape)} dimensions of {self}",
                remedy="name each dimension once",
            )
        shape = tuple(kind.shape[d] for d in order)
        batch = len(kind.alloc_shape) - len(kind.shape)
        whole = (*kind.alloc_shape[:batch], *(kind.alloc_shape[batch + d] for d in order))
        layout = _permuted(kind, order)
        type_ = shared_memory_descriptor_type(kind.element_ty, shape, layout, whole)
        attributes = {"order": b.i32_array(order)}
        return shared_memory_descriptor(
            b.value("ttg.memdesc_trans", type_, self.handle, attributes=attributes)
        )

    @builtin
    def reshape(self, shape: Any, *, _semantic: Builder) -> shared_memory_descriptor:
        """The tensor, row-major, in another ``shape``; nothing moves."""
        b = of_gluon(_semantic, "shared_memory_descriptor.reshape")
        kind, shape = self.type, tuple(shape)
        if math.prod(shape) != math.prod(kind.shape) or kind.shape != kind.alloc_shape:
            raise CompilationError(
                f"{self} cannot be seen in shape {list(shape)}",
                remedy="reshape a whole buffer, to as many elements",
            )
        linear = layout_for(kind.layout.encoding(), kind.shape)
        names = [f"dim{d}" for d in range(len(shape))]
        flat = linear.transpose_outs(linear.out_dims[::-1])
        cut = flat.reshape_outs(dict(zip(names[::-1], shape[::-1], strict=True))).transpose_outs(names)
        type_ = shared_memory_descriptor_type(kind.element_ty, shape, linear_record(cut))
        return shared_memory_descriptor(b.value("ttg.memdesc_reshape", type_, self.handle))

    @builtin
    def reinterpret(
        self, dtype: Any = None, shape: Any = None, layout: Any = None, *, _semantic: Builder
    ) -> shared_memory_descriptor:
        """The bytes as another tensor, of at most as many bytes; what is left out stays as it is."""
        b = of_gluon(_semantic, "shared_memory_descriptor.reinterpret")
        kind = self.type
        type_ = shared_memory_descriptor_type(
            kind.element_ty if dtype is None else dtype,
            kind.shape if shape is None else tuple(shape),
            kind.layout if layout is None else layout,
        )
        _check_buffer(type_)
        if type_.nbytes_per_cta > kind.nbytes_per_cta:
            raise CompilationError(
                f"{type_} has {type_.nbytes_per_cta} bytes; {self} has {kind.nbytes_per_cta}",
                remedy="reinterpret as a tensor of at most as many bytes",
            )
        return shared_memory_descriptor(b.value("ttg.memdesc_reinterpret", type_, self.handle))

    @builtin
    def _keep_alive(self, *, _semantic: Builder) -> None:
        """Keep the buffer's memory to itself up to here."""
        of_gluon(_semantic, "_keep_alive").create("ttg.local_dealloc", operands=[self.handle])


def _permuted(kind: shared_memory_descriptor_type, order: Shape) -> SharedLayout:
    """The layout of ``kind`` seen with its dimensions in ``order``, written out where no other name is left for it."""
    encoding = kind.layout.encoding()
    try:
        found = layout_of(encoding.permuted(order))
    except Unsupported:
        linear = layout_for(encoding, kind.alloc_shape[-len(order) :])
        found = linear_record(permuted(linear, order))
    assert isinstance(found, SharedLayout)
    return found


def _check_registers(layout: Any, name: str) -> None:
    if not isinstance(layout, DistributedLayout) or layout.encoding() is None:
        raise CompilationError(
            f"{name} takes the layout of the tensor in registers, not {layout!r}",
            remedy="e.g. gl.BlockedLayout(...)",
        )


def _check_value(kind: shared_memory_descriptor_type, value: Any, name: str) -> None:
    if not isinstance(value, tensor) or dimensions(value) != kind.shape or value.dtype is not kind.element_ty:
        got = value.type if isinstance(value, tensor) else repr(value)
        raise CompilationError(
            f"{name} takes a tensor of shape {list(kind.shape)} with elements of {kind.element_ty}, got {got}",
            remedy="slice the descriptor, or cast the tensor with .to(...)",
        )


def _check_buffer(kind: shared_memory_descriptor_type) -> None:
    """CompilationError for a layout that has no place for each element."""
    encoding, shape = kind.layout.encoding(), kind.shape
    rank = getattr(kind.layout, "rank", len(shape))
    whole = shape[-rank:] if len(shape) > rank else shape
    try:
        fits = layout_for(encoding, whole).is_surjective
        reason = "it leaves out elements"
    except MALFORMED as error:
        fits, reason = False, str(error)
    if not fits:
        raise CompilationError(
            f"{kind.layout} does not fit a buffer of shape {list(shape)}: {reason}",
            remedy="write a layout of this shape's rank and sizes",
        )


@builtin
def allocate_shared_memory(
    element_ty: t.dtype, shape: Sequence[int], layout: Any, value: Any = None, *, _semantic: Builder
) -> shared_memory_descriptor:
    """A new buffer of ``shape`` (constexpr ints) with elements of ``element_ty``, filled with ``value`` if it is given.

    It lives up to its last use, or to the end of the kernel where a view of it is carried on.
    """
    b: GluonBuilder = of_gluon(_semantic, "allocate_shared_memory")
    if not isinstance(element_ty, t.dtype) or element_ty.is_ptr() or element_ty.is_block():
        raise CompilationError(f"{element_ty!r} is not a dtype", remedy="pass one, e.g. gl.float16")
    sizes = tuple(shape) if isinstance(shape, (list, tuple)) else (shape,)
    if not all(isinstance(n, int) and n > 0 for n in sizes):
        raise CompilationError(f"{shape!r} is no shape", remedy="pass a list of constexpr ints")
    kind = shared_memory_descriptor_type(element_ty, sizes, layout)
    _check_buffer(kind)
    buffer = shared_memory_descriptor(b.value("ttg.local_alloc", kind))
    if value is not None:
        _check_value(kind, value, "allocate_shared_memory")
        b.create("ttg.local_store", operands=[value, buffer.handle])
    return buffer
