"""The part of the language that is written in itself."""

# mypy: allow-untyped-defs, no-check-untyped-defs, disable-error-code="assignment"

from __future__ import annotations

from typing import Any

from tri.jit import jit
from tri.language import types as t
from tri.language.builtin import constexpr_function, member
from tri.language.constexpr import constexpr
from tri.language.creation import full
from tri.language.debug import static_assert
from tri.language.loops import static_range
from tri.language.math import exp, fdiv
from tri.language.reductions import associative_scan, lane_indices, reduce
from tri.language.selection import maximum, minimum, where
from tri.language.shapes import expand_dims, join, reshape
from tri.manners import widens_bfloat16

__all__ = [
    "argmax",
    "argmin",
    "cdiv",
    "cumprod",
    "cumsum",
    "flip",
    "interleave",
    "max",
    "min",
    "ravel",
    "reduce_or",
    "sigmoid",
    "softmax",
    "squeeze",
    "sum",
    "swizzle2d",
    "unsqueeze",
    "xor_sum",
    "zeros",
    "zeros_like",
]


# --- dtypes of results ----------------------------------------------------------------------------------


@constexpr_function
def sum_dtype(given: t.dtype | None, element: t.dtype) -> t.dtype:
    """The dtype of a sum or a product: narrow integers widen to 32 bits, and bfloat16 under Triton 3.6's manners."""
    if given is not None:
        return given
    if element.is_bf16() and widens_bfloat16():
        return t.float32
    if element.is_int_signed():
        return t.int32 if element.int_bitwidth < 32 else element
    if element.is_int_unsigned():
        return t.uint32 if element.int_bitwidth < 32 else element
    return element


@constexpr_function
def extremum_dtype(element: t.dtype) -> t.dtype:
    """The dtype that max and min run in: at least 32 bits."""
    if element.primitive_bitwidth >= 32:
        return element
    return t.float32 if element.is_floating() else t.int32


@constexpr_function
def accumulator_dtype(result: t.dtype) -> t.dtype:
    """The dtype that the numbers of a sum or product of dtype ``result`` are combined in: narrow floats as float32."""
    return t.float32 if result.is_floating() and result.primitive_bitwidth < 32 else result


@constexpr_function
def without(shape: Any, dim: int) -> list[int]:
    """``shape`` without dimension ``dim``."""
    sizes = [int(d) for d in shape]
    del sizes[dim]
    return sizes


# --- small functions ------------------------------------------------------------------------------------


@member
@jit
def cdiv(x, div):
    """``x / div``, rounded up, elementwise, of non-negative integers promoted to one dtype; CompilationError for floats."""
    return (x + (div - 1)) // div


@member
@jit
def sigmoid(x):
    """``1 / (1 + exp(-x))``, elementwise, in the shape and dtype of ``x`` (fp32 or fp64); CompilationError for other dtypes."""
    return 1 / (1 + exp(-x))


@member
@jit
def softmax(x, dim=None, *, keep_dims: constexpr = None, ieee_rounding: constexpr = False):
    """The softmax along ``dim`` (the first by default) of floats, in the shape of ``x``: fp32, of fp64 fp64.

    ``ieee_rounding`` rounds its division to nearest even; ``keep_dims`` changes nothing.  CompilationError for integers and for a
    ``dim`` outside of the rank.
    """
    axis: constexpr = 0 if dim is None else dim
    z = x - max(x, axis, keep_dims=True)
    num = exp(z)
    den = sum(num, axis, keep_dims=True)
    return fdiv(num, den, ieee_rounding)


@member
@jit
def ravel(x, can_reorder: constexpr = False):
    """The elements of ``x``, of its dtype, as one dimension: row-major, with ``can_reorder`` in any order.

    CompilationError for a Python number.
    """
    return reshape(x, [x.numel], can_reorder=can_reorder)


