"""Descriptors of tensor memory, and what is done with them: one ``ttng`` op each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from tri.compiler.builder import ir_type
from tri.experimental.gluon.layouts import DistributedLayout, linear_record
from tri.experimental.gluon.memory_descriptors import memory_descriptor
from tri.experimental.gluon.types import distributed_type
from tri.language import builtin, constexpr_function
from tri.language import types as t
from tri.language.casts import convert, value_of
from tri.language.constexpr import unwrap
from tri.language.tensor import dimensions, tensor
from tri_backend_nvidia.language.gluon.blackwell.layouts import TensorMemoryLayout, TensorMemoryScalesLayout
from tri_backend_nvidia.language.gluon.checks import constant, for_target, where
from tri_backend_nvidia.tcgen05.encoding import BLOCK_M, GROUP_WARPS, TensorMemory, TensorMemoryRows
from tri_backend_nvidia.tcgen05.ops import TensorMemorySpaceAttr
from tri_backend_nvidia.tcgen05.place_tensor_memory import columns_of
from tri_backend_nvidia.tcgen05.rules import is_moved_as
from tri_core.errors import CompilationError, Unsupported
from tri_gpu_dialect.base import MemDescType
from tri_gpu_dialect.layouts import WARP, layout_for
from tri_gpu_dialect.types import tensor_type

if TYPE_CHECKING:
    from tri.compiler.builder import Builder
    from tri.experimental.gluon.builder import GluonBuilder
    from tri_core.mlir import ir

__all__ = ["allocate_tensor_memory", "tensor_memory_descriptor", "tensor_memory_descriptor_type"]

Shape = tuple[int, ...]
#: columns of a CTA's tensor memory
_COLUMNS = 512
_VARIANT = "32x32b"


class tensor_memory_descriptor_type(t.foreign_type):
    """A descriptor of a tensor in tensor memory; a dimension before rows and columns counts buffers."""

    element_ty: t.dtype
    shape: Shape
    layout: TensorMemoryLayout | TensorMemoryScalesLayout
    alloc_shape: Shape

    def __new__(
        cls, element_ty: t.dtype, shape: Sequence[int], layout: Any, alloc_shape: Sequence[int] | None = None
    ) -> Self:
        """The one type with these properties; CompilationError for a layout that is none of tensor memory, or does not fit."""
        element_ty, layout = unwrap(element_ty), unwrap(layout)
        shape = tuple(unwrap(n) for n in unwrap(shape))
        whole = shape if alloc_shape is None else tuple(unwrap(n) for n in unwrap(alloc_shape))
        if not isinstance(layout, (TensorMemoryLayout, TensorMemoryScalesLayout)):
            raise CompilationError(
                f"a buffer of tensor memory has a layout of tensor memory, not {layout!r}",
                remedy="e.g. TensorMemoryLayout((128, 64), col_stride=1)",
            )
        key = (cls, element_ty, shape, layout, whole)
        found = cls._interned.get(key)
        if found is None:
            _check(element_ty, shape, layout)
            found = cls._interned[key] = object.__new__(cls)
            found.element_ty, found.shape, found.layout, found.alloc_shape = element_ty, shape, layout, whole
            found.name = f"tensor_memory_descriptor<{element_ty}, {list(shape)}, {layout}>"
            found.primitive_bitwidth = found.itemsize = 0
        return found  # type: ignore[return-value]

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by name, so that types stay interned."""
        return type(self), (self.element_ty, self.shape, self.layout, self.alloc_shape)

    def make_ir_type(self) -> ir.Type:
        """``!ttg.memdesc`` in ``#ttng.tensor_memory``."""
        encoding = self.layout.encoding_of(self.element_ty.primitive_bitwidth, self.shape[-2:])
        space = TensorMemorySpaceAttr.get()
        return MemDescType.of(
            self.shape, ir_type(self.element_ty), encoding.to_attr(), mutable=True, memory_space=space
        )

    def mangle(self) -> str:
        """The type inside the name of a specialised function."""
        return f"TMD{self.element_ty.mangle()}S{'_'.join(map(str, self.shape))}L{self.layout.mangle()}"

    def __repr__(self) -> str:
        return self.name

    @constexpr_function
    def get_reg_layout(self, num_warps: Any = None, instr_variant: Any = _VARIANT) -> DistributedLayout:
        """The layout of the tensor in the registers of ``num_warps`` warps as ``tcgen05.ld`` gives it: a thread has part of a row.

        Of scales each of four warps has all.
        """
        if instr_variant != _VARIANT:
            raise Unsupported(f"instr_variant {instr_variant!r}", remedy=f'use "{_VARIANT}"')
        if not isinstance(num_warps, int) or num_warps < GROUP_WARPS or num_warps & (num_warps - 1):
            raise CompilationError(
                f"num_warps is {num_warps!r}: {GROUP_WARPS} warps reach all lanes of tensor memory",
                remedy="use 4, 8 or 16 warps",
            )
        if len(self.shape) != 2:
            raise CompilationError(f"{self!r} is not in registers as a whole", remedy="index it")
        if isinstance(self.layout, TensorMemoryScalesLayout):
            return linear_record(self.layout.encoding().registers(self.shape, num_warps))  # type: ignore[return-value]  # of registers
        rows = TensorMemoryRows().spread(self.shape, (GROUP_WARPS, num_warps // GROUP_WARPS))
        return linear_record(layout_for(rows, self.shape))  # type: ignore[return-value]  # of registers


def _check(element_ty: t.dtype, shape: Shape, layout: TensorMemoryLayout | TensorMemoryScalesLayout) -> None:
    """CompilationError for a tensor that ``layout`` has no place for, or that is wider than tensor memory."""
    if not isinstance(element_ty, t.dtype) or element_ty.is_ptr() or element_ty.is_block():
        raise CompilationError(f"{element_ty!r} is not a dtype", remedy="pass one, e.g. gl.float32")
    if len(shape) not in (2, 3) or not all(isinstance(n, int) and n > 0 and not n & (n - 1) for n in shape):
        raise CompilationError(
            f"{list(shape)} is no shape of tensor memory",
            remedy="pass rows and columns, or a count before them, as constexpr powers of two",
        )
    if isinstance(layout, TensorMemoryLayout) and (
        shape[-2] % layout.block[0] or shape[-1] % layout.block[1]
    ):
        raise CompilationError(
            f"{layout} does not fit a buffer of shape {list(shape)}: it is made of blocks of {list(layout.block)}",
            remedy="use a block that divides the shape, of 128 rows",
        )
    try:
        encoding = layout.encoding_of(element_ty.primitive_bitwidth, shape[-2:])
        encoding.linear_layout(shape[-2:])
    except ValueError as error:
        raise CompilationError(
            f"{layout} does not fit a buffer of shape {list(shape)} with elements of {element_ty}: {error}",
            remedy="use elements of 32 bits for accumulators, of 8 or 16 for an operand, of 8 for scales",
        ) from error
    columns = math.prod(shape[:-2]) * encoding.columns(shape[-2:])  # type: ignore[attr-defined]  # one of tensor memory
    if columns > _COLUMNS:
        raise CompilationError(
            f"a buffer of shape {list(shape)} in {layout} takes {columns} columns; tensor memory has {_COLUMNS}",
            remedy="use fewer or smaller blocks: 128 rows of 32-bit elements take a column for each of theirs",
        )


class tensor_memory_descriptor(memory_descriptor):
    """A tensor in tensor memory, or a view of a part of one."""

    __slots__ = ()

    @property
    def type(self) -> tensor_memory_descriptor_type:
        """Element type, shape and layout."""
        assert isinstance(self.handle.type, tensor_memory_descriptor_type)
        return self.handle.type

    @property
    def layout(self) -> TensorMemoryLayout | TensorMemoryScalesLayout:
        """The layout of the buffer."""
        return self.type.layout

    # --- contents ---------------------------------------------------------------------------------------

    @builtin
    def get_reg_layout(
        self, num_warps: Any = None, instr_variant: str = _VARIANT, *, _semantic: Builder
    ) -> DistributedLayout:
        """The layout of what :meth:`load` gives and :meth:`store` takes, in the registers of ``num_warps`` warps: those that run the call if it is left out."""
        b = for_target(_semantic, "blackwell.tensor_memory_descriptor.get_reg_layout", "tcgen05")
        return _reg_layout(self.type, b.sizes[WARP] if num_warps is None else num_warps, instr_variant)

    @builtin
    def load(self, layout: Any = None, *, _semantic: Builder) -> tensor:
        """The tensor, in ``layout``, or in that of :meth:`get_reg_layout`."""
        b = for_target(_semantic, "blackwell.tensor_memory_descriptor.load", "tcgen05")
        kind = self.type
        if kind.element_ty.primitive_bitwidth != 32:
            scales = isinstance(kind.layout, TensorMemoryScalesLayout)
            raise Unsupported(
                f"a load of {self!r}: its elements share columns",
                remedy="load them from where they came"
                if scales
                else "load elements of 32 bits, and cast them",
            )
        result = distributed_type(
            kind.element_ty, kind.shape, _reg_layout(kind, b.sizes[WARP]) if layout is None else layout
        )
        _check_move(b, kind, result, "load")
        b.create("ttng.tmem_order")
        return b.value("ttng.tmem_load", result, self.handle)

    @builtin
    def store(self, value: Any, pred: Any = True, *, _semantic: Builder) -> None:
        """Write ``value``, a tensor of the descriptor's shape and dtype in a layout of :meth:`get_reg_layout`, where ``pred``."""
        b = for_target(_semantic, "blackwell.tensor_memory_descriptor.store", "tcgen05")
        _stored(b, self, value, pred, "store")

    @builtin
    def load_min(
        self, layout: Any = None, abs: bool = False, propagate_nan: Any = None, *, _semantic: Builder
    ) -> Any:
        """Unsupported: loads that reduce are of sm_103a."""
        raise Unsupported(
            "load_min of tensor memory", remedy="load it, and reduce with gl.min(value, axis=1)"
        )

    @builtin
    def load_max(
        self, layout: Any = None, abs: bool = False, propagate_nan: Any = None, *, _semantic: Builder
    ) -> Any:
        """Unsupported: loads that reduce are of sm_103a."""
        raise Unsupported(
            "load_max of tensor memory", remedy="load it, and reduce with gl.max(value, axis=1)"
        )

    # --- views ------------------------------------------------------------------------------------------

    @builtin
    def index(self, index: Any, *, _semantic: Builder) -> tensor_memory_descriptor:
        """Buffer ``index`` along the first of three dimensions, which the result has not."""
        b = for_target(_semantic, "blackwell.tensor_memory_descriptor.index", "tcgen05")
        kind = self.type
        if len(kind.shape) < 3:
            raise CompilationError(
                f"index of {self!r} of rank 2", remedy="slice its columns, or allocate [count, rows, columns]"
            )
        if isinstance(index, int) and not 0 <= index < kind.shape[0]:
            raise CompilationError(
                f"index {index} is out of range: {self!r} counts {kind.shape[0]}",
                remedy=f"use 0 to {kind.shape[0] - 1}",
            )
        type_ = tensor_memory_descriptor_type(kind.element_ty, kind.shape[1:], kind.layout)
        place = convert(b, value_of(b, index), t.int32)
        return _moved(b, self, type_, place, columns_of(type_.make_ir_type()))

    @builtin
    def slice(self, start: int, length: int, dim: int = 1, *, _semantic: Builder) -> tensor_memory_descriptor:
        """``length`` columns (``dim`` 1) from column ``start`` on, or as many buffers of those along dimension 0 of three; all constexpr."""
        b = for_target(_semantic, "blackwell.tensor_memory_descriptor.slice", "tcgen05")
        kind = self.type
        start, length = constant(start, "start"), constant(length, "length", least=1)
        if not isinstance(dim, int) or not 0 <= dim < len(kind.shape):
            raise CompilationError(f"dimension {dim!r} of {self!r}", remedy=f"use 0 to {len(kind.shape) - 1}")
        if start % length or start + length > kind.shape[dim]:
            raise CompilationError(
                f"slice({start}, {length}, dim={dim}) is not an aligned part of the {kind.shape[dim]} of dimension {dim}",
                remedy=f"start is a multiple of length, and start + length at most {kind.shape[dim]}",
            )
        shape = tuple(length if d == dim else n for d, n in enumerate(kind.shape))
        layout, first = _part(kind, start, length, dim)
        type_ = tensor_memory_descriptor_type(kind.element_ty, shape, layout, kind.alloc_shape)
        return _moved(b, self, type_, value_of(b, 1), first)

    @builtin
    def reinterpret(
        self, dtype: Any = None, shape: Any = None, layout: Any = None, *, _semantic: Builder
    ) -> tensor_memory_descriptor:
        """The columns from the first on as another tensor, of at most as many; what is left out stays as it is."""
        b = for_target(_semantic, "blackwell.tensor_memory_descriptor.reinterpret", "tcgen05")
        kind = self.type
        type_ = tensor_memory_descriptor_type(
            kind.element_ty if dtype is None else dtype,
            kind.shape if shape is None else tuple(shape),
            kind.layout if layout is None else layout,
        )
        have, need = columns_of(kind.make_ir_type()), columns_of(type_.make_ir_type())
        if need > have:
            raise CompilationError(
                f"{type_!r} takes {need} columns; {self!r} has {have}",
                remedy="reinterpret as a tensor of at most as many columns",
            )
        return _moved(b, self, type_, value_of(b, 0), have)


def _reg_layout(
    kind: tensor_memory_descriptor_type, warps: int, variant: str = _VARIANT
) -> DistributedLayout:
    found: DistributedLayout = unwrap(kind.get_reg_layout(warps, variant))
    return found


def _part(kind: tensor_memory_descriptor_type, start: int, length: int, dim: int) -> tuple[Any, int]:
    """The layout of a part of ``kind``, and the distance of its first column from the buffer's."""
    encoding = kind.layout.encoding_of(kind.element_ty.primitive_bitwidth, kind.shape[-2:])
    if len(kind.shape) == 3:
        if dim == 0:
            return kind.layout, start * columns_of(kind.make_ir_type()) // kind.shape[0]
        raise Unsupported(
            f"a slice of {kind!r} along dimension {dim}", remedy="index it first, and slice the result"
        )
    if not isinstance(encoding, TensorMemory) or not isinstance(kind.layout, TensorMemoryLayout) or dim != 1:
        raise Unsupported(
            f"a slice of {kind!r} along dimension {dim}", remedy="slice the columns of 32-bit elements"
        )
    if kind.shape[0] > BLOCK_M and length % encoding.block_n:
        raise Unsupported(
            f"{length} columns of {kind!r}, whose blocks of {BLOCK_M} rows alternate",
            remedy=f"slice multiples of {encoding.block_n} columns",
        )
    block = (encoding.block_m, min(encoding.block_n, length))
    return TensorMemoryLayout(block, kind.layout.col_stride), start * (kind.shape[0] // BLOCK_M)


def _moved(
    b: GluonBuilder,
    buffer: tensor_memory_descriptor,
    type_: tensor_memory_descriptor_type,
    count: tensor,
    columns: int,
) -> tensor_memory_descriptor:
    """The buffer of ``type_`` that lies ``count`` times ``columns`` columns behind ``buffer``."""
    attributes = {"columns": b.i32(columns)}
    return tensor_memory_descriptor(
        b.value("ttng.tmem_index", type_, buffer.handle, convert(b, count, t.int32), attributes=attributes)
    )


def _check_move(
    b: GluonBuilder, kind: tensor_memory_descriptor_type, type_: distributed_type, name: str
) -> None:
    """CompilationError where instructions do not move a tensor of ``type_`` to or from a buffer of ``kind``."""
    if len(kind.shape) != 2:
        raise CompilationError(f"{name} of {kind!r}", remedy="index it for one buffer")
    encoding = b.encoding(type_.layout, kind.shape)
    if not is_moved_as(tensor_type(kind.shape, ir_type(kind.element_ty), encoding), kind.make_ir_type()):
        raise CompilationError(
            f"{name} of {kind!r} in {type_.layout}: a warp reaches 32 lanes, and a thread has {_own(kind)}",
            remedy="use the descriptor's get_reg_layout(), and gl.convert_layout",
        )


def _own(kind: tensor_memory_descriptor_type) -> str:
    scales = isinstance(kind.layout, TensorMemoryScalesLayout)
    return "the scales of rows 32 apart, which each warp of four has" if scales else "its own row"


def _stored(b: GluonBuilder, buffer: tensor_memory_descriptor, value: Any, pred: Any, name: str) -> None:
    kind = buffer.type
    if not isinstance(value, tensor) or dimensions(value) != kind.shape or value.dtype is not kind.element_ty:
        got = value.type if isinstance(value, tensor) else repr(value)
        raise CompilationError(
            f"{name} takes a tensor of shape {list(kind.shape)} with elements of {kind.element_ty}, got {got}",
            remedy="slice the descriptor, or cast the tensor with .to(...)",
        )
    assert isinstance(value.type, distributed_type)
    if value.type.layout.encoding() is None:
        value = b.placed(value, _reg_layout(kind, b.sizes[WARP]))
    _check_move(b, kind, value.type, name)

    def emit() -> None:
        b.create("ttng.tmem_order")
        b.create("ttng.tmem_store", operands=[value, buffer.handle])

    where(b, pred, emit)


@builtin
def allocate_tensor_memory(
    element_ty: t.dtype, shape: Sequence[int], layout: Any, value: Any = None, *, _semantic: Builder
) -> tensor_memory_descriptor:
    """A new buffer of ``shape`` (constexpr: rows and columns, or a count before them), filled with ``value`` if it is given.

    It has its columns for the whole kernel.  CompilationError where ``layout`` does not fit, or 512 columns do not suffice.
    """
    b = for_target(_semantic, "blackwell.allocate_tensor_memory", "tcgen05")
    if b.options.num_ctas > 1:
        raise Unsupported("tensor memory in a cluster", remedy="launch with num_ctas=1")
    sizes = tuple(shape) if isinstance(shape, (list, tuple)) else (shape,)
    buffer = tensor_memory_descriptor(
        b.value("ttng.tmem_reserve", tensor_memory_descriptor_type(element_ty, sizes, layout))
    )
    if value is not None:
        _stored(b, buffer, value, True, "allocate_tensor_memory")
    return buffer
