"""Sorting in the language itself: bitonic networks over a hypercube of dimensions of size 2."""

# mypy: allow-untyped-defs, no-check-untyped-defs, disable-error-code="assignment"

from __future__ import annotations

from typing import Any

from tri.jit import jit
from tri.language import types as t
from tri.language.builtin import constexpr_function, member
from tri.language.constexpr import constexpr
from tri.language.creation import arange
from tri.language.debug import static_assert
from tri.language.loops import static_range
from tri.language.selection import where
from tri.language.shapes import reshape
from tri.language.standard import bits_of, integer_of, max, min, xor_sum

__all__ = ["bitonic_merge", "sort", "topk"]

#: the direction of a merge whose neighbours run opposite ways
ALTERNATING = constexpr(2)


@constexpr_function
def log2_of(number: int) -> int:
    """The exponent of a power of two."""
    return int(number).bit_length() - 1


@constexpr_function
def cube_of(numel: int) -> list[int]:
    """``numel`` elements as dimensions of size 2."""
    return [2] * (int(numel).bit_length() - 1) or [1]


@constexpr_function
def beside(rank: int, bit: int) -> list[int]:
    """The shape that has size 2 in dimension ``bit``, counted from the innermost, and 1 in the others."""
    return [2 if d == rank - 1 - bit else 1 for d in range(rank)]


@constexpr_function
def with_last(shape: Any, size: int) -> list[int]:
    """``shape`` with a last dimension of ``size``."""
    return [*[int(d) for d in shape][:-1], size]


@constexpr_function
def is_last(dim: int | None, rank: int) -> bool:
    """True if ``dim`` is the last dimension."""
    return dim is None or dim in (rank - 1, -1)


@constexpr_function
def is_choice(k: int, size: int) -> bool:
    """True if ``k`` is a power of two up to ``size``."""
    return 0 < k <= size and k & (k - 1) == 0


@jit
def position_bit(rank: constexpr, bit: constexpr):
    """Bit ``bit`` of an element's place in a hypercube of ``rank`` dimensions."""
    return reshape(arange(0, 2), beside(rank, bit))


@jit
def exchange(x, downwards, bit: constexpr):
    """Every pair of elements whose places differ in ``bit``, put in order."""
    rank: constexpr = log2_of(x.numel)
    bits = x.to(integer_of(x.dtype), bitcast=True)
    partner = (bits ^ xor_sum(bits, rank - 1 - bit, True)).to(x.dtype, bitcast=True)
    wrong = (x > partner) != (downwards ^ position_bit(rank, bit)).to(t.int1)
    return where(wrong, partner, x)


@jit
def merge(x, stages: constexpr, order: constexpr):
    """Bitonic sequences of 2**stages elements sorted: up (0), down (1) or in turn (ALTERNATING)."""
    downwards = position_bit(log2_of(x.numel), stages) if order == ALTERNATING else order
    for i in static_range(stages):
        x = exchange(x, downwards, stages - 1 - i)
    return x


@jit
def best(x, k: constexpr, descending: constexpr):
    """The first ``k`` elements along the last dimension when sorted; a power of two."""
    n_log: constexpr = bits_of(x.shape, len(x.shape) - 1)
    k_log: constexpr = log2_of(k)
    if k_log == 0:
        chosen = max(x, -1, keep_dims=True) if descending else min(x, -1, keep_dims=True)
    else:
        h = reshape(x, cube_of(x.numel))
        for i in static_range(1, k_log + 1):
            h = merge(h, i, ALTERNATING if i < n_log else descending)
        # neighbouring runs of k go opposite ways: the better of each pair of elements are the best k, bitonic
        for i in static_range(k_log + 1, n_log + 1):
            axis: constexpr = log2_of(h.numel) - 1 - k_log
            h = max(h, axis) if descending else min(h, axis)
            h = merge(h, k_log, ALTERNATING if i < n_log else descending)
        chosen = reshape(h, with_last(x.shape, k))
    return chosen


@member
@jit
def sort(x, dim: constexpr = None, descending: constexpr = 0):
    """``x`` sorted along its last dimension, upwards, or downwards with ``descending``: of the same shape and dtype.

    CompileTimeAssertionFailure for another ``dim``.
    """
    static_assert(
        is_last(dim, len(x.shape)), "sort works along the last dimension; permute the others behind it"
    )
    return best(x, x.shape[-1], descending)


@jit
def topk(x, k: constexpr, dim: constexpr = None, descending: constexpr = True):
    """The ``k`` (a power of two) largest along the last dimension, sorted downwards; else smallest, upwards: that dimension is ``k``.

    Where fewer than all are chosen, narrow dtypes widen to 32 bits, as in :func:`max`.  CompileTimeAssertionFailure for
    another ``dim``, and for a ``k`` that is no power of two up to the dimension's size.
    """
    static_assert(
        is_last(dim, len(x.shape)), "topk works along the last dimension; permute the others behind it"
    )
    static_assert(
        is_choice(k, x.shape[-1]), "topk's k is a power of two, up to the size of the last dimension"
    )
    return best(x, k, descending)


@jit
def bitonic_merge(x, dim: constexpr = None, descending: constexpr = 0):
    """``x``, whose last dimension rises and then falls (or the reverse), sorted along it: of the same shape and dtype.

    ``descending`` sorts downwards.  Of other sequences the order is undefined; CompileTimeAssertionFailure for another ``dim``.
    """
    static_assert(is_last(dim, len(x.shape)), "bitonic_merge works along the last dimension")
    return reshape(
        merge(reshape(x, cube_of(x.numel)), bits_of(x.shape, len(x.shape) - 1), descending), x.shape
    )
