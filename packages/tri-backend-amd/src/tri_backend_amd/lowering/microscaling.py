"""Rules of microscaling conversions: two elements by an instruction on gfx950, arithmetic elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tri_backend_amd.dialect.conversions import ConvertScaledOp
from tri_backend_amd.dialect.microscaling import SOURCES, Layouts, scales_like, source_of
from tri_backend_amd.lowering.casts import upper_half
from tri_core.mlir import ir
from tri_gpu_dialect import layouts
from tri_gpu_dialect.layouts import REGISTER
from tri_gpu_dialect.lowering import Lowered, Lowering, LoweringTable
from tri_gpu_dialect.lowering.context import Registers
from tri_gpu_dialect.lowering.rules.floats import from_f32, to_f32

__all__ = ["add_rules"]

#: e2m1 in the topmost bits of an f32's exponent and mantissa is too small by this
_FP4_FACTOR = 2.0**126
_SMALLEST = 0x00400000  # 2**-127


def _fp4(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``amdg.scaled_upcast_fp4``."""
    scales = _each(ctx, op.operands[1], _of_bf16)
    axis = ir.IntegerAttr(op.attributes["axis"]).value
    return [_converted(ctx, op, "fp4", scales, axis)]


def _fp8(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``amdg.scaled_upcast_fp8``."""
    scales = _each(ctx, op.operands[1], _of_bf16)
    kind = str(op.operands[0].type.element_type)
    source = next(name for name, each in SOURCES.items() if each.type == kind)
    return [_converted(ctx, op, source, scales, None)]


def _mxfp(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``amdg.upcast_mxfp`` whose scales are where they are needed."""
    source = source_of(ir.IntegerAttr(op.attributes["fp_type"]).value) or ""
    scales = _each(ctx, op.operands[1], _exponent)
    return [_converted(ctx, op, source, scales, Layouts.of(op).k)]


def _scales_are_near(ctx: Lowering, op: ir.Operation) -> bool:
    return layouts.of(op.operands[1].type) == scales_like(Layouts.of(op))


def _each(ctx: Lowering, scale: ir.Value, read: Callable[[Lowering, ir.Value], ir.Value]) -> Registers:
    """The exponents of all registers; those that have one value share one."""
    registers = ctx.registers(scale)
    made = {each: read(ctx, each) for each in dict.fromkeys(registers)}
    return [made[each] for each in registers]


def _exponent(ctx: Lowering, value: ir.Value) -> ir.Value:
    """An e8m0 as the exponent of an i32 that holds an f32."""
    return ctx.b.shl(ctx.b.int_cast(value, ctx.b.i32), 23)


def _of_bf16(ctx: Lowering, value: ir.Value) -> ir.Value:
    """The exponent bits of a bf16, where an f32 has them."""
    b = ctx.b
    bits = value if isinstance(value.type, ir.IntegerType) else b.bitcast(value, b.i16)
    return b.shl(b.and_(b.int_cast(bits, b.i32), b.int_(0x7F80)), 16)


def _converted(
    ctx: Lowering, op: ir.Operation, source: str, scales: Registers, axis: int | None
) -> Registers:
    """Every register of the result; ``scales`` are exponents (i32), one for each."""
    element = op.results[0].type.element_type
    words = ctx.registers(op.operands[0])
    found: dict[int, ir.Value] = {}
    fours: dict[int, ir.Value] = {}
    for word, pair in _pairs(ctx, op, source, axis):
        same = scales[pair[0]] == scales[pair[-1]]
        if ctx.target.has("cdna4") and len(pair) == 2 and same:
            both, half = _word(ctx, words, word, fours)
            made = _by_hardware(ctx, both, half, scales[pair[0]], source, element)
            found |= zip(pair, made, strict=True)
            continue
        raw = [ctx.b.int_cast(words[each], ctx.b.i32) for each in word]
        for number, register in enumerate(pair):
            value = _number(ctx, raw[0] if len(raw) == 1 else raw[number], number, source)
            found[register] = _product(ctx, value, scales[register], element, exact=source == "fp4")
    return [found[register] for register in range(len(scales))]


def _pairs(
    ctx: Lowering, op: ir.Operation, source: str, axis: int | None
) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Registers of the source, and those of the result that come from them, in order."""
    result = ctx.layout(op.results[0].type)
    places = [result.unpack_out(image) for image in result.images(REGISTER)]
    if source != "fp4" or axis is None:
        count = len(places)
        return [(both, both) for both in (tuple(range(i, min(i + 2, count))) for i in range(0, count, 2))]
    packed = ctx.layout(op.operands[0].type)
    held = {packed.unpack_out(image): register for register, image in enumerate(packed.images(REGISTER))}
    found: dict[int, dict[int, list[int]]] = {}
    for register, place in enumerate(places):
        byte = tuple(v // 2 if d == axis else v for d, v in enumerate(place))
        found.setdefault(held[byte], {}).setdefault(place[axis] % 2, []).append(register)
    return [
        ((byte,), pair) for byte, halves in found.items() for pair in zip(halves[0], halves[1], strict=True)
    ]


def _word(
    ctx: Lowering, words: Registers, which: tuple[int, ...], fours: dict[int, ir.Value]
) -> tuple[ir.Value, int]:
    """A word that holds the bytes ``which`` in its lower or upper half, and the half; ``fours``: words of four by their first byte."""
    b = ctx.b
    if len(which) == 1:
        return b.int_cast(words[which[0]], b.i32), 0
    first = which[0] - which[0] % 4
    if first not in fours:
        bytes_ = [b.bitcast(each, b.int_type(8)) for each in words[first : first + 4]]
        zeros = [b.const(b.int_type(8), 0)] * (4 - len(bytes_))
        fours[first] = b.bitcast(b.pack([*bytes_, *zeros]), b.i32)
    return fours[first], which[0] % 4 // 2


def _by_hardware(
    ctx: Lowering, word: ir.Value, half: int, scale: ir.Value, source: str, element: ir.Type
) -> Sequence[ir.Value]:
    b = ctx.b
    attributes = {"source": ir.StringAttr.get(source), "high": ir.IntegerAttr.get(b.i32, half)}
    made = ConvertScaledOp.build([word, b.bitcast(scale, b.f32)], [b.vector_type(element, 2)], attributes)
    return b.unpack(made[0])


def _number(ctx: Lowering, word: ir.Value, half: int, source: str) -> ir.Value:
    """One number of ``word`` as an f32."""
    b = ctx.b
    if source != "fp4":
        type_ = ir.Type.parse(SOURCES[source].type)
        return to_f32(ctx, b.int_cast(word, b.int_type(8)), type_)
    nibble = b.lshr(word, 4 * half)
    magnitude = b.shl(b.and_(nibble, b.int_(7)), 22)
    sign = b.shl(b.and_(nibble, b.int_(8)), 28)
    return b.fmul(b.bitcast(b.or_(magnitude, sign), b.f32), b.float_(_FP4_FACTOR))


def _product(ctx: Lowering, value: ir.Value, scale: ir.Value, element: ir.Type, *, exact: bool) -> ir.Value:
    """``value`` times the scale whose exponent is given; an exponent of all ones is NaN.

    ``exact``: bf16 holds every product, as it does those of two bits with any power of two that f32 holds.
    """
    b = ctx.b
    invalid = b.cmp("eq", scale, b.int_(0xFF << 23))
    bits = b.select(b.cmp("eq", scale, b.int_(0)), b.int_(_SMALLEST), scale)
    bits = b.select(invalid, b.int_(0x7FC00000), bits)
    product = b.fmul(value, b.bitcast(bits, b.f32))
    if exact and element == b.bf16:
        return upper_half(b, product)
    return from_f32(ctx, product, element)


def add_rules(table: LoweringTable) -> None:
    """Register the rules."""
    table.add("amdg.scaled_upcast_fp4", _fp4, owner=f"{__name__}.scaled_upcast_fp4")
    table.add("amdg.scaled_upcast_fp8", _fp8, owner=f"{__name__}.scaled_upcast_fp8")
    table.add("amdg.upcast_mxfp", _mxfp, when=_scales_are_near, owner=f"{__name__}.upcast_mxfp")
