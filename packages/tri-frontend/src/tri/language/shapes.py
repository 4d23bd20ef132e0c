"""Shapes: splat, broadcast, reshape, permute, expand, join, split, indexing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tri.language import types as t
from tri.language.builtin import builtin, member
from tri.language.casts import convert, value_of
from tri.language.promotion import arithmetic_type
from tri.language.tensor import dimensions, tensor
from tri_core.errors import CompilationError

if TYPE_CHECKING:
    from tri.compiler.builder import Builder

#: what to do about a run-time value where a constexpr is needed
CONSTEXPR_REMEDY = (
    "make it a constexpr: annotate the parameter, or the assignment (x: tl.constexpr = ...;"
    " before x, y = ... a line x: tl.constexpr)"
)

__all__ = [
    "CONSTEXPR_REMEDY",
    "broadcast",
    "broadcast_pair",
    "broadcast_to",
    "cat",
    "check_shape",
    "check_size",
    "expand_axis",
    "expand_dims",
    "getitem",
    "item",
    "join",
    "normalize_axis",
    "permute",
    "reshape",
    "reshape_to",
    "splat_to",
    "split",
    "trans",
    "view",
]


def check_shape(b: Builder, shape: Any) -> tuple[int, ...]:
    """``shape`` as ints that the target accepts: powers of two where it asks so, within its element limit."""
    if isinstance(shape, int):
        shape = (shape,)
    if not isinstance(shape, (list, tuple)):
        raise CompilationError(f"a shape is a list of constexpr ints, not {shape!r}")
    for place in range(len(shape)):
        _check_dimension(b, place, shape)
    return check_size(b, tuple(shape))


def check_size(b: Builder, shape: tuple[int, ...]) -> tuple[int, ...]:
    """``shape`` itself, of ints; CompilationError, a ValueError its cause, for more elements than the target allows."""
    numel, limit = math.prod(shape), b.target.spec.max_tensor_numel
    if numel > limit:
        text = f"numel ({numel}) exceeds triton maximum tensor numel ({limit})"
        raise CompilationError(
            f"{text}: a block of shape {_show(shape)} for {b.target}", remedy="use smaller blocks"
        ) from ValueError(text)
    return shape


def _check_dimension(b: Builder, place: int, shape: Sequence[object]) -> None:
    dim = shape[place]
    if isinstance(dim, tensor):
        raise CompilationError(
            f"a dimension of {_show(shape)} is a run-time value; a constexpr is needed",
            remedy=CONSTEXPR_REMEDY,
        )
    if not isinstance(dim, int) or isinstance(dim, bool):
        raise CompilationError(f"dimension {dim!r} of shape {_show(shape)} is not an int")
    if dim < 1 or (b.target.spec.require_power_of_two and dim & (dim - 1)):
        near = 1 << max(dim - 1, 0).bit_length()
        raise CompilationError(
            f"Shape element {place} must be a power of 2",
            remedy=f"use {near} for {dim} in {_show(shape)}, and mask what is too much",
        )


def _show(shape: Sequence[object]) -> str:
    return f"[{', '.join('?' if isinstance(d, tensor) else str(d) for d in shape)}]"


def splat_to(b: Builder, x: tensor, shape: tuple[int, ...]) -> tensor:
    """Scalar ``x`` in every place of a block of ``shape``; itself for an empty shape."""
    return b.value("tt.splat", t.block_type(x.type, shape), x) if shape else x


def stretch(b: Builder, x: tensor, shape: tuple[int, ...]) -> tensor:
    """``x`` broadcast to ``shape``: dimensions of 1 stretched, missing leading ones added."""
    source = dimensions(x)
    if source == shape:
        return x
    if not source:
        return splat_to(b, x, shape)
    if len(source) > len(shape):
        raise _mismatch(source, shape)
    while len(dimensions(x)) < len(shape):
        x = expand_axis(b, x, 0)
    if any(have not in (want, 1) for have, want in zip(dimensions(x), shape, strict=True)):
        raise _mismatch(source, shape)
    if dimensions(x) == shape:
        return x
    return b.value("tt.broadcast", t.block_type(x.type.scalar, check_size(b, shape)), x)


def _mismatch(x: Sequence[int], y: Sequence[int]) -> CompilationError:
    return CompilationError(
        f"shapes {_show(x)} and {_show(y)} do not broadcast: dimensions must be equal or 1",
        remedy="add a dimension with x[:, None], or reshape",
    )


def common_shape(x: tuple[int, ...], y: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that both broadcast to."""
    if x == y or not y:
        return x
    if not x:
        return y
    rank = max(len(x), len(y))
    padded = ((1,) * (rank - len(s)) + s for s in (x, y))
    shape = []
    for i, j in zip(*padded, strict=True):
        if i != j and 1 not in (i, j):
            raise _mismatch(x, y)
        shape.append(max(i, j))
    return tuple(shape)


