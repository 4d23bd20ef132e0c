"""Tensor descriptors: tensors in memory that are read and written in blocks, with checked bounds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

from tri.language import types as t
from tri.language.accesses import check_pointer, load_policies, store_policies
from tri.language.arithmetic import BINARY, COMPARISONS, add
from tri.language.builtin import builtin
from tri.language.casts import bitcast, convert, value_of
from tri.language.constexpr import constexpr
from tri.language.selection import where
from tri.language.shapes import check_shape, check_size, reshape_to
from tri.language.structure import Structure
from tri.language.tensor import dimensions, tensor
from tri_core.errors import CompilationError, Unsupported

if TYPE_CHECKING:
    from tri.compiler.builder import Builder

__all__ = [
    "described",
    "descriptor_of",
    "load_tensor_descriptor",
    "make_tensor_descriptor",
    "null_descriptor",
    "scalar_integer",
    "sequence",
    "store_tensor_descriptor",
    "tensor_descriptor",
    "tensor_descriptor_base",
]

_MOST_DIMENSIONS = 5
#: what descriptors are aligned to, in bytes
_ALIGNMENT = 16
_PADDINGS = {"zero": 1, "nan": 2}
_LEAST_ROWS = 8
#: of int32, in which offsets and sizes are counted
_LARGEST = 2**31 - 1
#: operation -> its tt.DescriptorReduceKind and the dtypes that it takes
_INTEGERS = ("uint32", "int32", "uint64", "int64")
_EXTREMA = (*_INTEGERS, "fp16", "bf16")
_REDUCTIONS: dict[str, tuple[int, tuple[str, ...]]] = {
    "add": (1, ("uint32", "int32", "uint64", "fp32", "fp16", "bf16")),
    "min": (2, _EXTREMA),
    "max": (3, _EXTREMA),
    "and": (6, _INTEGERS),
    "or": (7, _INTEGERS),
    "xor": (8, _INTEGERS),
}


class tensor_descriptor_base(Structure):
    """Descriptor in a kernel; made by :func:`make_tensor_descriptor` or passed as an argument."""

    def __init__(self, handle: tensor, shape: Sequence[tensor], strides: Sequence[tensor]) -> None:
        self.handle = handle
        self.shape = tuple(shape)
        self.strides = tuple(strides)

    @property
    def type(self) -> t.tensor_descriptor_type:
        """``tensordesc<...>``."""
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

    # --- accesses -------------------------------------------------------------------------------------

    @builtin
    def load(
        self,
        offsets: Any,
        cache_modifier: str | None = "",
        eviction_policy: str | None = "",
        *,
        modifiers: Any = (),
        _semantic: Builder,
    ) -> tensor:
        """The block that begins at ``offsets`` (int32, in elements); out of bounds is padded."""
        b = _semantic
        loaded = b.value(
            "tt.descriptor_load",
            self.block_type,
            self.handle,
            *_offsets(b, self, offsets),
            attributes=load_policies(b, cache_modifier, eviction_policy, modifiers),
        )
        return self._read(b, loaded)

    @builtin
    def store(
        self,
        offsets: Any,
        value: Any,
        cache_modifier: str | None = "",
        eviction_policy: str | None = "",
        *,
        modifiers: Any = (),
        _semantic: Builder,
    ) -> None:
        """Write ``value``, converted to the elements' type, to the block at ``offsets``; out of bounds is dropped."""
        b = _semantic
        indices = _offsets(b, self, offsets)
        block = convert(b, _block(b, self, value, "store"), self.dtype)
        policies = store_policies(b, cache_modifier, eviction_policy, modifiers)
        b.create("tt.descriptor_store", operands=[self.handle, block, *indices], attributes=policies)

    @builtin
    def gather(
        self,
        x_offsets: Any,
        y_offset: Any,
        cache_modifier: str | None = "",
        eviction_policy: str | None = "",
        *,
        _semantic: Builder,
    ) -> tensor:
        """Rows ``x_offsets`` (a block of int16 or int32) from column ``y_offset`` on, as a block."""
        b = _semantic
        if cache_modifier or eviction_policy:
            raise Unsupported("cache hints of a gather through a descriptor", remedy="leave them out")
        rows, column = _rows(b, self, x_offsets, y_offset, "gather")
        shape = check_size(b, (dimensions(rows)[0], self.block_type.shape[1]))
        type_ = t.block_type(self.dtype, shape)
        return self._read(b, b.value("tt.descriptor_gather", type_, self.handle, rows, column))

    def _read(self, b: Builder, block: tensor) -> tensor:
        """Value in the kernel of a ``block`` that was read."""
        del b
        return block

    @builtin
    def scatter(self, value: Any, x_offsets: Any, y_offset: Any, *, _semantic: Builder) -> None:
        """Write the rows of ``value`` to rows ``x_offsets`` from column ``y_offset`` on."""
        b = _semantic
        rows, column = _rows(b, self, x_offsets, y_offset, "scatter")
        wanted = (dimensions(rows)[0], self.block_type.shape[1])
        if not isinstance(value, tensor) or dimensions(value) != wanted:
            raise _wrong_block("scatter", wanted, value)
        value = convert(b, value, self.dtype)
        b.create("tt.descriptor_scatter", operands=[self.handle, rows, column, value])

    @builtin
    def atomic_add(self, offsets: Any, value: Any, *, _semantic: Builder) -> None:
        """Add ``value`` to the block at ``offsets``, each element atomically."""
        _reduce(_semantic, "add", self, offsets, value)

    @builtin
    def atomic_min(self, offsets: Any, value: Any, *, _semantic: Builder) -> None:
        """The minimum of memory and ``value``, each element atomically; fp16 and bf16 too."""
        _reduce(_semantic, "min", self, offsets, value)

    @builtin
    def atomic_max(self, offsets: Any, value: Any, *, _semantic: Builder) -> None:
        """The maximum of memory and ``value``, each element atomically; fp16 and bf16 too."""
        _reduce(_semantic, "max", self, offsets, value)

    @builtin
    def atomic_and(self, offsets: Any, value: Any, *, _semantic: Builder) -> None:
        """The bitwise and of memory and ``value``, each element atomically."""
        _reduce(_semantic, "and", self, offsets, value)

    @builtin
    def atomic_or(self, offsets: Any, value: Any, *, _semantic: Builder) -> None:
        """The bitwise or of memory and ``value``, each element atomically."""
        _reduce(_semantic, "or", self, offsets, value)

    @builtin
    def atomic_xor(self, offsets: Any, value: Any, *, _semantic: Builder) -> None:
        """The bitwise exclusive or of memory and ``value``, each element atomically."""
        _reduce(_semantic, "xor", self, offsets, value)


