"""Values from nothing: program ids, ranges, constants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tri.language import types as t
from tri.language.builtin import builtin
from tri.language.casts import convert, is_plain, value_of
from tri.language.promotion import scalar_dtype
from tri.language.shapes import CONSTEXPR_REMEDY, check_shape, splat_to
from tri.language.tensor import dimensions, tensor
from tri_core.errors import CompilationError

if TYPE_CHECKING:
    from tri.compiler.builder import Builder

__all__ = ["arange", "fill", "full", "num_programs", "program_id"]


def _axis(axis: Any, function: str) -> int:
    if not isinstance(axis, int) or axis not in (0, 1, 2):
        raise CompilationError(
            f"{function} axis must be 0, 1, or 2 but got {axis!r}", remedy="a grid has the axes 0, 1 and 2"
        )
    return int(axis)


@builtin
def program_id(axis: int, *, _semantic: Builder) -> tensor:
    """The index of this program along ``axis`` (0, 1 or 2) of the grid: an int32; CompilationError for another axis."""
    return _semantic.value(
        "tt.get_program_id", t.int32, attributes={"axis": _semantic.i32(_axis(axis, "program_id"))}
    )


@builtin
def num_programs(axis: int, *, _semantic: Builder) -> tensor:
    """The number of programs along ``axis`` (0, 1 or 2) of the grid: an int32; CompilationError for another axis."""
    return _semantic.value(
        "tt.get_num_programs", t.int32, attributes={"axis": _semantic.i32(_axis(axis, "num_programs"))}
    )


@builtin
def arange(start: int, end: int, *, _semantic: Builder) -> tensor:
    """The values ``start`` to ``end - 1``: an int32 block of shape (end - start,), which is a power of two where the target asks so.

    Both are constexpr ints; CompilationError for run-time values, an empty range and one that int32 does not hold.
    """
    bounds: tuple[tuple[str, Any], ...] = (("start", start), ("end", end))
    for name, bound in bounds:
        if not isinstance(bound, int) or isinstance(bound, bool):
            kind = "a run-time value" if isinstance(bound, tensor) else repr(bound)
            raise CompilationError(
                f"arange's {name} is {kind}; a constexpr int is needed",
                remedy=f"{CONSTEXPR_REMEDY}, and mask what is too much",
            )
    if end <= start:
        raise CompilationError(
            f"arange({start}, {end}) is empty: arange's end argument must be greater than the start argument"
        )
    if not (start >= -(1 << 31) and end <= 1 << 31):
        raise CompilationError(f"arange({start}, {end}): arange must fit in int32")
    length = end - start
    if _semantic.target.spec.require_power_of_two and length & (length - 1):
        raise CompilationError(
            "arange's range must be a power of 2",
            remedy=f"arange({start}, {end}) has {length} elements: use "
            f"tl.arange({start}, {start + (1 << length.bit_length())}) and a mask",
        )
    shape = check_shape(_semantic, (length,))
    attributes = {"start": _semantic.i32(start), "end": _semantic.i32(end)}
    return _semantic.value("tt.make_range", t.block_type(t.int32, shape), attributes=attributes)


def fill(b: Builder, shape: tuple[int, ...], value: Any, dtype: t.dtype | None) -> tensor:
    """``value`` in every place of a block of ``shape``, as ``dtype`` (None: its own)."""
    if is_plain(value):
        dtype = dtype or scalar_dtype(value)
        type_ = t.block_type(dtype, shape) if shape else dtype
        if dtype.is_ptr():
            return convert(b, b.constant(int(value), type_.with_element_ty(t.int64)), dtype)
        return b.constant(value, type_)
    scalar = value_of(b, value)
    if dimensions(scalar):
        raise CompilationError(f"full takes a scalar value, got {scalar.type}", remedy="use tl.broadcast_to")
    return splat_to(b, convert(b, scalar, dtype) if dtype else scalar, shape)


def _check_dtype(dtype: Any, value: Any) -> None:
    if dtype is not None and not isinstance(dtype, t.dtype):
        raise CompilationError(f"{dtype!r} is not a dtype", remedy="pass one, e.g. tl.float32")
    if dtype is None and is_plain(value):
        raise CompilationError(
            "dtype must be specified when value is not a tensor", remedy="pass one, e.g. tl.float32"
        )


@builtin
def full(shape: Any, value: Any, dtype: t.dtype, *, _semantic: Builder) -> tensor:
    """A block of ``shape`` (constexpr ints; empty: a scalar) with the scalar ``value`` everywhere, converted to ``dtype``.

    CompilationError for a block as ``value``, for no dtype, and for a dimension that is no power of two where the target asks so.
    """
    _check_dtype(dtype, value)
    return fill(_semantic, check_shape(_semantic, shape) if shape else (), value, dtype)