def broadcast_pair(b: Builder, x: tensor, y: tensor) -> tuple[tensor, tensor]:
    """Both values in their common shape."""
    if x.type is y.type:
        return x, y
    shape = common_shape(dimensions(x), dimensions(y))
    return stretch(b, x, shape), stretch(b, y, shape)


def normalize_axis(axis: Any, rank: int) -> int:
    """``axis`` counted from 0; negative ones count from the end."""
    if not isinstance(axis, int):
        raise CompilationError(f"axis is {axis!r}; a constexpr int is needed")
    if not -rank <= axis < rank:
        raise CompilationError(
            f"invalid axis {axis} for a value of rank {rank}", remedy=f"use {-rank} to {rank - 1}"
        )
    return axis % rank


def expand_axis(b: Builder, x: tensor, axis: int) -> tensor:
    """A new dimension of size 1 at ``axis``, counted in the result."""
    shape = list(dimensions(x))
    if not shape:
        return splat_to(b, x, (1,))
    shape.insert(axis, 1)
    result = t.block_type(x.type.scalar, shape)
    return b.value("tt.expand_dims", result, x, attributes={"axis": b.i32(axis)})


def reshape_to(b: Builder, x: tensor, shape: tuple[int, ...], *, reorder: bool = False) -> tensor:
    """``x`` in another shape of as many elements."""
    numel = math.prod(dimensions(x))
    if math.prod(shape) != numel:
        raise CompilationError(
            f"cannot reshape {_show(dimensions(x))} ({numel} elements) to {_show(shape)} ({math.prod(shape)})"
        )
    if dimensions(x) == shape and not reorder:
        return x
    if not dimensions(x):
        return splat_to(b, x, shape)
    if not shape:
        return b.value("tt.unsplat", x.type.scalar, x)
    attributes = {"allow_reorder": b.unit()} if reorder else None
    return b.value("tt.reshape", t.block_type(x.type.scalar, shape), x, attributes=attributes)


def _shape_arguments(values: Sequence[Any]) -> Any:
    """``f(x, 4, 8)`` and ``f(x, (4, 8))`` mean the same."""
    if len(values) == 1 and isinstance(values[0], (tuple, list)):
        return values[0]
    return values


@builtin
def broadcast(input: tensor, other: tensor, *, _semantic: Builder) -> tuple[tensor, tensor]:
    """Both values in their common shape, each of its own dtype; CompilationError for shapes that do not broadcast."""
    return broadcast_pair(_semantic, value_of(_semantic, input), value_of(_semantic, other))


@member
@builtin
def broadcast_to(input: Any, *shape: Any, _semantic: Builder) -> tensor:
    """``input`` stretched to ``shape`` (constexpr ints, as one tuple or one by one), of its dtype.

    Dimensions of size 1 are stretched, missing leading ones added; CompilationError where another size differs.
    """
    b = _semantic
    return stretch(b, value_of(b, input), check_shape(b, _shape_arguments(shape)))


@member
@builtin
def reshape(input: tensor, *shape: Any, can_reorder: bool = False, _semantic: Builder) -> tensor:
    """``input`` in another ``shape`` (constexpr ints), row-major, of its dtype; with ``can_reorder`` its elements in any order.

    CompilationError for another number of elements.
    """
    wanted = _shape_arguments(shape)
    checked = check_shape(_semantic, wanted) if wanted else ()
    return reshape_to(_semantic, value_of(_semantic, input), checked, reorder=can_reorder)