class tensor_descriptor(tensor_descriptor_base):
    """A descriptor of a tensor in global memory: ``shape`` (int32), ``strides`` (int64), ``block_shape``, ``dtype``."""


class rounding_descriptor(tensor_descriptor):
    """A descriptor of float32 whose blocks a kernel reads rounded to TF32: to nearest, ties to even; Inf and NaN stay as they are."""

    def _read(self, b: Builder, block: tensor) -> tensor:
        bits = bitcast(b, block, t.uint32)
        # the last of the 10 bits that are kept decides a tie; a carry goes into the exponent
        kept = BINARY["&"](b, BINARY[">>"](b, bits, 13), 1)
        bias = add(kept, 0xFFF, sanitize_overflow=False, _semantic=b)
        rounded = BINARY["&"](b, add(bits, bias, sanitize_overflow=False, _semantic=b), 0xFFFFE000)
        special = COMPARISONS["=="](b, BINARY["&"](b, bits, 0x7F800000), 0x7F800000)
        return bitcast(b, where(special, bits, rounded, _semantic=b), t.float32)


# --- what accesses take ---------------------------------------------------------------------------------


def scalar_integer(b: Builder, value: Any, dtype: t.dtype, what: str) -> tensor:
    """``value`` as a scalar of ``dtype`` (int32 or int64); a wider one is refused."""
    x = value_of(b, value)
    if isinstance(value, (int, constexpr)) and not isinstance(value, bool) and x.dtype.is_int():
        return b.constant(int(getattr(value, "value", value)), dtype)
    if set(dimensions(x)) - {1} or not x.dtype.is_int() or x.dtype.is_bool():
        raise CompilationError(f"{what} is {x.type}; a scalar integer is needed")
    if x.dtype.int_bitwidth > dtype.int_bitwidth:
        raise CompilationError(
            f"{what} is {x.dtype}; {dtype} is needed",
            remedy=f"convert it with .to(tl.{dtype.codegen_name()})",
        )
    return convert(b, reshape_to(b, x, ()) if dimensions(x) else x, dtype)