@jit
def zeros(shape, dtype):
    """A block of ``shape`` (constexpr ints) and ``dtype`` with 0 everywhere; CompilationError as of :func:`full`."""
    return full(shape, 0, dtype)


@jit
def zeros_like(input):
    """Zeros of the shape and dtype of ``input``; CompilationError for a Python number, which has none."""
    return full(input.shape, 0, input.dtype)


@jit
def squeeze(x, dim: constexpr):
    """``x``, of its dtype, without dimension ``dim`` (constexpr), whose size is 1; CompilationError for another size."""
    return reshape(x, without(x.shape, dim))


@jit
def unsqueeze(x, dim: constexpr):
    """``x``, of its dtype, with a new dimension of size 1 at ``dim`` (constexpr), counted in the result; CompilationError outside of its rank."""
    return expand_dims(x, dim)


@jit
def swizzle2d(i, j, size_i, size_j, size_g):
    """Index (i, j) of a row-major size_i x size_j grid, walked in column-major groups of size_g rows.

    All are integers, scalars or blocks of one shape, and so is the pair that it gives; CompilationError for floats.
    """
    ij = i * size_j + j
    group_size = size_g * size_j
    group = ij // group_size
    first = group * size_g
    size_g = minimum(size_i - first, size_g)
    ij = ij % group_size
    return first + ij % size_g, ij // size_g


# --- reductions -----------------------------------------------------------------------------------------


@constexpr_function
def is_float(value: Any) -> bool:
    """True if ``value`` may be NaN."""
    return value.dtype.is_floating()


@jit
def sum_combine(a, b):
    """Addition."""
    return a + b


@jit
def product_combine(a, b):
    """Multiplication."""
    return a * b


@jit
def xor_combine(a, b):
    """Exclusive or."""
    return a ^ b


@jit
def or_combine(a, b):
    """Inclusive or."""
    return a | b


@jit
def max_combine(a, b):
    """The larger."""
    return maximum(a, b)


@jit
def min_combine(a, b):
    """The smaller."""
    return minimum(a, b)


@jit
def argmax_left(value1, index1, value2, index2):
    """The larger value with its index, a NaN before all numbers; of equal ones the lower index."""
    if is_float(value1):
        tied = (value1 == value2) | ((value1 != value1) & (value2 != value2))
        first = (~(value1 <= value2) & (value2 == value2)) | (tied & (index1 < index2))
    else:
        first = (value1 > value2) | ((value1 == value2) & (index1 < index2))
    return where(first, value1, value2), where(first, index1, index2)


@jit
def argmax_fast(value1, index1, value2, index2):
    """The larger value with its index, a NaN before all numbers; of equal ones any."""
    first = ~(value1 <= value2) & (value2 == value2) if is_float(value1) else value1 > value2
    return where(first, value1, value2), where(first, index1, index2)


@jit
def argmin_left(value1, index1, value2, index2):
    """The smaller value with its index, a NaN before all numbers; of equal ones the lower index."""
    if is_float(value1):
        tied = (value1 == value2) | ((value1 != value1) & (value2 != value2))
        first = (~(value1 >= value2) & (value2 == value2)) | (tied & (index1 < index2))
    else:
        first = (value1 < value2) | ((value1 == value2) & (index1 < index2))
    return where(first, value1, value2), where(first, index1, index2)


@jit
def argmin_fast(value1, index1, value2, index2):
    """The smaller value with its index, a NaN before all numbers; of equal ones any."""
    first = ~(value1 >= value2) & (value2 == value2) if is_float(value1) else value1 < value2
    return where(first, value1, value2), where(first, index1, index2)


@member
@jit
def sum(input, axis=None, keep_dims: constexpr = False, dtype: constexpr = None):
    """The sum along ``axis`` (of all elements by default): without that dimension, with ``keep_dims`` of size 1 there.

    Its dtype is ``dtype``, by default that of ``input``, but 32 bits for narrower integers; narrow floats add up in fp32 and are
    rounded once.  CompilationError for a scalar and for an axis outside of its rank.
    """
    result: constexpr = sum_dtype(dtype, input.dtype)
    wide = input.to(accumulator_dtype(result))
    return reduce(wide, axis, sum_combine, keep_dims=keep_dims).to(result)


