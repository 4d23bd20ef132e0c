"""Doubles rounded to smaller formats, exactly, in every rounding mode of PTX."""

from __future__ import annotations

import numpy as np

from tri_backend_nvidia.text.values import Array, word
from tri_core.lazy_dataclasses import dataclass

__all__ = ["FORMATS", "Format", "decoded", "odd_sum", "rounded"]


@dataclass(frozen=True)
class Format:
    """A binary format: bits of exponent and mantissa, stored at bit ``at`` of a word of ``bits``; ``nan``: what hardware makes.

    ``infinities``: whether there are any; without them the top exponent has numbers but for one NaN.
    """

    exponent: int
    mantissa: int
    bits: int
    nan: int
    infinities: bool = True
    at: int = 0

    @property
    def bias(self) -> int:
        """Bias of stored exponents."""
        return (1 << self.exponent - 1) - 1

    @property
    def largest(self) -> int:
        """The word of the largest finite number, without its place."""
        top = (1 << self.exponent + self.mantissa) - 1
        return top - (1 << self.mantissa) if self.infinities else top - 1


FORMATS = {
    "f16": Format(5, 10, 16, 0x7FFF),
    "bf16": Format(8, 7, 16, 0x7FFF),
    "f32": Format(8, 23, 32, 0x7FFFFFFF),
    "tf32": Format(8, 10, 32, 0x7FFFFFFF, at=13),
    "e4m3": Format(4, 3, 8, 0x7F, infinities=False),
    "e5m2": Format(5, 2, 8, 0x7F),
}


def _integer(values: Array, mode: str, negative: Array) -> Array:
    """Magnitudes rounded to whole numbers; ``mode`` of the signed numbers."""
    if mode == "rz":
        return np.floor(values)
    if mode == "rna":
        return np.floor(values + 0.5)
    if mode in ("rm", "rp"):
        away = negative if mode == "rm" else ~negative
        return np.where(away, np.ceil(values), np.floor(values))
    return np.rint(values)


def rounded(values: Array, format_: Format, mode: str = "rn", *, saturates: bool = False) -> Array:
    """Words of ``format_`` for doubles; ``saturates``: what is beyond, infinities too, is the largest finite number.

    Scaling by powers of two is exact, and so is one rounding; magnitudes are rounded as whole multiples of their last place.
    """
    with np.errstate(all="ignore"):
        negative, size = np.signbit(values), np.abs(values)
        nan = np.isnan(values)
        finite = np.where(np.isfinite(size), size, 0.0)
        exponent = np.maximum(np.frexp(finite)[1] - 1, 1 - format_.bias)
        steps = _integer(np.ldexp(finite, (format_.mantissa - exponent).astype(np.int32)), mode, negative)
        # the hidden bit adds one to the exponent: words of magnitudes follow each other, subnormal ones as well
        field = (exponent + format_.bias - 1).astype(np.int64)
        found = (field << format_.mantissa) + steps.astype(np.int64)
        found = np.where(finite == 0, 0, found)
        most = format_.largest
        inward = {"rz": np.ones_like(negative), "rm": ~negative, "rp": negative}.get(
            mode, np.zeros_like(negative)
        )
        beyond = np.where(inward | saturates, most, most + 1)
        found = np.where(found > most, beyond, found)
        found = np.where(np.isinf(values), most if saturates else most + 1, found)
        if not format_.infinities:  # there is no word for more
            found = np.where(found > most, format_.nan, found)
    sign = np.int64(1) << np.int64(format_.exponent + format_.mantissa)
    made = np.where(negative, found | sign, found) << np.int64(format_.at)
    return np.where(nan, format_.nan, made).astype(word(format_.bits))


def decoded(words: Array, format_: Format) -> Array:
    """The doubles of words of ``format_``."""
    bits = words.astype(np.int64) >> format_.at
    mantissa, exponent = (
        bits & (1 << format_.mantissa) - 1,
        bits >> format_.mantissa & (1 << format_.exponent) - 1,
    )
    with np.errstate(all="ignore"):
        power = (np.maximum(exponent, 1) - format_.bias - format_.mantissa).astype(np.int32)
        size = np.ldexp(
            (mantissa + ((exponent > 0).astype(np.int64) << format_.mantissa)).astype(np.float64), power
        )
        top = exponent == (1 << format_.exponent) - 1
        if format_.infinities:
            size = np.where(top, np.where(mantissa == 0, np.inf, np.nan), size)
        else:
            size = np.where(top & (mantissa == (1 << format_.mantissa) - 1), np.nan, size)
    return np.where(bits >> format_.exponent + format_.mantissa & 1, -size, size)


def odd_sum(x: Array, y: Array) -> Array:
    """``x + y`` of doubles; if inexact, the neighbour whose last bit is set, which rounds to a smaller format as the sum does."""
    total = x + y
    part = total - x
    error = np.where(np.isfinite(total), (x - (total - part)) + (y - part), 0.0)
    bits = total.view(np.int64)
    step = np.where((error > 0) == (total > 0), 1, -1)
    made: Array = np.where((error != 0) & (bits & 1 == 0), bits + step, bits).view(np.float64)
    return made
