"""Casts between float types, and how values of emulated types are computed on."""

from __future__ import annotations

from tri_core.errors import Unsupported
from tri_core.mlir import ir
from tri_gpu_dialect.lowering.context import Lowering, Registers, by_name
from tri_gpu_dialect.lowering.formats import FORMATS, FloatFormat, decode, encode, narrow_to_odd

__all__ = ["cast_float", "cast_floats", "format_of", "from_f32", "is_emulated", "to_f32"]


def format_of(type_: ir.Type) -> FloatFormat:
    """The format of a small float type; Unsupported when it is unknown."""
    found = FORMATS.get(str(type_))
    if found is None:
        raise Unsupported(f"the float format {type_} is not known", remedy="cast to f16, bf16 or f32")
    return found


def is_emulated(ctx: Lowering, type_: ir.Type) -> bool:
    """True if values of the float ``type_`` (an element type) are held as integers."""
    return isinstance(type_, ir.FloatType) and not ctx.hw.native(str(type_))


def to_f32(ctx: Lowering, value: ir.Value, type_: ir.Type) -> ir.Value:
    """``value`` of the float ``type_``, at most 32 bits wide, as f32, exactly."""
    return cast_float(ctx, value, type_, ctx.b.f32)


def from_f32(ctx: Lowering, value: ir.Value, type_: ir.Type) -> ir.Value:
    """An f32 rounded to ``type_``."""
    return cast_float(ctx, value, ctx.b.f32, type_)


def cast_float(
    ctx: Lowering, value: ir.Value, source: ir.Type, target: ir.Type, rounding: str = "rtne"
) -> ir.Value:
    """``value`` of float type ``source`` as ``target``; ``rounding`` is ``"rtne"`` or ``"rtz"``."""
    if source == target:
        return value
    if ctx.is_exact:
        return _by_name(ctx, value, source, target, rounding)
    made = ctx.hw.cast(ctx.b, value, str(source), str(target), rounding)
    if made is not None:
        return made
    narrows = target.width < source.width or (target.width == source.width and target != source)
    plain = not is_emulated(ctx, source) and not is_emulated(ctx, target)
    if plain and target.width > source.width:
        return ctx.b.op("llvm.fpext", (value,), target)
    if plain and rounding == "rtne" and target.width < source.width:
        return ctx.b.op("llvm.fptrunc", (value,), target)
    return _through_f32(ctx, value, source, target, truncate=narrows and rounding == "rtz")


def cast_floats(
    ctx: Lowering, registers: Registers, source: ir.Type, target: ir.Type, rounding: str = "rtne"
) -> Registers:
    """:func:`cast_float` of all registers of a tensor; equal ones are cast once and stay shared."""
    if source == target:
        return registers
    values = list(dict.fromkeys(registers))
    made = None if ctx.is_exact else ctx.hw.casts(ctx.b, values, str(source), str(target), rounding)
    if made is None:
        made = [cast_float(ctx, value, source, target, rounding) for value in values]
    cast = dict(zip(values, made, strict=True))
    return [cast[value] for value in registers]


def _by_name(ctx: Lowering, value: ir.Value, source: ir.Type, target: ir.Type, rounding: str) -> ir.Value:
    """The cast of exact passes: low bits, or an extension by the sign; toward zero a function of its own."""
    if min(source.width, target.width) < 16:
        raise Unsupported(
            f"exact passes have no cast of {source} to {target}",
            remedy="verify the kernel without exact passes",
        )
    name = "rtz" if rounding == "rtz" and target.width < source.width else "cast"
    return by_name(ctx.b, name, [value], ctx.storage(target))


def _through_f32(
    ctx: Lowering, value: ir.Value, source: ir.Type, target: ir.Type, *, truncate: bool
) -> ir.Value:
    b = ctx.b
    middle = _widen(ctx, value, source)
    if target == b.f32:
        return middle if source != b.f64 else _narrow_toward_zero(ctx, value)
    if target == b.f64:
        return b.op("llvm.fpext", (middle,), target)
    if not is_emulated(ctx, target) and not truncate:
        return b.op("llvm.fptrunc", (middle,), target)
    bits = encode(b, middle, format_of(target), truncate=truncate)
    return bits if is_emulated(ctx, target) else b.bitcast(bits, target)


def _widen(ctx: Lowering, value: ir.Value, source: ir.Type) -> ir.Value:
    b = ctx.b
    if source == b.f64:
        return narrow_to_odd(b, value)
    if source == b.f32:
        return value
    return (
        decode(b, value, format_of(source))
        if is_emulated(ctx, source)
        else b.op("llvm.fpext", (value,), b.f32)
    )


def _narrow_toward_zero(ctx: Lowering, value: ir.Value) -> ir.Value:
    """f64 to f32 toward zero: to nearest, then one back when that went away from zero."""
    b = ctx.b
    near = b.op("llvm.fptrunc", (value,), b.f32)
    size = b.op("llvm.intr.fabs", (value,), b.f64)
    got = b.op("llvm.intr.fabs", (b.op("llvm.fpext", (near,), b.f64),), b.f64)
    too_large = b.int_cast(b.fcmp("ogt", got, size), b.i32)
    return b.bitcast(b.sub(b.bitcast(near, b.i32), too_large), b.f32)