@member
@jit
def xor_sum(input, axis=None, keep_dims: constexpr = False):
    """The exclusive or along ``axis`` (of all elements by default) of integers, of their dtype: without that dimension, or of size 1 there.

    ``keep_dims`` keeps the dimension.  CompilationError for floats, a scalar and an axis outside of its rank.
    """
    return reduce(input, axis, xor_combine, keep_dims=keep_dims)


@member
@jit
def reduce_or(input, axis, keep_dims: constexpr = False):
    """The inclusive or along ``axis`` (None: of all elements) of integers, of their dtype: without that dimension, or of size 1 there.

    ``keep_dims`` keeps the dimension.  CompilationError for floats, a scalar and an axis outside of its rank.
    """
    return reduce(input, axis, or_combine, keep_dims=keep_dims)


@member
@jit
def max(
    input,
    axis=None,
    return_indices: constexpr = False,
    return_indices_tie_break_left: constexpr = True,
    keep_dims: constexpr = False,
):
    """The maximum along ``axis`` (of all elements by default): without that dimension, with ``keep_dims`` of size 1 there.

    Narrow dtypes widen to int32 or fp32; a NaN loses to a number.  With ``return_indices`` a pair: the maximum in the dtype of
    ``input``, where a NaN wins, and its int32 index, the lowest of equal ones unless ``return_indices_tie_break_left=False``.
    CompilationError for a scalar and for an axis outside of its rank.
    """
    if return_indices:
        pair = (input, lane_indices(input, axis))
        if return_indices_tie_break_left:
            return reduce(pair, axis, argmax_left, keep_dims=keep_dims)
        return reduce(pair, axis, argmax_fast, keep_dims=keep_dims)
    return reduce(input.to(extremum_dtype(input.dtype)), axis, max_combine, keep_dims=keep_dims)


@member
@jit
def min(
    input,
    axis=None,
    return_indices: constexpr = False,
    return_indices_tie_break_left: constexpr = True,
    keep_dims: constexpr = False,
):
    """The minimum along ``axis`` (of all elements by default): without that dimension, with ``keep_dims`` of size 1 there.

    Narrow dtypes widen to int32 or fp32; a NaN loses to a number.  With ``return_indices`` a pair: the minimum in the dtype of
    ``input``, where a NaN wins, and its int32 index, the lowest of equal ones unless ``return_indices_tie_break_left=False``.
    CompilationError for a scalar and for an axis outside of its rank.
    """
    if return_indices:
        pair = (input, lane_indices(input, axis))
        if return_indices_tie_break_left:
            return reduce(pair, axis, argmin_left, keep_dims=keep_dims)
        return reduce(pair, axis, argmin_fast, keep_dims=keep_dims)
    return reduce(input.to(extremum_dtype(input.dtype)), axis, min_combine, keep_dims=keep_dims)


@member
@jit
def argmax(input, axis, tie_break_left: constexpr = True, keep_dims: constexpr = False):
    """The int32 index along ``axis`` (None: in the flattened block) of the maximum, or of a NaN: without that dimension, or of size 1 there.

    Of equal elements the lowest index, with ``tie_break_left=False`` any; ``keep_dims`` keeps the dimension.  CompilationError
    for a scalar and for an axis outside of its rank.
    """
    return max(input, axis, True, tie_break_left, keep_dims)[1]


@member
@jit
def argmin(input, axis, tie_break_left: constexpr = True, keep_dims: constexpr = False):
    """The int32 index along ``axis`` (None: in the flattened block) of the minimum, or of a NaN: without that dimension, or of size 1 there.

    Of equal elements the lowest index, with ``tie_break_left=False`` any; ``keep_dims`` keeps the dimension.  CompilationError
    for a scalar and for an axis outside of its rank.
    """
    return min(input, axis, True, tie_break_left, keep_dims)[1]


