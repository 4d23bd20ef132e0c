"""Table of ops and the functions that implement them."""

from __future__ import annotations

from collections.abc import Callable

from tri_backend_cpu.builder import Builder
from tri_backend_cpu.vector_math.exponential import exp, exp2
from tri_backend_cpu.vector_math.hyperbolic import erf_f32, tanh_f32
from tri_backend_cpu.vector_math.libm import per_lane
from tri_backend_cpu.vector_math.logarithm import log, log2
from tri_backend_cpu.vector_math.number import Float
from tri_backend_cpu.vector_math.trigonometric import cos, sin
from tri_core.mlir import ir
from tri_core.ttir.types import DType

__all__ = ["FUNCTIONS", "apply"]

Formula = Callable[[Float], Float]


def _rsqrt(x: Float) -> Float:
    return x.lift(1.0) / x.sqrt()


#: formulas for both types
_FORMULAS: dict[str, Formula] = {
    "math.exp": exp,
    "math.exp2": exp2,
    "math.log": log,
    "math.log2": log2,
    "math.sin": sin,
    "math.cos": cos,
    "math.rsqrt": _rsqrt,
}
#: formulas for f32 alone; f64 goes to the C library
_FORMULAS_F32: dict[str, Formula] = {"math.tanh": tanh_f32, "math.erf": erf_f32}
#: functions of the C library
_LIBM = {
    "math.acos": "acos",
    "math.acosh": "acosh",
    "math.asin": "asin",
    "math.asinh": "asinh",
    "math.atan": "atan",
    "math.atan2": "atan2",
    "math.atanh": "atanh",
    "math.cbrt": "cbrt",
    "math.cosh": "cosh",
    "math.erf": "erf",
    "math.erfc": "erfc",
    "math.expm1": "expm1",
    "math.log10": "log10",
    "math.log1p": "log1p",
    "math.powf": "pow",
    "math.sinh": "sinh",
    "math.tan": "tan",
    "math.tanh": "tanh",
}

#: every op that :func:`apply` knows
FUNCTIONS = frozenset(_FORMULAS) | frozenset(_LIBM)


def apply(b: Builder, name: str, dtype: DType, *operands: ir.Value) -> ir.Value:
    """Op ``name`` of :data:`FUNCTIONS` on ``operands`` of ``dtype``, which is f32 or f64."""
    formula = _FORMULAS.get(name)
    if formula is None and dtype.bits == 32:
        formula = _FORMULAS_F32.get(name)
    if formula is not None:
        return formula(Float(b, operands[0], dtype)).value
    return per_lane(b, _LIBM[name], dtype, *operands)
