"""Elementwise math: ``tl.math``, also in :mod:`tri.language` itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tri.language import types as t
from tri.language.arithmetic import operands, operands_of_three
from tri.language.builtin import builtin, member
from tri.language.casts import bitcast, convert, value_of
from tri.language.tensor import tensor
from tri_core.errors import CompilationError

if TYPE_CHECKING:
    from tri.compiler.builder import Builder

__all__ = [
    "abs",
    "ceil",
    "cos",
    "div_rn",
    "erf",
    "exp",
    "exp2",
    "fdiv",
    "floor",
    "fma",
    "log",
    "log2",
    "rsqrt",
    "sin",
    "sqrt",
    "sqrt_rn",
    "umulhi",
]

_WIDE = ("fp32", "fp64")


def _unary(b: Builder, function: str, op: str, x: Any, dtypes: tuple[str, ...] = _WIDE) -> tensor:
    value = value_of(b, x)
    if value.dtype.name not in dtypes:
        raise CompilationError(
            f"{function} takes {' or '.join(dtypes)}, got {value.dtype}",
            remedy=f"cast it: tl.{function}(x.to(tl.float32))",
        )
    return b.value(op, value.type, value)


@member
@builtin
def exp(x: Any, *, _semantic: Builder) -> tensor:
    """e to the power of each element of ``x`` (fp32 or fp64), in its shape and dtype; CompilationError for other dtypes."""
    return _unary(_semantic, "exp", "math.exp", x)


@member
@builtin
def exp2(x: Any, *, _semantic: Builder) -> tensor:
    """2 to the power of each element of ``x`` (fp32 or fp64), in its shape and dtype; CompilationError for other dtypes."""
    return _unary(_semantic, "exp2", "math.exp2", x)


@member
@builtin
def log(x: Any, *, _semantic: Builder) -> tensor:
    """The natural logarithm of each element (fp32 or fp64): NaN below 0, -inf at 0; CompilationError for other dtypes."""
    return _unary(_semantic, "log", "math.log", x)


@member
@builtin
def log2(x: Any, *, _semantic: Builder) -> tensor:
    """The logarithm to base 2 of each element (fp32 or fp64): NaN below 0, -inf at 0; CompilationError for other dtypes."""
    return _unary(_semantic, "log2", "math.log2", x)


@member
@builtin
def sin(x: Any, *, _semantic: Builder) -> tensor:
    """The sine of each element, in radians (fp32 or fp64); CompilationError for other dtypes."""
    return _unary(_semantic, "sin", "math.sin", x)


@member
@builtin
def cos(x: Any, *, _semantic: Builder) -> tensor:
    """The cosine of each element, in radians (fp32 or fp64); CompilationError for other dtypes."""
    return _unary(_semantic, "cos", "math.cos", x)


@member
@builtin
def sqrt(x: Any, *, _semantic: Builder) -> tensor:
    """The square root of each element (fp32 or fp64), with the target's fast rounding; CompilationError for other dtypes."""
    return _unary(_semantic, "sqrt", "math.sqrt", x)


@member
@builtin
def sqrt_rn(x: Any, *, _semantic: Builder) -> tensor:
    """The square root of each element (fp32), rounded to nearest even; CompilationError for other dtypes."""
    return _unary(_semantic, "sqrt_rn", "tt.precise_sqrt", x, ("fp32",))


@member
@builtin
def rsqrt(x: Any, *, _semantic: Builder) -> tensor:
    """1 / sqrt(x) of each element (fp32 or fp64); CompilationError for other dtypes."""
    return _unary(_semantic, "rsqrt", "math.rsqrt", x)


@member
@builtin
def erf(x: Any, *, _semantic: Builder) -> tensor:
    """The error function of each element (fp32 or fp64); CompilationError for other dtypes."""
    return _unary(_semantic, "erf", "math.erf", x)


@member
@builtin
def floor(x: Any, *, _semantic: Builder) -> tensor:
    """The largest integer not above each element, as a float of its dtype (fp32 or fp64); CompilationError for other dtypes."""
    return _unary(_semantic, "floor", "math.floor", x)


@member
@builtin
def ceil(x: Any, *, _semantic: Builder) -> tensor:
    """The smallest integer not below each element, as a float of its dtype (fp32 or fp64); CompilationError for other dtypes."""
    return _unary(_semantic, "ceil", "math.ceil", x)