# --- rearranging ----------------------------------------------------------------------------------------


@constexpr_function
def interleaved_shape(shape: Any) -> list[int]:
    """``shape`` with its last dimension doubled; two scalars make a block of two."""
    sizes = [int(d) for d in shape] or [1]
    return [*sizes[:-1], 2 * sizes[-1]]


@constexpr_function
def split_dimension(shape: Any, dim: int) -> list[int]:
    """``shape`` with dimension ``dim`` as dimensions of size 2."""
    sizes = [int(d) for d in shape]
    return [*sizes[:dim], *[2] * (sizes[dim].bit_length() - 1), *sizes[dim + 1 :]]


@constexpr_function
def bits_of(shape: Any, dim: int) -> int:
    """Number of dimensions of size 2 that make up dimension ``dim``."""
    return int(shape[dim]).bit_length() - 1


@constexpr_function
def has_dimension(dim: int | None, rank: int) -> bool:
    """True if ``dim`` is a dimension of ``rank``, negative ones from the end; None is the last."""
    return dim is None or -rank <= dim < rank


@constexpr_function
def last_or(dim: int | None, rank: int) -> int:
    """``dim`` counted from 0, the last one for None."""
    return rank - 1 if dim is None else dim % rank


@constexpr_function
def integer_of(element: t.dtype) -> t.dtype:
    """The integer of the width of ``element``."""
    return element if element.is_bool() else t.dtype(f"int{element.primitive_bitwidth}")


@jit
def interleave(a, b):
    """The elements of ``a`` and ``b`` in turn along the last dimension, whose size doubles; of scalars a block of 2.

    Both are promoted to one dtype and of the shape of ``a``; CompilationError where ``b`` does not broadcast to it.
    """
    return reshape(join(a, b), interleaved_shape(a.shape))


@member
@jit
def flip(x, dim: constexpr = None):
    """``x`` with dimension ``dim`` (constexpr; the last by default) reversed: of the same shape and dtype.

    CompileTimeAssertionFailure for a dimension outside of its rank.
    """
    static_assert(has_dimension(dim, len(x.shape)), "flip's dim is outside of the rank of its block")
    axis: constexpr = last_or(dim, len(x.shape))
    y = reshape(x.to(integer_of(x.dtype), bitcast=True), split_dimension(x.shape, axis))
    # with both halves of a dimension xor-ed together, xor with one half gives the other
    for i in static_range(bits_of(x.shape, axis)):
        y = y ^ xor_sum(y, axis + i, True)
    return reshape(y, x.shape).to(x.dtype, bitcast=True)


# --- scans ----------------------------------------------------------------------------------------------


@member
@jit
def cumsum(input, axis=0, reverse: constexpr = False, dtype: constexpr = None):
    """The running sum along ``axis``, from the end with ``reverse``: of the shape of ``input``.

    Its dtype is ``dtype``, by default that of ``input``, but 32 bits for narrower integers; narrow floats add up in fp32 and are
    rounded once.  CompilationError for an axis outside of its rank.
    """
    result: constexpr = sum_dtype(dtype, input.dtype)
    wide = input.to(accumulator_dtype(result))
    return associative_scan(wide, axis, sum_combine, reverse).to(result)


@member
@jit
def cumprod(input, axis=0, reverse: constexpr = False, dtype: constexpr = None):
    """The running product along ``axis``, from the end with ``reverse``: of the shape of ``input``.

    Its dtype is ``dtype``, by default that of ``input``, but 32 bits for narrower integers; narrow floats are multiplied in fp32
    and rounded once.  CompilationError for an axis outside of its rank.
    """
    result: constexpr = sum_dtype(dtype, input.dtype)
    wide = input.to(accumulator_dtype(result))
    return associative_scan(wide, axis, product_combine, reverse).to(result)
