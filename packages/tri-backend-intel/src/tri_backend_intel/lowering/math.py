"""Math functions by OpenCL's names; the driver brings their code."""

from __future__ import annotations

from collections.abc import Sequence

from tri_backend_intel.dialect.builtins import call_builtin, mangled
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Builder

__all__ = ["MATH", "call_math", "propagating"]

#: name in the lowering -> OpenCL's name; OpenCL C bounds their errors under "Relative Error as ULPs".  Of erf and erfc it allows 16, which the
#: CPU device makes use of: those are expanded
MATH: dict[str, str] = {
    **{
        name: name
        for name in (
            "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "exp", "exp2",
            "expm1", "fmod", "log", "log10", "log1p", "log2", "round", "rsqrt", "sin", "sinh", "sqrt",
            "tan", "tanh",
        )
    },
    "powf": "pow",
    "maxnum": "fmax",
    "minnum": "fmin",
}  # fmt: skip


def call_math(b: Builder, name: str, args: Sequence[ir.Value]) -> ir.Value | None:
    """``name`` of f32 or f64 scalars, ``mulhiui``; None for what OpenCL lacks and for f16, whose functions are optional."""
    type_ = args[0].type
    if name == "mulhiui":  # SPIR-V has no integers of 128 bits to multiply in
        return _high_half_64(b, *args) if type_ == b.i64 else _high_half_32(b, *args)
    if name not in MATH or type_ not in (b.f32, b.f64):
        return None
    symbol = mangled(MATH[name], [a.type for a in args])
    return call_builtin(b, symbol, list(args), [type_])[0]


def _high_half_32(b: Builder, x: ir.Value, y: ir.Value) -> ir.Value:
    symbol = mangled("mul_hi", [x.type, y.type], unsigned=(0, 1))
    return call_builtin(b, symbol, [x, y], [x.type])[0]


def _high_half_64(b: Builder, x: ir.Value, y: ir.Value) -> ir.Value:
    """From halves: Intel's OpenCL CPU runtime gives garbage for ``mul_hi(ulong)`` in some lanes under a mask.

    The halves' own high halves are calls, which hide from LLVM that this is a product of 128 bits.
    """

    def halves(v: ir.Value) -> tuple[ir.Value, ir.Value]:
        return b.int_cast(v, b.i32), b.int_cast(b.lshr(v, 32), b.i32)

    def wide(v: ir.Value) -> ir.Value:
        return b.int_cast(v, b.i64)

    (x0, x1), (y0, y1) = halves(x), halves(y)
    middle = b.add(wide(_high_half_32(b, x0, y0)), wide(b.mul(x1, y0)))
    middle = b.add(middle, wide(b.mul(x0, y1)))
    high = b.add(b.mul(wide(x1), wide(y1)), b.lshr(middle, 32))
    return b.add(b.add(high, wide(_high_half_32(b, x1, y0))), wide(_high_half_32(b, x0, y1)))


def propagating(b: Builder, name: str, x: ir.Value, y: ir.Value) -> ir.Value:
    """``maximum`` or ``minimum``, which NaN wins: OpenCL's fmax and fmin drop it, and LLVM makes those of them."""
    number = b.op(f"llvm.intr.{'maxnum' if name == 'maximum' else 'minnum'}", (x, y), x.type)
    return b.select(b.fcmp("uno", x, y), b.fadd(x, y), number)