@member
@builtin
def view(input: tensor, *shape: Any, _semantic: Builder) -> tensor:
    """``input`` in another ``shape`` (constexpr ints), of its dtype, elements in any order; CompilationError for another number of elements."""
    checked = check_shape(_semantic, _shape_arguments(shape))
    return reshape_to(_semantic, value_of(_semantic, input), checked, reorder=True)


def permute_to(b: Builder, x: tensor, order: Sequence[int]) -> tensor:
    """Dimension i of the result is dimension ``order[i]`` of ``x``."""
    shape = dimensions(x)
    if sorted(order) != list(range(len(shape))):
        raise CompilationError(
            f"{list(order)} is not a permutation of the {len(shape)} dimensions of {_show(shape)}"
        )
    result = t.block_type(x.type.scalar, [shape[i] for i in order])
    return b.value("tt.trans", result, x, attributes={"order": b.i32_array(order)})


@member
@builtin
def permute(input: tensor, *dims: Any, _semantic: Builder) -> tensor:
    """The dimensions of ``input`` in the order ``dims`` (constexpr ints, negative ones from the end), of its dtype.

    CompilationError for dimensions that are no permutation.
    """
    rank = len(dimensions(input))
    order = [normalize_axis(d, rank) for d in _shape_arguments(dims)]
    return permute_to(_semantic, input, order)


@member
@builtin
def trans(input: tensor, *dims: Any, _semantic: Builder) -> tensor:
    """The last two dimensions of ``input`` exchanged, or its dimensions in the order ``dims`` (constexpr ints), of its dtype.

    CompilationError for fewer than two dimensions, and for ``dims`` that are no permutation.
    """
    rank = len(dimensions(input))
    if rank < 2 and not dims:
        raise CompilationError(f"trans needs at least two dimensions, got {input.type}")
    given = _shape_arguments(dims) or (*range(rank - 2), -1, -2)
    return permute_to(_semantic, input, [normalize_axis(d, rank) for d in given])


@member
@builtin
def expand_dims(input: Any, axis: Any, *, _semantic: Builder) -> tensor:
    """New dimensions of size 1 at ``axis`` (a constexpr int or several, counted in the result), of the dtype of ``input``.

    CompilationError for an axis that is outside of the result's rank or given twice.
    """
    x = value_of(_semantic, input)
    axes = list(axis) if isinstance(axis, (tuple, list)) else [axis]
    rank = len(dimensions(x)) + len(axes)
    places = sorted(normalize_axis(a, rank) for a in axes)
    if len(set(places)) != len(places):
        raise CompilationError(f"expand_dims received duplicate axes, normalized axes = {places}")
    for place in places:
        x = expand_axis(_semantic, x, place)
    return x


@builtin
def cat(
    input: tensor, other: tensor, can_reorder: bool = False, dim: int = 0, *, _semantic: Builder
) -> tensor:
    """Two blocks of one type one after the other along ``dim``, whose size doubles; with ``can_reorder`` (rank 1) in any order.

    CompilationError for different shapes or dtypes.
    """
    b = _semantic
    if input.type is not other.type:
        raise CompilationError(f"cat needs two values of one type, got {input.type} and {other.type}")
    shape = dimensions(input)
    axis = normalize_axis(dim, len(shape))
    if can_reorder:
        if len(shape) != 1:
            raise CompilationError(f"cat with can_reorder needs one dimension, got {input.type}")
        result = t.block_type(input.type.scalar, check_size(b, (2 * shape[0],)))
        return b.value("tt.cat", result, input, other)
    # joined along a new last dimension, which then moves in front of `dim` and melts into it
    joined = join_pair(b, input, other)
    rank = len(shape)
    moved = permute_to(b, joined, [*range(axis), rank, *range(axis, rank)])
    return reshape_to(b, moved, (*shape[:axis], 2 * shape[axis], *shape[axis + 1 :]))


