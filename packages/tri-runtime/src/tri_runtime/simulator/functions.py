"""The functions of C's math library over arrays, for backends whose drivers bring them under names of their own."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["FUNCTIONS", "function", "multiply_high"]

Array = npt.NDArray[Any]
Function = Callable[..., Any]


def _scalar(function: Callable[..., float]) -> Function:
    """A function of one number, element by element; where it is not defined, NaN, and infinity at poles."""

    def one(x: float) -> float:
        try:
            return function(x)
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    return np.vectorize(one, otypes=[np.float64])


def _round(x: Array) -> Array:
    """Half away from zero."""
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(1.0, x), np.copysign(whole, x))


def _remainder(x: Array, y: Array) -> Array:
    return np.vectorize(lambda a, b: math.remainder(a, b) if b and math.isfinite(a) else math.nan)(x, y)


#: by C's name; arguments and results are float64 arrays
FUNCTIONS: dict[str, Function] = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "atanh": np.arctanh,
    "cbrt": np.cbrt,
    "ceil": np.ceil,
    "copysign": np.copysign,
    "cos": np.cos,
    "cosh": np.cosh,
    "cospi": lambda x: np.cos(np.pi * np.fmod(x, 2.0)),
    "erf": _scalar(math.erf),
    "erfc": _scalar(math.erfc),
    "exp": np.exp,
    "exp10": lambda x: np.power(10.0, x),
    "exp2": np.exp2,
    "expm1": np.expm1,
    "fabs": np.abs,
    "fdim": lambda x, y: np.where(x > y, x - y, np.where(np.isnan(x) | np.isnan(y), np.nan, 0.0)),
    "floor": np.floor,
    "fmax": np.fmax,
    "fmin": np.fmin,
    "fmod": np.fmod,
    "hypot": np.hypot,
    "lgamma": _scalar(math.lgamma),
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "pow": np.power,
    "remainder": _remainder,
    "rint": np.rint,
    "round": _round,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sin": np.sin,
    "sinh": np.sinh,
    "sinpi": lambda x: np.sin(np.pi * np.fmod(x, 2.0)),
    "sqrt": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
    "tgamma": _scalar(math.gamma),
    "trunc": np.trunc,
}


def function(name: str) -> Function:
    """C's ``name`` for arrays of any float type: computed in float64, rounded once; KeyError if unknown."""
    exact = FUNCTIONS[name]

    def call(*xs: Array) -> Array:
        with np.errstate(all="ignore"):
            made: Array = np.asarray(exact(*[x.astype(np.float64) for x in xs])).astype(xs[0].dtype)
        return made

    return call


def multiply_high(x: Array, y: Array) -> Array:
    """The upper half of the product of two arrays of unsigned integers held as signed ones."""
    bits = 8 * x.dtype.itemsize
    unsigned = np.dtype(f"u{x.dtype.itemsize}")
    wide = x.view(unsigned).astype(object) * y.view(unsigned).astype(object)
    return (wide >> bits).astype(unsigned).view(x.dtype)
