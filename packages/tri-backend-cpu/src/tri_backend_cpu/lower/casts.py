"""Conversions between numbers, correctly rounded for every pair of types.

Narrow floats are computed on as f32.  An 8-bit result saturates at its largest finite number, as GPUs'
conversions do; f16 and bf16 overflow to infinity.  A float outside of an integer's range gives the nearest
integer, NaN gives 0.
"""

from __future__ import annotations

from tri_backend_cpu.builder import F16, F32, F64, I32, Builder, width_of
from tri_backend_cpu.graph.floats import largest_magnitude, nan_magnitude
from tri_core.mlir import ir
from tri_core.ttir.types import DType, FloatFormat, dtype_of

__all__ = ["compute_type", "convert", "float_to_int", "int_to_float", "narrow", "widen"]


def compute_type(dtype: DType) -> DType:
    """The type that arithmetic on ``dtype`` is done in: f32 for narrower floats, otherwise itself."""
    return F32 if dtype.is_float and dtype.bits < 32 else dtype


def widen(b: Builder, value: ir.Value, dtype: DType) -> ir.Value:
    """``value`` in its compute type, exactly."""
    if not dtype.is_float or dtype.bits >= 32:
        return value
    if dtype == F16 and b.native_half:
        return b.op("arith.extf", b.type(F32, width_of(value)), value)
    return _decode(b, value, dtype)


def narrow(b: Builder, value: ir.Value, dtype: DType, *, toward_zero: bool = False) -> ir.Value:
    """An f32 ``value`` rounded to ``dtype`` (a type whose compute type is f32)."""
    if dtype == F32:
        return value
    if dtype == F16 and b.native_half and not toward_zero:
        return b.op("arith.truncf", b.type(F16, width_of(value)), value)
    return _encode(b, value, dtype, toward_zero=toward_zero)


def convert(
    b: Builder,
    value: ir.Value,
    source: DType,
    target: DType,
    *,
    signed: bool = True,
    toward_zero: bool = False,
) -> ir.Value:
    """``value`` as ``target``: any number to any number (integers by truncation and extension)."""
    if source == target:
        return value
    if source.is_int and target.is_int:
        return b.convert_int(value, target, signed=signed and source.bits > 1)
    if source.is_int:
        return int_to_float(b, value, source, target, signed=signed)
    if target.is_int:
        return float_to_int(b, value, source, target, signed=signed)
    return _float_to_float(b, value, source, target, toward_zero=toward_zero)


def _float_to_float(
    b: Builder, value: ir.Value, source: DType, target: DType, *, toward_zero: bool
) -> ir.Value:
    if source != F64:
        wide = widen(b, value, source)
        if target == F64:
            return b.op("arith.extf", b.type(F64, width_of(value)), wide)
        return narrow(b, wide, target, toward_zero=toward_zero)
    if target == F32 and not toward_zero:
        return b.op("arith.truncf", b.type(F32, width_of(value)), value)
    return narrow(b, _round_to_odd(b, value, odd=target != F32), target, toward_zero=toward_zero)


def int_to_float(
    b: Builder, value: ir.Value, source: DType, target: DType, *, signed: bool = True
) -> ir.Value:
    """An integer as a float, rounded to nearest even."""
    name = "arith.sitofp" if signed and source.bits > 1 else "arith.uitofp"
    wide = compute_type(target)
    made = b.op(name, b.type(wide, width_of(value)), value)
    return made if wide == target else narrow(b, made, target)


