"""Random numbers from counters: Philox4x32-10 and Philox4x64-10 (Salmon et al., SC 2011)."""

# mypy: allow-untyped-defs, no-check-untyped-defs, disable-error-code="assignment"

from __future__ import annotations

from tri.jit import jit
from tri.language import types as t
from tri.language.arithmetic import add, mul
from tri.language.builtin import constexpr_function
from tri.language.casts import to, to_tensor
from tri.language.constexpr import constexpr
from tri.language.debug import static_assert
from tri.language.loops import static_range
from tri.language.math import cos, log, sin, sqrt, umulhi
from tri.language.selection import maximum, where

__all__ = [
    "pair_uniform_to_normal",
    "philox",
    "philox_impl",
    "rand",
    "rand4x",
    "randint",
    "randint4x",
    "randn",
    "randn4x",
    "uint_to_uniform_float",
]

#: per word size: the two multipliers and the two increments of the key
_PARAMETERS = {
    32: (0xD2511F53, 0xCD9E8D57, 0x9E3779B9, 0xBB67AE85),
    64: (0xD2E7470EE14C6C93, 0xCA5A826395121157, 0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B),
}
_SCALES = {32: 4.6566127342e-10, 64: 1.0842020432385337e-19}


@constexpr_function
def parameters(word: t.dtype) -> tuple[int, int, int, int]:
    """Multipliers and key increments for words of this type."""
    return _PARAMETERS[word.primitive_bitwidth]


@constexpr_function
def unsigned(bits: int) -> t.dtype:
    """The unsigned integer of ``bits``."""
    return t.dtype(f"uint{bits}")


@constexpr_function
def signed(bits: int) -> t.dtype:
    """The signed integer of ``bits``."""
    return t.dtype(f"int{bits}")


@constexpr_function
def uniform_scale(bits: int) -> float:
    """Factor from non-negative integers of ``bits`` to [0, 1)."""
    return _SCALES[bits]


@jit
def philox_impl(c0, c1, c2, c3, k0, k1, n_rounds: constexpr = 10):
    """``n_rounds`` rounds of Philox on the counter (c0, c1, c2, c3) with the key (k0, k1): four words of the shape of the counter's.

    All are words of one dtype, uint32 or uint64; CompilationError for other dtypes.
    """
    a: constexpr = parameters(c0.dtype)
    for _ in static_range(n_rounds):
        low0 = mul(c0, a[0], sanitize_overflow=False)
        low2 = mul(c2, a[1], sanitize_overflow=False)
        high0, high2 = umulhi(c0, a[0]), umulhi(c2, a[1])
        c0, c1 = high2 ^ c1 ^ k0, low2
        c2, c3 = high0 ^ c3 ^ k1, low0
        k0 = add(k0, a[2], sanitize_overflow=False)
        k1 = add(k1, a[3], sanitize_overflow=False)
    return c0, c1, c2, c3


@jit
def philox(seed, c0, c1, c2, c3, n_rounds: constexpr = 10):
    """Four random integers per counter (c0, c1, c2, c3), of its shape: uint32, or uint64 for a counter of 64 bits.

    ``seed``, an integer, gives both words of the key.  CompilationError for counters of other widths,
    CompileTimeAssertionFailure for a seed that is no integer.
    """
    bits: constexpr = c0.dtype.primitive_bitwidth
    word: constexpr = unsigned(bits)
    static_assert(to_tensor(seed).dtype.is_int(), "a seed is an integer")
    wide = to(seed, t.uint64)
    high = (wide >> 32).to(word) if bits == 32 else wide * 0
    return philox_impl(c0.to(word), c1.to(word), c2.to(word), c3.to(word), wide.to(word), high, n_rounds)


@jit
def randint(seed, offset, n_rounds: constexpr = 10):
    """A random uint32 for every ``offset`` (an int32 or int64 value), in its shape; ``seed`` is an integer.

    ``n_rounds``: of Philox.  CompileTimeAssertionFailure for a seed that is no integer.
    """
    return randint4x(seed, offset, n_rounds)[0]


@jit
def randint4x(seed, offset, n_rounds: constexpr = 10):
    """Four random uint32 for every ``offset`` (an int32 or int64 value), in its shape: cheaper than four calls of randint.

    ``n_rounds``: of Philox.  CompileTimeAssertionFailure for a ``seed`` that is no integer.
    """
    low = offset.to(t.uint32)
    zero = low * 0
    high = (offset >> 32).to(t.uint32) if offset.dtype.primitive_bitwidth > 32 else zero
    return philox(seed, low, high, zero, zero, n_rounds)


@jit
def uint_to_uniform_float(x):
    """Random integers of 32 or 64 bits as float32 in [0, 1), in the shape of ``x``; CompileTimeAssertionFailure for other widths."""
    bits: constexpr = x.dtype.primitive_bitwidth
    static_assert(bits == 32 or bits == 64, "uniform floats are made from 32- or 64-bit integers")
    x = x.to(signed(bits), bitcast=True)
    x = where(x < 0, ~x, x)
    return x.to(t.float32) * uniform_scale(bits)


@jit
def rand(seed, offset, n_rounds: constexpr = 10):
    """A float32 in [0, 1) for every ``offset`` (an int32 or int64 value), in its shape.

    ``n_rounds``: of Philox.  CompileTimeAssertionFailure for a ``seed`` that is no integer.
    """
    return uint_to_uniform_float(randint(seed, offset, n_rounds))


@jit
def rand4x(seed, offsets, n_rounds: constexpr = 10):
    """Four float32 in [0, 1) for every offset (an int32 or int64 value), in its shape: cheaper than four calls of rand.

    ``n_rounds``: of Philox.  CompileTimeAssertionFailure for a ``seed`` that is no integer.
    """
    i0, i1, i2, i3 = randint4x(seed, offsets, n_rounds)
    u0, u1 = uint_to_uniform_float(i0), uint_to_uniform_float(i1)
    return u0, u1, uint_to_uniform_float(i2), uint_to_uniform_float(i3)


@jit
def pair_uniform_to_normal(u1, u2):
    """Two blocks of normal floats from two of uniform ones (Box and Muller), in their shape and dtype, fp32 or fp64.

    CompilationError for other dtypes.
    """
    angle = 6.283185307179586 * u2
    radius = sqrt(-2.0 * log(maximum(1.0e-7, u1)))
    return radius * cos(angle), radius * sin(angle)


@jit
def randn(seed, offset, n_rounds: constexpr = 10):
    """A normally distributed float32 for every ``offset`` (an int32 or int64 value), in its shape.

    ``n_rounds``: of Philox.  CompileTimeAssertionFailure for a ``seed`` that is no integer.
    """
    i1, i2, _, _ = randint4x(seed, offset, n_rounds)
    return pair_uniform_to_normal(uint_to_uniform_float(i1), uint_to_uniform_float(i2))[0]


@jit
def randn4x(seed, offset, n_rounds: constexpr = 10):
    """Four normally distributed float32 for every ``offset`` (an int32 or int64 value), in its shape.

    ``n_rounds``: of Philox.  CompileTimeAssertionFailure for a ``seed`` that is no integer.
    """
    u1, u2, u3, u4 = rand4x(seed, offset, n_rounds)
    n1, n2 = pair_uniform_to_normal(u1, u2)
    n3, n4 = pair_uniform_to_normal(u3, u4)
    return n1, n2, n3, n4
