"""Reductions and scans with a user's combine function."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tri.language import types as t
from tri.language.builtin import builtin, member
from tri.language.casts import value_of
from tri.language.shapes import expand_axis, normalize_axis, reshape_to, splat_to, stretch
from tri.language.tensor import dimensions, tensor
from tri_core.errors import CompilationError

if TYPE_CHECKING:
    from tri.compiler.builder import Builder
    from tri_core.mlir import ir

__all__ = ["associative_scan", "reduce"]


def _inputs(b: Builder, input: Any) -> tuple[list[tensor], bool]:
    """The values to combine, all of one shape, and whether they came as a tuple."""
    several = isinstance(input, tuple)
    values = [value_of(b, v) for v in (input if several else (input,))]
    if len({dimensions(v) for v in values}) != 1:
        shapes = ", ".join(str(v.type) for v in values)
        raise CompilationError(f"the inputs differ in shape: {shapes}", remedy="broadcast them to one shape")
    return values, several


def combine_regions(
    b: Builder,
    name: str,
    types: Sequence[t.dtype],
    values: Sequence[tensor],
    combine_fn: Any,
    attributes: dict[str, ir.Attribute],
) -> list[tensor]:
    """The results of ``name`` (``tt.reduce``, ``tt.scan``), whose region is the combine function."""
    elements = [v.dtype for v in values]

    def body(arguments: Sequence[tensor]) -> tuple[tensor, ...]:
        result = b.expand(combine_fn, arguments)
        results = result if isinstance(result, tuple) else (result,)
        results = tuple(value_of(b, r) for r in results)
        if [r.type for r in results] != elements:
            got = ", ".join(str(r.type) for r in results)
            raise CompilationError(
                f"the combine function gives ({got}) for elements ({', '.join(map(str, elements))})",
                remedy="it must return as many values as it combines, of the same types",
            )
        return results

    return b.region(name, types, values, attributes, [*elements, *elements], body, f"{name}_return")


def _reduce(b: Builder, values: list[tensor], axis: int, combine_fn: Any) -> list[tensor]:
    shape = [d for i, d in enumerate(dimensions(values[0])) if i != axis]
    types = [t.block_type(v.dtype, shape) if shape else v.dtype for v in values]
    return combine_regions(b, "tt.reduce", types, values, combine_fn, {"axis": b.i32(axis)})


@member
@builtin
def reduce(
    input: Any, axis: int | None, combine_fn: Any, keep_dims: bool = False, *, _semantic: Builder
) -> tensor | tuple[tensor, ...]:
    """``input`` (a block, or a tuple of blocks of one shape) combined along ``axis``, or wholly when it is None.

    ``combine_fn`` is a jit function of (accumulators..., elements...), scalars of the blocks' dtypes, that must be associative.
    The result, a tuple for a tuple, has the same dtypes, without the dimension or, with ``keep_dims``, of size 1 there.
    CompilationError for scalars, different shapes, an axis outside of the rank, and a ``combine_fn`` that gives other types.
    """
    b = _semantic
    values, several = _inputs(b, input)
    shape = dimensions(values[0])
    if not shape:
        raise CompilationError(f"cannot reduce a scalar ({values[0].type})", remedy="reduce a block")
    if axis is None:
        flat = [reshape_to(b, v, (math.prod(shape),), reorder=len(shape) > 1) for v in values]
        results = _reduce(b, flat, 0, combine_fn)
        if keep_dims:
            results = [splat_to(b, r, (1,) * len(shape)) for r in results]
    else:
        axis = normalize_axis(axis, len(shape))
        results = _reduce(b, values, axis, combine_fn)
        if keep_dims:
            results = [expand_axis(b, r, axis) for r in results]
    return tuple(results) if several else results[0]


@member
@builtin
def associative_scan(
    input: Any, axis: int, combine_fn: Any, reverse: bool = False, *, _semantic: Builder
) -> tensor | tuple[tensor, ...]:
    """The inclusive scan of ``input`` (a block, or a tuple of blocks of one shape) along ``axis``, from the end when ``reverse``.

    ``combine_fn``: as for :func:`reduce`.  The result, a tuple for a tuple, has the same shape and dtypes.  CompilationError for
    scalars, different shapes, an axis outside of the rank, and a ``combine_fn`` that gives other types.
    """
    b = _semantic
    values, several = _inputs(b, input)
    axis = normalize_axis(axis, len(dimensions(values[0])))
    attributes = {"axis": b.i32(axis), "reverse": b.boolean(bool(reverse))}
    types = [v.type for v in values]
    results = combine_regions(b, "tt.scan", types, values, combine_fn, attributes)
    return tuple(results) if several else results[0]


@builtin
def lane_indices(input: tensor, axis: int | None, *, _semantic: Builder) -> tensor:
    """The int32 index along ``axis`` of every element of ``input`` (of the flattened one for None)."""
    b = _semantic
    shape = dimensions(input)
    size = math.prod(shape) if axis is None else shape[normalize_axis(axis, len(shape))]
    attributes = {"start": b.i32(0), "end": b.i32(size)}
    index = b.value("tt.make_range", t.block_type(t.int32, (size,)), attributes=attributes)
    if axis is None:
        return reshape_to(b, index, shape)
    place = [1] * len(shape)
    place[normalize_axis(axis, len(shape))] = size
    return stretch(b, reshape_to(b, index, tuple(place)), shape)
