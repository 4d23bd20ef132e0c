"""Block pointers: a place in a tensor in memory, moved by ``advance``, read and written in blocks.

Triton dropped them in 3.9.  Here they are values of the front end alone: accesses become pointers and masks
where they stand, computed in 64 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from tri.language import types as t
from tri.language.accesses import check_pointer
from tri.language.arithmetic import BINARY, compare
from tri.language.builtin import builtin
from tri.language.casts import convert
from tri.language.constexpr import constexpr, unwrap
from tri.language.creation import arange, fill
from tri.language.descriptors import scalar_integer, sequence
from tri.language.shapes import check_shape, expand_axis, splat_to, stretch
from tri.language.structure import Structure
from tri.language.tensor import dimensions, tensor
from tri_core.errors import CompilationError

if TYPE_CHECKING:
    from tri.compiler.builder import Builder

__all__ = ["advance", "block_pointer", "make_block_ptr"]


class block_pointer(Structure):
    """A block of ``block_shape`` at ``offsets`` in a tensor: made by :func:`make_block_ptr`."""

    #: as :func:`tri.language.store`, which :mod:`tri.language.memory` puts here
    store: ClassVar[Callable[..., None]]

    def __init__(
        self,
        base: tensor,
        shape: Sequence[tensor],
        strides: Sequence[tensor],
        offsets: Sequence[tensor],
        block_shape: constexpr,
        order: constexpr,
    ) -> None:
        self.base = base
        self.shape, self.strides, self.offsets = tuple(shape), tuple(strides), tuple(offsets)
        self.block_shape, self.order = block_shape, order

    @property
    def type(self) -> t.pointer_type:
        """A pointer to blocks."""
        assert isinstance(self.base.type, t.pointer_type)
        return t.pointer_type(t.block_type(self.base.type.element_ty, self.block_shape.value))

    @property
    def dtype(self) -> t.pointer_type:
        """As :attr:`type`; its ``element_ty`` is a block's."""
        return self.type

    def structure_parts(self) -> tuple[Any, ...]:
        """The run-time parts, then what is known now."""
        return (self.base, self.shape, self.strides, self.offsets, self.block_shape, self.order)

    def structure_with(self, parts: Iterable[Any]) -> Self:
        """Another pointer to such blocks."""
        return type(self)(*parts)

    def structure_names(self) -> tuple[str, ...]:
        """Names for messages."""
        return ("base", "shape", "strides", "offsets", "block_shape", "order")

    def __repr__(self) -> str:
        return repr(self.type)

    @builtin
    def advance(self, offsets: Any, *, _semantic: Builder) -> block_pointer:
        """The block pointer moved by ``offsets``."""
        return _advance(_semantic, self, offsets)


@builtin
def make_block_ptr(
    base: Any,
    shape: Any,
    strides: Any,
    offsets: Any,
    block_shape: Any,
    order: Any,
    *,
    _semantic: Builder,
) -> block_pointer:
    """A pointer to the block at ``offsets`` in the tensor at ``base`` of ``shape`` and ``strides`` (in elements).

    These three are lists of integers, one per dimension, taken as int64; ``block_shape`` is constexpr; ``order``, the dimensions
    from the one that varies fastest, changes nothing.  CompilationError for a block of pointers and for lists of other lengths.
    """
    b = _semantic
    place = base
    if not isinstance(base, tensor) or not isinstance(base.type, t.pointer_type):
        check_pointer(b, base, "make_block_ptr")
        raise CompilationError(f"make_block_ptr needs one pointer, got {base.type}")
    block = check_shape(b, tuple(sequence(block_shape, "block_shape")))
    rank = len(block)
    lists = [
        [scalar_integer(b, x, t.int64, f"{name}[{i}]") for i, x in enumerate(sequence(given, name, rank))]
        for name, given in (("shape", shape), ("strides", strides), ("offsets", offsets))
    ]
    dims = unwrap(sequence(order, "order", rank))
    if sorted(dims) != list(range(rank)):
        raise CompilationError(f"order is {dims}; the dimensions 0 to {rank - 1} in some order are needed")
    sizes, steps, starts = lists
    return block_pointer(place, sizes, steps, starts, constexpr(block), constexpr(tuple(dims)))


