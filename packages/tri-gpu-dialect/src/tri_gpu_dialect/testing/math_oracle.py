"""Arguments for math functions, their values in mpmath, and distances in ulp.

Needs mpmath (the extra ``testing``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt
from mpmath import mp, mpf

__all__ = ["KINDS", "SPECIAL", "arguments", "exact", "special_arguments", "ulp_errors"]

Array = npt.NDArray[Any]

#: kinds of random arguments
KINDS = ("unit", "wide", "bits", "near one", "small")

_DTYPES: dict[int, type[np.floating[Any]]] = {32: np.float32, 64: np.float64}
#: fraction bits, the exponent of the smallest subnormal, the largest argument of exp
_FORMATS = {32: (24, -149, 100.0), 64: (53, -1074, 740.0)}
#: functions of part of the line: the least and the largest argument
_DOMAINS: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("log", "log2", "log10", "rsqrt"), (0.0, math.inf)),
    **dict.fromkeys(("asin", "acos", "atanh"), (-1.0, 1.0)),
    "acosh": (1.0, math.inf),
    "log1p": (-1.0, math.inf),
}
#: special values of IEEE 754 for any function
SPECIAL = (0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 0.75, 1e10)


def special_arguments(width: int) -> Array:
    """:data:`SPECIAL` and the format's extremes."""
    info = np.finfo(_DTYPES[width])
    extremes = [float(x) for x in (info.smallest_subnormal, info.smallest_normal, info.max)]
    return np.array([*SPECIAL, *extremes, *(-x for x in extremes)], _DTYPES[width])


def arguments(rng: np.random.Generator, name: str, width: int, kind: str, size: int) -> Array:
    """Random finite arguments of one kind, brought into the function's domain."""
    dtype = _DTYPES[width]
    match kind:
        case "bits":  # every exponent
            bits = rng.integers(0, 1 << width, size, dtype=np.uint32 if width == 32 else np.uint64)
            x = np.where(np.isfinite(bits.view(dtype)), bits.view(dtype), dtype(1.5))
        case "unit":
            x = rng.uniform(-2, 2, size)
        case "near one":
            x = 1 + rng.standard_normal(size) * 1e-3
        case "small":
            x = rng.standard_normal(size) * 10.0 ** rng.uniform(-12, 0, size)
        case _:
            x = rng.uniform(-1, 1, size) * _FORMATS[width][2]
    return np.ascontiguousarray(_into_domain(name, x.astype(dtype)))


def _into_domain(name: str, x: Array) -> Array:
    low, high = _DOMAINS.get(name, (-math.inf, math.inf))
    if low >= 0:
        x = np.abs(x)
    outside = (x < low) | (x > high)
    with np.errstate(all="ignore"):
        return np.where(outside, 1 / np.where(x == 0, 1, x), x).astype(x.dtype)


def _small(function: Callable[[mpf], mpf]) -> Callable[[mpf], mpf]:
    """With as many digits as arguments near 0 or large angles cancel; nearest to 0 these functions are x itself."""

    def call(x: mpf) -> mpf:
        if x and abs(x) < mpf(2) ** -200:
            return x
        with mp.workprec(1300 if abs(x) > 2**40 else 500):
            return function(x)

    return call


def _of_angle(function: Callable[[mpf], mpf]) -> Callable[[mpf], mpf]:
    def call(x: mpf) -> mpf:
        with mp.workprec(1300 if abs(x) > 2**40 else 300):
            return function(x)

    return call


def _of_far(function: Callable[[mpf], mpf], left: float, right: float) -> Callable[[mpf], mpf]:
    """``function``, constant (to 2000 digits) beyond 3000."""

    def call(x: mpf) -> mpf:
        if abs(x) > 3000:
            return mpf(right if x > 0 else left)
        return function(x)

    return call


def _power(x: mpf, y: mpf) -> mpf:
    size = y * mp.log(abs(x), 2)
    if abs(size) > 5000:
        return mpf(math.inf if size > 0 else 0) * (-1 if x < 0 and int(y) % 2 else 1)
    return mp.power(x, y)


_ORACLES: dict[str, Callable[..., mpf]] = {
    "exp": _of_far(mp.exp, 0, math.inf),
    "exp2": _of_far(lambda x: mpf(2) ** x, 0, math.inf),
    "expm1": _of_far(_small(mp.expm1), -1, math.inf),
    "log": mp.log,
    "log2": lambda x: mp.log(x, 2),
    "log10": mp.log10,
    "log1p": _small(mp.log1p),
    "powf": _power,
    "rsqrt": lambda x: 1 / mp.sqrt(x),
    "sin": _small(mp.sin),
    "cos": _of_angle(mp.cos),
    "tan": _small(mp.tan),
    "asin": _small(mp.asin),
    "acos": mp.acos,
    "atan": mp.atan,
    "atan2": mp.atan2,
    "sinh": _of_far(_small(mp.sinh), -math.inf, math.inf),
    "cosh": _of_far(mp.cosh, math.inf, math.inf),
    "tanh": _of_far(_small(mp.tanh), -1, 1),
    "asinh": _small(mp.asinh),
    "acosh": mp.acosh,
    "atanh": _small(mp.atanh),
    "erf": _of_far(mp.erf, -1, 1),
    "erfc": _of_far(mp.erfc, 2, 0),
    "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)),
    "round": lambda x: mp.sign(x) * mp.floor(abs(x) + mpf("0.5")),
}


def exact(name: str, *columns: Array) -> list[mpf]:
    """The function's values for finite arguments, in 160 bits or more."""
    function = _ORACLES[name]
    with mp.workprec(300):
        return [_real(function(*map(_number, row))) for row in zip(*columns, strict=True)]


def _number(x: Any) -> mpf:
    return mpf(float(x))


def _real(value: Any) -> mpf:
    return mp.nan if isinstance(value, mpmath.mpc) else value


def ulp_errors(found: Array, values: Sequence[mpf]) -> Array:
    """Distances in units of the last place of the exact ``values``; infinite where one is special and the other not."""
    digits, least, _ = _FORMATS[found.dtype.itemsize * 8]
    errors = np.zeros(len(found))
    with np.errstate(over="ignore"):
        rounded = np.array([float(v) for v in values]).astype(found.dtype)
    for i, (here, value) in enumerate(zip(found, values, strict=True)):
        if (here == rounded[i] and (np.isinf(here) or here == 0)) or (np.isnan(here) and mp.isnan(value)):
            continue
        if not np.isfinite(here) or not mp.isfinite(value) or value == 0:
            errors[i] = math.inf
            continue
        exponent = max(mp.frexp(value)[1] - digits, least)
        errors[i] = float(abs(_number(here) - value) / mpf(2) ** exponent)
    return errors