def float_to_int(
    b: Builder, value: ir.Value, source: DType, target: DType, *, signed: bool = True
) -> ir.Value:
    """A float toward zero as an integer, saturated; NaN gives 0."""
    wide, width = compute_type(source), width_of(value)
    value = widen(b, value, source)
    signed = signed and target.bits > 1
    low, high = (-(1 << (target.bits - 1)), 1 << (target.bits - 1)) if signed else (0, 1 << target.bits)
    inner = target if target.bits >= 32 else I32  # i32 holds every narrow integer
    raw = b.op("arith.fptosi" if signed or inner != target else "arith.fptoui", b.type(inner, width), value)
    raw = b.convert_int(raw, target)
    above = b.fcmp("oge", value, b.constant(float(high), wide, width))
    below = b.fcmp("olt", value, b.constant(float(low), wide, width))
    inside = b.select(above, b.constant(high - 1, target, width), raw)
    inside = b.select(below, b.constant(low, target, width), inside)
    return b.select(b.fcmp("uno", value, value), b.constant(0, target, width), inside)


# --- formats as bits ------------------------------------------------------------------------------------


def _bits(dtype: DType) -> DType:
    return dtype_of(f"i{dtype.bits}")


def _decode(b: Builder, value: ir.Value, dtype: DType) -> ir.Value:
    """Bits of a narrow format as f32.

    The exponent and mantissa, moved to f32's place, are the number times ``2**(bias - 127)``, also for
    subnormal ones: one exact multiplication puts that right.
    """
    layout, width = dtype.format, width_of(value)
    bits = b.convert_int(b.bitcast(value, _bits(dtype)), I32, signed=False)
    shift = 23 - layout.mantissa
    if layout.exponent == 8:
        return b.bitcast(b.same("arith.shli", bits, b.constant(shift, I32, width)), F32)
    ones = (1 << (layout.exponent + layout.mantissa)) - 1
    magnitude = b.same("arith.andi", bits, b.constant(ones, I32, width))
    moved = b.same("arith.shli", magnitude, b.constant(shift, I32, width))
    scale = b.constant(2.0 ** (127 - layout.bias), F32, width)
    finite = b.bitcast(b.same("arith.mulf", b.bitcast(moved, F32), scale), I32)
    result = _restore_nonfinite(b, finite, bits, magnitude, moved, layout)
    sign = b.same("arith.andi", bits, b.constant(ones + 1, I32, width))
    sign = b.same("arith.shli", sign, b.constant(31 - layout.exponent - layout.mantissa, I32, width))
    return b.bitcast(b.same("arith.ori", result, sign), F32)


def _restore_nonfinite(
    b: Builder, finite: ir.Value, bits: ir.Value, magnitude: ir.Value, moved: ir.Value, layout: FloatFormat
) -> ir.Value:
    width = width_of(finite)
    nan = b.constant(nan_magnitude(layout), I32, width)
    quiet = b.constant(0x7FC00000, I32, width)
    match layout.nonfinite:
        case "ieee":
            limit = b.constant(largest_magnitude(layout), I32, width)
            special = b.same("arith.ori", moved, b.constant(0x7F800000, I32, width))
            return b.select(b.cmp("ugt", magnitude, limit), special, finite)
        case "nan_all_ones":
            return b.select(b.cmp("eq", magnitude, nan), quiet, finite)
        case "nan_negative_zero":
            return b.select(b.cmp("eq", bits, nan), quiet, finite)


def _encode(b: Builder, value: ir.Value, dtype: DType, *, toward_zero: bool) -> ir.Value:
    """f32 rounded to a narrow format, as a register value of that type."""
    layout, width = dtype.format, width_of(value)
    bits = b.bitcast(value, I32)
    absolute = b.same("arith.andi", bits, b.constant(0x7FFFFFFF, I32, width))
    result = _round_normal(b, absolute, layout, toward_zero)
    if layout.bias != 127:
        tiny = b.cmp("ult", absolute, b.constant((128 - layout.bias) << 23, I32, width))
        result = b.select(tiny, _round_subnormal(b, absolute, layout, toward_zero), result)
    result = _limit(b, absolute, result, layout, saturate=dtype.bits == 8 or toward_zero)
    result = _sign(b, bits, result, layout)
    if dtype.bits == 8 and layout.nonfinite == "nan_negative_zero":
        result = _without_negative_zero(b, absolute, result, layout)
    return b.bitcast(b.convert_int(result, _bits(dtype)), dtype)