def join_pair(b: Builder, x: tensor, y: tensor) -> tensor:
    """Both values along a new last dimension of size 2."""
    x, y = broadcast_pair(b, x, y)
    scalar = not dimensions(x)
    if scalar:
        x, y = splat_to(b, x, (1,)), splat_to(b, y, (1,))
    if x.type is not y.type:
        common = arithmetic_type(x.dtype, y.dtype)
        x, y = convert(b, x, common), convert(b, y, common)
    joined = b.value("tt.join", t.block_type(x.dtype, check_size(b, (*dimensions(x), 2))), x, y)
    return reshape_to(b, joined, (2,)) if scalar else joined


@builtin
def join(a: Any, b: Any, *, _semantic: Builder) -> tensor:
    """``a`` and ``b`` along a new last dimension of size 2: promoted to one dtype, broadcast to one shape; of scalars a block of 2.

    CompilationError for shapes that do not broadcast.
    """
    return join_pair(_semantic, value_of(_semantic, a), value_of(_semantic, b))


@member
@builtin
def split(a: tensor, *, _semantic: Builder) -> tuple[tensor, tensor]:
    """The two halves along the last dimension, whose size is 2: blocks without it (scalars, of rank 1), of the dtype of ``a``.

    CompilationError for another size.
    """
    shape = dimensions(a)
    if not shape or shape[-1] != 2:
        raise CompilationError(f"split needs a last dimension of size 2, got {a.type}")
    if len(shape) == 1:
        low, high = split_pair(_semantic, reshape_to(_semantic, a, (1, 2)))
        return reshape_to(_semantic, low, ()), reshape_to(_semantic, high, ())
    return split_pair(_semantic, a)


def split_pair(b: Builder, x: tensor) -> tuple[tensor, tensor]:
    """The halves of ``x``, whose rank is at least two."""
    half = t.block_type(x.dtype, dimensions(x)[:-1])
    low, high = b.several("tt.split", [half, half], [x])
    return low, high


@member
@builtin
def item(input: tensor, *, _semantic: Builder) -> tensor:
    """The one element of a block, as a scalar."""
    return reshape_to(_semantic, input, ())


def getitem(b: Builder, x: tensor, index: Any) -> tensor:
    """``x[:, None]``: a ``None`` adds a dimension of size 1, a ``:`` keeps one; of a scalar, which has none, it keeps nothing.

    Raises CompilationError for anything else: a block has no elements to pick at run time.
    """
    entries = index if isinstance(index, tuple) else (index,)
    if not dimensions(x):
        entries = tuple(entry for entry in entries if not _is_whole(entry))
    for axis, entry in enumerate(entries):
        if entry is None:
            x = expand_axis(b, x, axis) if dimensions(x) else splat_to(b, x, (1,))
        elif not _is_whole(entry):
            raise _not_an_index(x, entry)
        elif axis >= len(dimensions(x)):
            raise CompilationError(f"too many indices for a value of shape {_show(dimensions(x))}")
    return x


def _is_whole(entry: object) -> bool:
    """True for ``:``; told by identity, since ``==`` of a run-time value is an operation of the kernel."""
    return isinstance(entry, slice) and entry.start is None and entry.stop is None and entry.step is None


def _not_an_index(x: tensor, entry: object) -> CompilationError:
    if x.dtype.is_ptr():
        return CompilationError(
            f"unsupported tensor index: {x.type} has no items, the memory that it points to is loaded",
            remedy="tl.load(pointer + offsets) reads it, tl.store(pointer + offsets, value) writes it",
        )
    return CompilationError(
        f"unsupported tensor index: a block is indexed with None and : only, not {_describe_index(entry)}",
        remedy="reshape, tl.split, tl.gather or a masked tl.sum picks elements",
    )


def _describe_index(entry: object) -> str:
    if isinstance(entry, slice):
        bounds = (
            "" if part is None else _describe_index(part) for part in (entry.start, entry.stop, entry.step)
        )
        return ":".join(bounds)
    return "a run-time value" if isinstance(entry, tensor) else repr(entry)


def _subscript(self: tensor, index: Any, *, _semantic: Builder) -> tensor:
    return getitem(_semantic, self, index)


def _transposed(self: tensor) -> Any:
    return trans(self)


# the code generator has rules of its own for these; interpreted kernels use them as Python does
for _name, _function in {"__getitem__": builtin(_subscript), "T": property(_transposed)}.items():
    setattr(tensor, _name, _function)
