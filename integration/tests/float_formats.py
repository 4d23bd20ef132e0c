"""Every number of the small float formats, and rounding to them from tables: the oracle of casts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import ml_dtypes
import numpy as np
import numpy.typing as npt

import tri.language as tl

__all__ = ["FORMATS", "Format", "samples"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Format:
    """``held``: how NumPy holds it; ``ties``: of a tie, ``even`` or ``away`` from zero; ``top``: the largest byte."""

    name: str
    language: tl.dtype
    held: type
    ties: str = "even"
    nan: bool = True
    top: int = 0

    @cached_property
    def values(self) -> Floats:
        """The number of each of the 256 bytes."""
        patterns = np.arange(256, dtype=np.uint8)
        if self.name != "fp8e4b15":
            return patterns.view(self.held).astype(np.float64)
        bits = (patterns.astype(np.uint16) & 0x7F) << 7 | (patterns.astype(np.uint16) & 0x80) << 8
        return bits.view(np.float16).astype(np.float64)

    @cached_property
    def positive(self) -> Floats:
        """The finite numbers from 0 up; saturation stops at the last."""
        found = self.values[:128]
        return found[np.isfinite(found)][: self.top + 1 if self.top else None]

    def rounded(self, x: Floats, *, toward_zero: bool = False) -> Floats:
        """``x`` in the format: rounded, saturated, NaN where the format has it."""
        table = self.positive
        size = np.minimum(np.abs(x), table[-1])
        size = np.where(np.isnan(size), table[-1], size)
        low = np.searchsorted(table, size, side="right") - 1
        high = np.minimum(low + 1, len(table) - 1)
        below, above = size - table[low], table[high] - size
        up = (above < below) | ((above == below) & ((low % 2 == 1) | (self.ties == "away")))
        result = np.copysign(table[np.where(up & (not toward_zero), high, low)], x)
        return np.where(np.isnan(x) & self.nan, np.nan, result)


FORMATS: dict[str, Format] = {
    f.name: f
    for f in (
        Format("fp8e4nv", tl.float8e4nv, ml_dtypes.float8_e4m3fn),
        Format("fp8e5", tl.float8e5, ml_dtypes.float8_e5m2),
        Format("fp8e4b8", tl.float8e4b8, ml_dtypes.float8_e4m3fnuz),
        Format("fp8e5b16", tl.float8e5b16, ml_dtypes.float8_e5m2fnuz),
        Format("fp8e4b15", tl.float8e4b15, np.uint8, ties="away", nan=False, top=0x7E),
    )
}


@np.errstate(over="ignore")
def samples(
    format_: Format, dtype: npt.DTypeLike, rng: np.random.Generator, count: int
) -> npt.NDArray[np.generic]:
    """Numbers of ``dtype`` that are hard to round to ``format_``, and random ones: ``count`` in all."""
    table = format_.positive
    middles = (table[1:] + table[:-1]) / 2
    edges = np.concatenate([table, middles, table[-1:] * 1.0625, table[-1:] * 2]).astype(dtype)
    special = np.array([0, np.inf, np.nan, 1e-30, 1e30], np.float64).astype(dtype)
    zero, infinity = np.array([0, np.inf]).astype(dtype)
    around = np.concatenate([edges, np.nextafter(edges, zero), np.nextafter(edges, infinity)])
    hard = np.concatenate([special, around])
    hard = np.concatenate([hard, -hard])
    rest = count - len(hard)
    if rest < 0:
        raise ValueError(f"{len(hard)} samples are needed")
    scale = 2.0 ** rng.uniform(np.log2(table[1]) - 2, np.log2(table[-1]) + 2, rest)
    return np.concatenate([hard, (scale * rng.choice([-1, 1], rest)).astype(dtype)])
