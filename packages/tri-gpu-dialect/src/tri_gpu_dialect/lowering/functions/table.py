"""Implementations of math functions by format, and their accuracy."""

from __future__ import annotations

from collections.abc import Callable

from tri_core.mlir import ir
from tri_gpu_dialect.lowering import math_expansions
from tri_gpu_dialect.lowering.builder import Builder
from tri_gpu_dialect.lowering.functions import (
    error_function,
    exponential,
    hyperbolic,
    inverse_trigonometry,
    logarithm,
    power,
    root,
    trigonometry,
)
from tri_gpu_dialect.lowering.functions.real import Real

__all__ = ["BOUNDS", "function"]

_REAL: dict[str, Callable[..., Real]] = {
    "exp": exponential.exp,
    "exp2": exponential.exp2,
    "expm1": exponential.expm1,
    "log": logarithm.log,
    "log2": logarithm.log2,
    "log10": logarithm.log10,
    "log1p": logarithm.log1p,
    "powf": power.pow_,
    "rsqrt": power.rsqrt,
    "sin": trigonometry.sin,
    "cos": trigonometry.cos,
    "tan": trigonometry.tan,
    "asin": inverse_trigonometry.asin,
    "acos": inverse_trigonometry.acos,
    "atan": inverse_trigonometry.atan,
    "atan2": inverse_trigonometry.atan2,
    "sinh": hyperbolic.sinh,
    "cosh": hyperbolic.cosh,
    "tanh": hyperbolic.tanh,
    "asinh": hyperbolic.asinh,
    "acosh": hyperbolic.acosh,
    "atanh": hyperbolic.atanh,
    "erf": error_function.erf,
    "erfc": error_function.erfc,
    "cbrt": root.cbrt,
    "round": root.round_,
}

#: functions made of others
_COMPOSED = ("tan", "atan", "atan2", "erf", "sinh", "tanh", "asinh", "acosh", "atanh")

#: largest error in ulp of (function, bits); the tests hold each function to it
BOUNDS: dict[tuple[str, int], float] = {
    **{(name, width): 2 for name in _REAL for width in (32, 64)},
    **{(name, width): 3 for name in _COMPOSED for width in (32, 64)},
    **{("cbrt", width): 1 for width in (32, 64)},
    **{("round", width): 0 for width in (32, 64)},
    **{("erfc", width): 4 for width in (32, 64)},
    ("tan", 32): 4,
    ("erf", 32): 2,
    ("tanh", 32): 2,
}


def function(name: str, width: int) -> Callable[..., ir.Value] | None:
    """The function ``name`` of ``width`` bits: of a builder and scalars; None if there is none."""
    if width == 32 and name in math_expansions.EXPANSIONS:
        return math_expansions.EXPANSIONS[name]
    real = _REAL.get(name)
    if real is None or width not in (32, 64):
        return None

    def emit(b: Builder, *args: ir.Value) -> ir.Value:
        return real(*(Real(b, x) for x in args)).value

    return emit