@builtin
def advance(base: Any, offsets: Any, *, _semantic: Builder) -> block_pointer:
    """The block pointer ``base`` moved by ``offsets`` (integers, in elements), one per dimension.

    CompilationError for another pointer or another number of offsets.
    """
    if not isinstance(base, block_pointer):
        got = base.type if isinstance(base, tensor) else repr(base)
        raise CompilationError(
            f"advance moves a block pointer, got {got}", remedy="add offsets to other pointers, e.g. ptr + 16"
        )
    return _advance(_semantic, base, offsets)


def _advance(b: Builder, pointer: block_pointer, offsets: Any) -> block_pointer:
    given = sequence(offsets, "offsets", len(pointer.offsets))
    steps = [scalar_integer(b, x, t.int64, f"offset {i}") for i, x in enumerate(given)]
    moved = [_int("arith.addi", b, x, step) for x, step in zip(pointer.offsets, steps, strict=True)]
    base, shape, strides, _, block, order = pointer.structure_parts()
    return block_pointer(base, shape, strides, moved, block, order)


def _int(name: str, b: Builder, x: tensor, y: tensor) -> tensor:
    return b.value(name, x.type, x, y)


# --- accesses -------------------------------------------------------------------------------------------


def places(b: Builder, pointer: block_pointer, boundary_check: Any) -> tuple[tensor, tensor | None]:
    """The pointers to a block's elements, and the mask of those inside of the tensor along ``boundary_check``."""
    block: tuple[int, ...] = pointer.block_shape.value
    checked = _checked(boundary_check, len(block))
    base: tensor = pointer.base
    distance: tensor | None = None
    mask: tensor | None = None
    for dim, (size, stride, offset) in enumerate(zip(block, pointer.strides, pointer.offsets, strict=True)):
        base = BINARY["+"](b, base, _start(b, offset, stride, dim if size == 1 else None))
        along = _along(b, size, dim, len(block))
        steps = stretch(b, _int("arith.muli", b, along, splat_to(b, stride, dimensions(along))), block)
        distance = steps if distance is None else _int("arith.addi", b, distance, steps)
        if dim in checked:
            inside = stretch(b, _inside(b, along, offset, pointer.shape[dim]), block)
            mask = inside if mask is None else _int("arith.andi", b, mask, inside)
    assert distance is not None
    return BINARY["+"](b, splat_to(b, base, block), distance), mask


def _start(b: Builder, offset: tensor, stride: tensor, one: int | None) -> tensor:
    """The block's offset along a dimension, in elements; ``one``: the dimension, where the block has one index there."""
    from tri_core.ir.markers import ONE_INDEX  # a module of MLIR's, which the interpreter does without

    attributes = {} if one is None else {ONE_INDEX: b.i32(one)}
    return b.value("arith.muli", offset.type, offset, stride, attributes=attributes)


def _checked(boundary_check: Any, rank: int) -> frozenset[int]:
    dims = boundary_check if isinstance(boundary_check, (tuple, list)) else [boundary_check]
    for dim in dims:
        if not isinstance(dim, int) or not 0 <= dim < rank:
            raise CompilationError(
                f"boundary_check has {dim!r}; a block of {rank} dimensions has 0 to {rank - 1}"
            )
    return frozenset(dims)


def _along(b: Builder, size: int, dim: int, rank: int) -> tensor:
    """0 to ``size`` as int64 along ``dim``."""
    value = convert(b, arange(0, size, _semantic=b), t.int64)
    for other in range(rank):
        if other != dim:
            value = expand_axis(b, value, other)
    return value


def _inside(b: Builder, along: tensor, offset: tensor, size: tensor) -> tensor:
    """``0 <= offset + along < size``."""
    high = _int("arith.subi", b, size, offset)
    low = _int("arith.subi", b, b.constant(0, t.int64), offset)
    return _int("arith.andi", b, compare(b, ">=", along, low), compare(b, "<", along, high))


_PADDINGS = ("", "zero", "nan")


def padding(b: Builder, pointer: block_pointer, option: str) -> tensor | None:
    """Value of a load outside of the tensor; None if undefined."""
    if option not in _PADDINGS:
        raise CompilationError(f"padding_option is {option!r}", remedy="use 'zero', 'nan' or nothing")
    element = pointer.base.type.scalar.element_ty  # type: ignore[attr-defined]  # a pointer has one
    if option == "":
        return None
    if option == "nan" and not element.is_floating():
        raise CompilationError(f"{element} has no NaN to pad with", remedy="use padding_option='zero'")
    element = t.int8 if element.is_bool() else element
    value = float("nan") if option == "nan" else 0
    return fill(b, pointer.block_shape.value, value, element)
