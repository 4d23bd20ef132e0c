"""Hyperbolic functions and their inverses, by expm1 and log1p as in fdlibm (1993)."""

from __future__ import annotations

import math

from tri_gpu_dialect.lowering.functions import coefficients as c
from tri_gpu_dialect.lowering.functions.exponential import exp, expm1
from tri_gpu_dialect.lowering.functions.logarithm import log1p
from tri_gpu_dialect.lowering.functions.real import Real

__all__ = ["acosh", "asinh", "atanh", "cosh", "sinh", "tanh"]

#: beyond it ``x**2 + 1`` is ``x**2`` and ``log(1 + x)`` is ``log(x)``, to the format's digits
_LARGE = 2.0**60


def sinh(x: Real) -> Real:
    """The hyperbolic sine: ``(e + e / (e + 1)) / 2`` of ``e = expm1``, from 20 on ``exp(x) / 2``."""
    size = x.abs()
    near = expm1(size.where(size < 20.0, 20.0))
    near = (near + near / (near + 1.0)) * 0.5
    return near.where(size < 20.0, exp(size, halvings=1)).with_sign_of(x).unless_nan(x)


def cosh(x: Real) -> Real:
    """The hyperbolic cosine."""
    half = exp(x.abs(), halvings=1)
    return half + 0.25 / half


def tanh(x: Real) -> Real:
    """The hyperbolic tangent: ``e / (e + 2)`` of ``e = expm1(2 x)``."""
    size = x.abs()
    near = expm1(size.where(size < 22.0, 22.0) * 2.0)
    return (near / (near + 2.0)).with_sign_of(x).unless_nan(x)


def _log1p_or_double(x: Real, near: Real) -> Real:
    """``log1p(near)``, for large x ``log(2 x)``."""
    large = x > _LARGE
    found = log1p(x.where(large, near))
    return (found + c.LN2[x.width][0]).where(large, found)


def asinh(x: Real) -> Real:
    """The inverse of sinh."""
    size = x.abs()
    inside = size.where(size < _LARGE, _LARGE)
    square = inside * inside
    near = size + square / ((square + 1.0).sqrt() + 1.0)
    return _log1p_or_double(size, near).with_sign_of(x).unless_nan(x)


def acosh(x: Real) -> Real:
    """The inverse of cosh; NaN below 1."""
    inside = x.where(x < _LARGE, _LARGE)
    over = inside - 1.0
    near = over + (over * 2.0 + over * over).sqrt()
    found = _log1p_or_double(x, near)
    return found.where(x >= 1.0, math.nan)


def atanh(x: Real) -> Real:
    """The inverse of tanh; infinite at 1, NaN beyond."""
    size = x.abs()
    found = log1p((size + size) / (1.0 - size)) * 0.5
    small = size < 2.0 ** -(x.format.fraction // 2 + 2)
    return size.where(small, found).with_sign_of(x).unless_nan(x)
