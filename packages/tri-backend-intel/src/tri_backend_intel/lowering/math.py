"""Math functions by OpenCL's names; the driver brings their code."""

from __future__ import annotations

from collections.abc import Sequence

from tri_backend_intel.dialect.builtins import call_builtin, mangled
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Builder

__all__ = ["MATH", "call_math"]

#: name in the lowering -> OpenCL's name; the error bounds for f32 are in OpenCL C, "Relative Error as ULPs"
MATH: dict[str, str] = {
    **{
        name: name
        for name in (
            "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "cos", "cosh", "erf",
            "erfc", "exp", "exp2", "expm1", "floor", "log", "log10", "log1p", "log2", "pow", "round", "rsqrt",
            "sin", "sinh", "sqrt", "tan", "tanh", "trunc",
        )
    },
    "roundeven": "rint",
    "powf": "pow",
}  # fmt: skip


def call_math(b: Builder, name: str, args: Sequence[ir.Value]) -> ir.Value:
    """``name`` of scalars of one float type; f16 goes through f32, where drivers are exact enough."""
    type_ = args[0].type
    if type_ == b.f16:
        wide = [b.op("arith.extf", (a,), b.f32) for a in args]
        return b.op("arith.truncf", (call_math(b, name, wide),), type_)
    symbol = mangled(MATH[name], [a.type for a in args])
    return call_builtin(b, symbol, list(args), [type_])[0]