def _round_normal(b: Builder, absolute: ir.Value, layout: FloatFormat, toward_zero: bool) -> ir.Value:
    width, drop = width_of(absolute), 23 - layout.mantissa
    if not toward_zero:
        odd = b.same("arith.shrui", absolute, b.constant(drop, I32, width))
        odd = b.same("arith.andi", odd, b.constant(1, I32, width))
        half = b.constant((1 << (drop - 1)) - 1, I32, width)
        absolute = b.same("arith.addi", absolute, b.same("arith.addi", odd, half))
    shifted = b.same("arith.shrui", absolute, b.constant(drop, I32, width))
    return b.same("arith.subi", shifted, b.constant((127 - layout.bias) << layout.mantissa, I32, width))


def _round_subnormal(b: Builder, absolute: ir.Value, layout: FloatFormat, toward_zero: bool) -> ir.Value:
    """The number of smallest steps in a value below the smallest normal one."""
    width = width_of(absolute)
    scale = b.constant(2.0 ** (layout.bias - 1 + layout.mantissa), F32, width)
    limit = b.constant(float(1 << (layout.mantissa + 1)), F32, width)
    steps = b.same("arith.mulf", b.bitcast(absolute, F32), scale)
    steps = b.same("arith.minnumf", steps, limit)  # lanes that are not subnormal only have to stay in range
    if not toward_zero:
        steps = b.same("math.roundeven", steps)
    return b.op("arith.fptosi", b.type(I32, width), steps)


def _limit(
    b: Builder, absolute: ir.Value, result: ir.Value, layout: FloatFormat, *, saturate: bool
) -> ir.Value:
    width = width_of(result)
    largest = largest_magnitude(layout)
    over = b.constant(largest if saturate else largest + 1, I32, width)
    result = b.select(b.cmp("sgt", result, b.constant(largest, I32, width)), over, result)
    infinity = b.constant(0x7F800000, I32, width)
    if layout.nonfinite == "ieee" and layout.exponent + layout.mantissa > 7:
        result = b.select(b.cmp("eq", absolute, infinity), b.constant(largest + 1, I32, width), result)
    nan = b.constant(nan_magnitude(layout), I32, width)
    return b.select(b.cmp("ugt", absolute, infinity), nan, result)


def _sign(b: Builder, bits: ir.Value, result: ir.Value, layout: FloatFormat) -> ir.Value:
    width, place = width_of(bits), layout.exponent + layout.mantissa
    sign = b.same("arith.shrui", bits, b.constant(31 - place, I32, width))
    return b.same("arith.ori", result, b.same("arith.andi", sign, b.constant(1 << place, I32, width)))


def _without_negative_zero(b: Builder, absolute: ir.Value, result: ir.Value, layout: FloatFormat) -> ir.Value:
    """-0 becomes 0 where its pattern means NaN."""
    width = width_of(result)
    nan = b.constant(nan_magnitude(layout), I32, width)
    number = b.cmp("ule", absolute, b.constant(0x7F800000, I32, width))
    zero = b.same("arith.andi", b.cmp("eq", result, nan), number)
    return b.select(zero, b.constant(0, I32, width), result)


def _round_to_odd(b: Builder, value: ir.Value, *, odd: bool) -> ir.Value:
    """f64 as f32, toward zero, with the last bit set when inexact (``odd``): a second rounding is then exact."""
    width = width_of(value)
    near = b.op("arith.truncf", b.type(F32, width), value)
    back = b.op("arith.extf", b.type(F64, width), near)
    bits = b.bitcast(near, I32)
    beyond = b.fcmp("ogt", b.same("math.absf", back), b.same("math.absf", value))
    bits = b.same("arith.subi", bits, b.op("arith.extui", b.type(I32, width), beyond))
    if odd:
        inexact = b.fcmp("one", back, value)
        bits = b.same("arith.ori", bits, b.op("arith.extui", b.type(I32, width), inexact))
    return b.bitcast(bits, F32)