@member
@builtin
def abs(x: Any, *, _semantic: Builder) -> tensor:
    """The absolute value of each element, in the shape and dtype of ``x``: any integer (the least signed one stays) or float.

    CompilationError for pointers.
    """
    b = _semantic
    value = value_of(b, x)
    scalar = value.dtype
    if scalar.is_fp8():
        return _abs_of_fp8(b, value)
    if scalar.is_floating():
        return b.value("math.absf", value.type, value)
    if scalar.is_int_signed():
        return b.value("math.absi", value.type, value)
    if scalar.is_int_unsigned():
        return value
    raise CompilationError(f"abs is not defined for {scalar}")


def _abs_of_fp8(b: Builder, x: tensor) -> tensor:
    """Without the sign bit; formats without -0 have their NaN where it would be."""
    if x.dtype in (t.float8e4b8, t.float8e5b16):
        wide = convert(b, x, t.float32)
        return convert(b, b.value("math.absf", wide.type, wide), x.dtype)
    bits = bitcast(b, x, t.uint8)
    return bitcast(b, b.value("arith.andi", bits.type, bits, b.constant(0x7F, bits.type)), x.dtype)


@builtin
def fma(x: Any, y: Any, z: Any, *, _semantic: Builder) -> tensor:
    """``x * y + z``, elementwise and rounded once: floats of one dtype after promotion, broadcast to one shape.

    CompilationError for integers, and for shapes that do not broadcast.
    """
    b = _semantic
    x, y, z = operands_of_three(b, "fma", x, y, z)
    if not x.dtype.is_floating():
        raise CompilationError(f"fma takes floats, got {x.dtype}", remedy="write x * y + z for integers")
    return b.value("math.fma", x.type, x, y, z)


def _fp32_pair(b: Builder, function: str, x: Any, y: Any, dtypes: tuple[str, ...]) -> tuple[tensor, tensor]:
    left, right = operands(b, function, x, y)
    if left.dtype.name not in dtypes:
        raise CompilationError(
            f"{function} takes {' or '.join(dtypes)}, got {left.dtype}", remedy="cast to tl.float32"
        )
    return left, right


@builtin
def div_rn(x: Any, y: Any, *, _semantic: Builder) -> tensor:
    """``x / y``, elementwise and rounded to nearest even: fp32 after promotion, broadcast to one shape; CompilationError for other dtypes."""
    left, right = _fp32_pair(_semantic, "div_rn", x, y, ("fp32",))
    return _semantic.value("tt.precise_divf", left.type, left, right)


@builtin
def fdiv(x: Any, y: Any, ieee_rounding: bool = False, approx: bool = False, *, _semantic: Builder) -> tensor:
    """``x / y`` of floats, elementwise: promoted to one dtype (fp32 or fp64), broadcast to one shape.

    ``ieee_rounding``: rounded to nearest even in fp32; ``approx``: the target's fast division, of fp32 only.
    CompilationError for integers, for ``approx`` of another dtype, and for both at once.
    """
    if approx and ieee_rounding:
        raise CompilationError("approx and ieee_rounding cannot both be True", remedy="leave one of them out")
    left, right = operands(_semantic, "fdiv", x, y, division=True)
    if not left.dtype.is_floating():
        raise CompilationError(f"fdiv takes floats, got {left.dtype}", remedy="write x / y")
    if approx and left.dtype is not t.float32:
        raise CompilationError(
            f"approx division requires float32 operands, got {left.dtype}",
            remedy="leave approx out, or convert to tl.float32",
        )
    op = "tt.approx_divf" if approx and left.dtype is t.float32 else "arith.divf"
    if ieee_rounding and left.dtype is t.float32:
        op = "tt.precise_divf"
    return _semantic.value(op, left.type, left, right)


@builtin
def umulhi(x: Any, y: Any, *, _semantic: Builder) -> tensor:
    """The high half of the unsigned product, elementwise: 32- or 64-bit integers after promotion, broadcast to one shape.

    CompilationError for other dtypes.
    """
    left, right = operands(_semantic, "umulhi", x, y)
    if left.dtype.name not in ("int32", "uint32", "int64", "uint64"):
        raise CompilationError(f"umulhi takes 32- or 64-bit integers, got {left.dtype}")
    return _semantic.value("tt.mulhiui", left.type, left, right)
