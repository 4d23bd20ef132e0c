"""Numeric contracts: how far a result may be from the exact one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import ml_dtypes
import numpy as np

from tri_conformance.dtypes import Array

__all__ = ["Close", "Contract", "Exact", "Inaccurate", "Ulp", "ulp_of"]


class Inaccurate(AssertionError):
    """Every result is near the exact one, but not as near as it must be: ``ulp`` away at worst."""

    def __init__(self, message: str, ulp: float) -> None:
        super().__init__(message)
        self.ulp = ulp


class Contract(Protocol):
    """A bound on a result's error."""

    def check(self, got: Array, exact: Array) -> None:
        """AssertionError naming the worst element when ``got`` is not within the bound of ``exact``."""
        ...


def _wide(values: Array) -> Array:
    with np.errstate(invalid="ignore"):  # NaN of any bits
        return values if values.dtype.kind in "iub" else values.astype(np.float64)


def _fail(got: Array, exact: Array, wrong: Array, rule: str) -> None:
    raise AssertionError(_reported(got, exact, wrong, rule))


def _reported(got: Array, exact: Array, wrong: Array, rule: str) -> str:
    at = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
    place = ", ".join(str(int(i)) for i in at)
    return f"{int(wrong.sum())} of {wrong.size} elements break {rule}; first at [{place}]: got {got[at]!r}, expected {exact[at]!r}"


def _same(got: Array, exact: Array) -> Array:
    """Mask: true where both are equal, or both are NaN."""
    with np.errstate(invalid="ignore"):
        equal = got == exact
    if got.dtype.kind in "iub" or exact.dtype.kind in "iub":
        return np.asarray(equal)
    return np.asarray(equal | (np.isnan(got) & np.isnan(exact)))


@dataclass(frozen=True)
class Exact:
    """Every element equals the exact one, rounded to the result's type (any NaN is as good as another)."""

    def check(self, got: Array, exact: Array) -> None:
        """See :class:`Contract`."""
        with np.errstate(over="ignore", invalid="ignore"):
            expected = exact.astype(got.dtype)
        wrong = ~_same(_wide(got), _wide(expected))
        if wrong.any():
            _fail(got, expected, wrong, "exactness")


def ulp_of(exact: Array, dtype: np.dtype[Any]) -> Array:
    """One unit in the last place of ``dtype`` at ``exact`` (float64), that of the smallest normal number below it."""
    finfo: Any = np.finfo if dtype in (np.float16, np.float32, np.float64) else ml_dtypes.finfo
    info = finfo(dtype)
    smallest = float(info.tiny)
    exponent = np.floor(np.log2(np.maximum(np.abs(exact), smallest)))
    return np.asarray(np.exp2(exponent) * float(info.eps))


@dataclass(frozen=True)
class Ulp:
    """At most ``bound`` units in the last place of the result's type; infinities and NaN in their places.

    :class:`Inaccurate` when the places are right and only the bound is broken.
    """

    bound: float

    def check(self, got: Array, exact: Array) -> None:
        """See :class:`Contract`."""
        wide, true = _wide(got), _wide(exact).astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            rounded = _wide(true.astype(got.dtype))
            finite = np.isfinite(true) & np.isfinite(wide)
            error = np.where(finite, np.abs(wide - true), 0.0) / ulp_of(
                np.where(finite, true, 1.0), got.dtype
            )
        wrong = np.where(finite, error > self.bound + 0.5, ~_same(wide, rounded))
        rule = f"{self.bound} ulp (worst {error.max(initial=0):.3g})"
        if (wrong & ~finite).any():
            _fail(got, exact, wrong, rule)
        if wrong.any():
            raise Inaccurate(_reported(got, exact, wrong, rule), max(0.0, float(error.max()) - 0.5))


@dataclass(frozen=True)
class Close:
    """``|got - exact| <= atol + rtol * |exact|``: for sums, where an ulp of the result says nothing.

    :class:`Inaccurate` when infinities and NaN are in their places and only the bound is broken, in units in the last place of the largest
    exact result.
    """

    rtol: float
    atol: float = 0.0

    def check(self, got: Array, exact: Array) -> None:
        """See :class:`Contract`."""
        wide, true = _wide(got).astype(np.float64), _wide(exact).astype(np.float64)
        with np.errstate(invalid="ignore"):
            near = np.isfinite(true) & (np.abs(wide - true) <= self.atol + self.rtol * np.abs(true))
        wrong = ~(near | _same(wide, true))
        if not wrong.any():
            return
        rule = f"|error| <= {self.atol} + {self.rtol} |exact|"
        if got.dtype.kind in "iub" or not (np.isfinite(wide) & np.isfinite(true))[wrong].all():
            _fail(got, exact, wrong, rule)
        largest = np.abs(true[np.isfinite(true)]).max(keepdims=True)
        worst = np.abs(wide[wrong] - true[wrong]).max() / ulp_of(largest, got.dtype)[0]
        raise Inaccurate(
            f"{_reported(got, exact, wrong, rule)}; {worst:.3g} ulp of the largest", float(worst)
        )
