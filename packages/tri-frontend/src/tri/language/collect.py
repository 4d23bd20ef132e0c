"""Elements by index and by value: gather, histogram."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tri.language import types as t
from tri.language.builtin import builtin, member
from tri.language.casts import convert
from tri.language.shapes import check_shape, normalize_axis
from tri.language.tensor import dimensions, tensor
from tri_core.errors import CompilationError

if TYPE_CHECKING:
    from tri.compiler.builder import Builder

__all__ = ["gather", "histogram"]


@member
@builtin
def gather(src: tensor, index: tensor, axis: int, *, _semantic: Builder) -> tensor:
    """``src[..., index[..., i, ...], ...]`` along ``axis``: a block of the shape of ``index`` and the dtype of ``src``.

    ``index``: integers, of the rank of ``src`` and equal to it in the other dimensions; CompilationError otherwise.  An index
    outside of the dimension is undefined, an error in the interpreter.
    """
    if not isinstance(index, tensor) or not index.dtype.is_int():
        raise CompilationError("gather's index is a block of integers")
    shape, wanted = dimensions(src), dimensions(index)
    if len(shape) != len(wanted) or not shape:
        raise CompilationError(f"gather needs source and index of one rank, got {src.type} and {index.type}")
    place = normalize_axis(axis, len(shape))
    if any(m != n for i, (m, n) in enumerate(zip(shape, wanted, strict=True)) if i != place):
        raise CompilationError(
            f"gather: {src.type} and {index.type} differ in a dimension other than {place}"
        )
    result = t.block_type(src.dtype, wanted)
    return _semantic.value("tt.gather", result, src, index, attributes={"axis": _semantic.i32(place)})


@member
@builtin
def histogram(input: tensor, num_bins: int, mask: Any = None, *, _semantic: Builder) -> tensor:
    """Counts of the values 0 to ``num_bins - 1`` in ``input`` where ``mask`` is true: int32 of shape (num_bins,).

    ``input``: integers of one dimension, ``mask``: of its shape.  Values outside of the bins are not counted.
    CompilationError for floats, other ranks and a mask of another shape.
    """
    b = _semantic
    if len(dimensions(input)) != 1 or not input.dtype.is_int():
        raise CompilationError(f"histogram takes integers of one dimension, got {input.type}")
    shape = check_shape(b, num_bins)
    # in IR, narrow integers have no sign
    arguments = [convert(b, input, t.int32) if input.dtype.primitive_bitwidth < 32 else input]
    if mask is not None:
        if not isinstance(mask, tensor) or dimensions(mask) != dimensions(input):
            raise CompilationError("histogram's mask has the shape of its input")
        arguments.append(convert(b, mask, t.int1))
    attributes = {"operandSegmentSizes": b.segments(1, mask is not None)}
    return b.value("tt.histogram", t.block_type(t.int32, shape), *arguments, attributes=attributes)