def sequence(value: Any, what: str, count: int | None = None) -> list[Any]:
    """``value`` as a list, of ``count`` items if that is given."""
    if not isinstance(value, (tuple, list)):
        value = [value]
    if count is not None and len(value) != count:
        raise CompilationError(f"{what} has {len(value)} items; {count} are needed, one per dimension")
    return list(value)


def _offsets(b: Builder, desc: tensor_descriptor_base, offsets: Any) -> list[tensor]:
    given = sequence(offsets, "offsets", len(desc.block_type.shape))
    return [scalar_integer(b, x, t.int32, f"offset {i}") for i, x in enumerate(given)]


def _block(b: Builder, desc: tensor_descriptor_base, value: Any, verb: str) -> tensor:
    if not isinstance(value, tensor) or dimensions(value) != desc.block_type.shape:
        raise _wrong_block(verb, desc.block_type.shape, value)
    return value


def _wrong_block(verb: str, wanted: Sequence[int], value: Any) -> CompilationError:
    got = value.type if isinstance(value, tensor) else repr(value)
    return CompilationError(
        f"{verb} through a descriptor takes a block of shape {list(wanted)}, got {got}",
        remedy="make it with tl.full, tl.broadcast_to or tl.reshape",
    )


def _reduce(b: Builder, name: str, desc: tensor_descriptor_base, offsets: Any, value: Any) -> None:
    kind, dtypes = _REDUCTIONS[name]
    if desc.dtype.name not in dtypes:
        raise Unsupported(
            f"atomic_{name} through a descriptor of {desc.dtype}", remedy=f"it works on {', '.join(dtypes)}"
        )
    indices = _offsets(b, desc, offsets)
    block = convert(b, _block(b, desc, value, f"atomic_{name}"), desc.dtype)
    attributes = {"kind": b.i32(kind)}
    b.create("tt.descriptor_reduce", operands=[desc.handle, block, *indices], attributes=attributes)


def _rows(
    b: Builder, desc: tensor_descriptor_base, x_offsets: Any, y_offset: Any, verb: str
) -> tuple[tensor, tensor]:
    """The rows and the column of a gather or scatter."""
    shape = desc.block_type.shape
    if len(shape) != 2 or shape[0] != 1:
        raise CompilationError(
            f"{verb} needs a descriptor of blocks of one row, got {list(shape)}",
            remedy=f"make it with block_shape=[1, {shape[-1]}]",
        )
    if (
        not isinstance(x_offsets, tensor)
        or len(dimensions(x_offsets)) != 1
        or x_offsets.dtype not in (t.int16, t.int32)
    ):
        got = x_offsets.type if isinstance(x_offsets, tensor) else repr(x_offsets)
        raise CompilationError(
            f"{verb} takes x_offsets as a one-dimensional block of int16 or int32, got {got}"
        )
    if dimensions(x_offsets)[0] < _LEAST_ROWS:
        raise CompilationError(
            f"{verb} takes {_LEAST_ROWS} rows or more, got {dimensions(x_offsets)[0]}",
            remedy="repeat a row, or use tl.load and tl.store",
        )
    least = 32 // desc.dtype.primitive_bitwidth * 8
    if shape[1] < least:
        raise CompilationError(f"{verb} of {desc.dtype} needs rows of {least} or more, got {shape[1]}")
    return x_offsets, scalar_integer(b, y_offset, t.int32, "y_offset")


