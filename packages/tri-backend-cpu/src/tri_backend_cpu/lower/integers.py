"""Integer operations that the machine would trap on or leave undefined.

Division never traps: a zero divisor gives some number, the most negative number divided by -1 wraps.
Shifts by the width or more give 0 (or the sign, for an arithmetic right shift).
"""

from __future__ import annotations

from tri_backend_cpu.builder import F32, F64, I32, Builder, width_of
from tri_core.mlir import ir
from tri_core.ttir.types import DType

__all__ = ["divide", "multiply_high", "shift"]


def divide(b: Builder, name: str, dtype: DType, x: ir.Value, y: ir.Value, divisor: int | None) -> ir.Value:
    """``arith.divsi``, ``divui``, ``remsi`` or ``remui``; ``divisor`` is the value of y if it is constant."""
    if divisor is not None and divisor not in (0, -1):
        return b.same(name, x, y)
    signed = name.endswith("si")
    width = width_of(x)
    zero, one = b.constant(0, dtype, width), b.constant(1, dtype, width)
    unsafe = b.cmp("eq", y, zero)
    negate = None
    if signed and dtype.bits > 1:
        negate = b.cmp("eq", y, b.constant(-1, dtype, width))
        unsafe = b.same("arith.ori", unsafe, negate)
    safe = b.select(unsafe, one, y)
    quotient = _quotient(b, dtype, x, safe, signed)
    if name.startswith("arith.rem"):
        return b.same("arith.subi", x, b.same("arith.muli", quotient, safe))
    return quotient if negate is None else b.select(negate, b.same("arith.subi", zero, x), quotient)


def _quotient(b: Builder, dtype: DType, x: ir.Value, y: ir.Value, signed: bool) -> ir.Value:
    """x / y, y being neither 0 nor -1.

    Vectors have no integer division: a float with more than twice the bits gives the exact quotient.
    """
    width = width_of(x)
    if not width or dtype.bits > 32:
        return b.same("arith.divsi" if signed else "arith.divui", x, y)
    via = F64 if dtype.bits == 32 else F32
    kind = b.type(via, width)
    to_float = "arith.sitofp" if signed else "arith.uitofp"
    quotient = b.same("arith.divf", b.op(to_float, kind, x), b.op(to_float, kind, y))
    back = "arith.fptosi" if signed else "arith.fptoui"
    if dtype.bits >= 32:
        return b.op(back, b.type(dtype, width), quotient)
    return b.convert_int(b.op(back, b.type(I32, width), quotient), dtype)


def shift(
    b: Builder, name: str, dtype: DType, x: ir.Value, count: ir.Value, constant: int | None
) -> ir.Value:
    """``arith.shli``, ``shrui`` or ``shrsi``; ``constant`` is the count if it is known."""
    if constant is not None and 0 <= constant < dtype.bits:
        return b.same(name, x, count)
    width = width_of(x)
    last = b.constant(dtype.bits - 1, dtype, width)
    inside = b.cmp("ule", count, last)
    shifted = b.same(name, x, b.select(inside, count, last))
    return shifted if name == "arith.shrsi" else b.select(inside, shifted, b.constant(0, dtype, width))


def multiply_high(b: Builder, dtype: DType, x: ir.Value, y: ir.Value) -> ir.Value:
    """The upper half of the unsigned product."""
    width = width_of(x)
    double = DType(f"i{2 * dtype.bits}", "int", 2 * dtype.bits)
    wide = b.same(
        "arith.muli", b.convert_int(x, double, signed=False), b.convert_int(y, double, signed=False)
    )
    return b.convert_int(b.same("arith.shrui", wide, b.constant(dtype.bits, double, width)), dtype)
