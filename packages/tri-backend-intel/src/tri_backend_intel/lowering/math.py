"""Math functions by OpenCL's names; the driver brings their code."""

from __future__ import annotations

from collections.abc import Sequence

from tri_backend_intel.dialect.builtins import call_builtin, mangled
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Builder

__all__ = ["MATH", "call_math", "propagating"]

#: name in the lowering -> OpenCL's name; OpenCL C bounds their errors under "Relative Error as ULPs"
MATH: dict[str, str] = {
    **{
        name: name
        for name in (
            "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "erf", "erfc", "exp",
            "exp2", "expm1", "fmod", "log", "log10", "log1p", "log2", "round", "rsqrt", "sin", "sinh", "sqrt",
            "tan", "tanh",
        )
    },
    "powf": "pow",
    "maxnum": "fmax",
    "minnum": "fmin",
}  # fmt: skip


def call_math(b: Builder, name: str, args: Sequence[ir.Value]) -> ir.Value | None:
    """``name`` of f32 or f64 scalars; None for what OpenCL lacks and for f16, whose functions are optional."""
    type_ = args[0].type
    if name == "mulhiui":  # SPIR-V has no integers of 128 bits to multiply in
        symbol = mangled("mul_hi", [a.type for a in args], unsigned=(0, 1))
        return call_builtin(b, symbol, list(args), [type_])[0]
    if name not in MATH or type_ not in (b.f32, b.f64):
        return None
    symbol = mangled(MATH[name], [a.type for a in args])
    return call_builtin(b, symbol, list(args), [type_])[0]


def propagating(b: Builder, name: str, x: ir.Value, y: ir.Value) -> ir.Value:
    """``maximum`` or ``minimum``, which NaN wins: OpenCL's fmax and fmin drop it, and LLVM makes those of them."""
    number = b.op(f"llvm.intr.{'maxnum' if name == 'maximum' else 'minnum'}", (x, y), x.type)
    return b.select(b.fcmp("uno", x, y), b.fadd(x, y), number)