# --- making ---------------------------------------------------------------------------------------------


def _make(
    b: Builder,
    base: tensor,
    shape: Sequence[tensor],
    strides: Sequence[tensor],
    type_: t.tensor_descriptor_type,
    padding: str,
) -> tensor:
    attributes = {
        "operandSegmentSizes": b.segments(1, len(shape), len(strides)),
        "padding": b.i32(_PADDINGS[padding]),
    }
    return b.value("tt.make_tensor_descriptor", type_, base, *shape, *strides, attributes=attributes)


def descriptor_of(
    b: Builder,
    base: tensor,
    shape: Sequence[tensor],
    strides: Sequence[tensor],
    block: Sequence[int],
    padding: str,
    rounds: bool = False,
    layout: str = "",
) -> Any:
    """The descriptor of checked parts: ``shape`` is int32, ``strides`` int64; ``rounds``: what is read of float32 is rounded to TF32.

    ``layout``: as in :class:`~tri.language.types.tensor_descriptor_type`.
    """
    scalar = base.type
    assert isinstance(scalar, t.pointer_type)
    type_ = t.tensor_descriptor_type(t.block_type(scalar.element_ty, tuple(block)), layout)
    cls = b.descriptor_class or (rounding_descriptor if rounds else tensor_descriptor)
    return cls(_make(b, base, shape, strides, type_, padding), shape, strides)


def null_descriptor(b: Builder, type_: t.tensor_descriptor_type) -> tensor:
    """A descriptor of nothing, for a path on which it is never read."""
    base = convert(b, b.constant(0, t.int64), t.pointer_type(type_.block_type.element_ty))
    rank = len(type_.block_type.shape)
    return _make(b, base, [b.constant(0, t.int32)] * rank, [b.constant(0, t.int64)] * rank, type_, "zero")


def _size(b: Builder, value: Any, what: str) -> tensor:
    """``value`` as an int32 scalar: of a wider integer the least of it and what an int32 holds."""
    if isinstance(value, (int, constexpr)):
        return scalar_integer(b, min(int(value), _LARGEST), t.int32, what)
    x = value_of(b, value)
    if not x.dtype.is_int() or (x.dtype.is_int_signed() and x.dtype.int_bitwidth <= 32):
        return scalar_integer(b, x, t.int32, what)
    x = scalar_integer(b, x, x.dtype, what)
    least = "arith.minsi" if x.dtype.is_int_signed() else "arith.minui"
    return convert(b, b.value(least, x.type, x, b.constant(_LARGEST, x.dtype)), t.int32)


@builtin
def make_tensor_descriptor(
    base: Any, shape: Any, strides: Any, block_shape: Any, padding_option: str = "zero", *, _semantic: Builder
) -> tensor_descriptor:
    """A descriptor of the tensor at ``base`` (aligned to 16 bytes), of 1 to 5 dimensions.

    ``shape`` and ``strides`` are in elements, the last stride is 1, the others are multiples of 16 bytes; all may be
    int64, and a size above 2**31 - 1, which no offset (int32) reaches, counts as that.
    ``block_shape`` is constexpr, its last dimension 16 bytes or more.  A block that leaves the tensor reads
    zeros there, or NaN with ``padding_option="nan"``, and writes only what is inside.  CompilationError for anything else.
    """
    return described(_semantic, base, shape, strides, block_shape, padding_option)


def described(
    b: Builder, base: Any, shape: Any, strides: Any, block_shape: Any, padding_option: str, layout: str = ""
) -> Any:
    """The descriptor of :func:`make_tensor_descriptor`, in ``layout`` as :func:`descriptor_of` takes it."""
    place = check_pointer(b, base, "make_tensor_descriptor")
    if dimensions(place):
        raise CompilationError(f"make_tensor_descriptor needs one pointer, got {base.type}")
    element = place.type.element_ty  # type: ignore[attr-defined]  # a pointer has one
    block = check_shape(b, tuple(sequence(block_shape, "block_shape")))
    rank = len(block)
    if not 1 <= rank <= _MOST_DIMENSIONS:
        raise CompilationError(f"a descriptor has 1 to {_MOST_DIMENSIONS} dimensions, got {rank}")
    sizes, steps = sequence(shape, "shape", rank), sequence(strides, "strides", rank)
    _check_layout(element, block, steps)
    if padding_option not in _PADDINGS:
        raise CompilationError(f"padding_option is {padding_option!r}", remedy="use 'zero' or 'nan'")
    if padding_option == "nan" and element.is_int():
        raise CompilationError(f"{element} has no NaN to pad with", remedy="use padding_option='zero'")
    return descriptor_of(
        b,
        place,
        [_size(b, x, f"shape[{i}]") for i, x in enumerate(sizes)],
        [scalar_integer(b, x, t.int64, f"strides[{i}]") for i, x in enumerate(steps)],
        block,
        padding_option,
        layout=layout,
    )


def _check_layout(element: t.dtype, block: Sequence[int], strides: Sequence[Any]) -> None:
    if block[-1] * element.itemsize < _ALIGNMENT:
        raise CompilationError(
            f"Descriptor block shape must have at least {_ALIGNMENT} bytes in the last dimension, "
            f"but got {block[-1]} * {element.itemsize} = {block[-1] * element.itemsize} bytes",
            remedy=f"make it {_ALIGNMENT // element.itemsize} or more elements of {element}",
        )
    if not isinstance(strides[-1], int) or strides[-1] != 1:
        shown = "a run-time value" if isinstance(strides[-1], tensor) else repr(strides[-1])
        raise CompilationError(
            f"the last stride of a descriptor is the constexpr 1, got {shown}",
            remedy="write 1, or load through pointers",
        )
    for i, stride in enumerate(strides[:-1]):
        if isinstance(stride, int) and stride * element.itemsize % _ALIGNMENT:
            raise CompilationError(
                f"strides[{i}] is {stride} elements, {stride * element.itemsize} bytes: "
                f"a multiple of {_ALIGNMENT} bytes is needed",
                remedy="pad the rows, or load through pointers",
            )


@builtin
def load_tensor_descriptor(desc: Any, offsets: Any, *, _semantic: Builder) -> tensor:
    """The block of ``desc`` (of its block's shape and dtype) that begins at ``offsets`` (int32, in elements, one per dimension).

    CompilationError for anything but a descriptor, for another number of offsets, and for wider ones.
    """
    return tensor_descriptor_base.load(_descriptor(desc), offsets, _semantic=_semantic)


@builtin
def store_tensor_descriptor(desc: Any, offsets: Any, value: Any, *, _semantic: Builder) -> None:
    """Write ``value``, a block of the shape of those of ``desc`` and converted to its dtype, to the block that begins at ``offsets``.

    Offsets are int32, in elements, one per dimension.  CompilationError for anything but a descriptor and for another shape.
    """
    tensor_descriptor_base.store(_descriptor(desc), offsets, value, _semantic=_semantic)


def _descriptor(desc: Any) -> tensor_descriptor_base:
    if not isinstance(desc, tensor_descriptor_base):
        got = desc.type if isinstance(desc, tensor) else repr(desc)
        raise CompilationError(
            f"a tensor descriptor is needed, got {got}", remedy="make one with tl.make_tensor_descriptor"
        )
    return desc
