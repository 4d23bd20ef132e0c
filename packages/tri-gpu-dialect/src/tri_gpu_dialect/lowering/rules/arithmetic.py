"""Elementwise ``arith`` ops: each becomes the same scalar op once per distinct register."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tri_core.mlir import ir
from tri_gpu_dialect.lowering.builder import Builder
from tri_gpu_dialect.lowering.context import Lowered, Lowering
from tri_gpu_dialect.lowering.formats import encode_constant
from tri_gpu_dialect.lowering.indices import linear_indices
from tri_gpu_dialect.lowering.rules.floats import (
    cast_float,
    cast_floats,
    format_of,
    from_f32,
    is_emulated,
    to_f32,
)
from tri_gpu_dialect.lowering.rules.registers import map_many, map_registers, runs
from tri_gpu_dialect.lowering.table import Rule

__all__ = ["RULES"]

Binary = Callable[[Builder, ir.Value, ir.Value], ir.Value]

#: integer ops that the builder folds while it emits
_FOLDED: dict[str, Binary] = {
    "arith.addi": Builder.add,
    "arith.subi": Builder.sub,
    "arith.muli": Builder.mul,
    "arith.andi": Builder.and_,
    "arith.ori": Builder.or_,
    "arith.xori": Builder.xor,
    "arith.shli": Builder.shl,
    "arith.shrui": Builder.lshr,
    "arith.shrsi": Builder.ashr,
}

_INTEGER = {
    "arith.divsi": "llvm.sdiv",
    "arith.divui": "llvm.udiv",
    "arith.remsi": "llvm.srem",
    "arith.remui": "llvm.urem",
    "arith.maxsi": "llvm.intr.smax",
    "arith.maxui": "llvm.intr.umax",
    "arith.minsi": "llvm.intr.smin",
    "arith.minui": "llvm.intr.umin",
}

#: float ops that may fuse with a neighbour
_FUSABLE = {"arith.addf": "llvm.fadd", "arith.subf": "llvm.fsub", "arith.mulf": "llvm.fmul"}

#: float ops that a target may have its own word for, asked for by the second name
_FLOAT = {
    "arith.divf": ("llvm.fdiv", "div"),
    "arith.remf": ("llvm.frem", "fmod"),
    "arith.negf": ("llvm.fneg", "neg"),
    "arith.maximumf": ("llvm.intr.maximum", "maximum"),
    "arith.minimumf": ("llvm.intr.minimum", "minimum"),
    "arith.maxnumf": ("llvm.intr.maxnum", "maxnum"),
    "arith.minnumf": ("llvm.intr.minnum", "minnum"),
}

_INTEGER_CASTS = {"arith.extsi": True, "arith.extui": False, "arith.trunci": False}
_TO_FLOAT = {"arith.sitofp": "llvm.sitofp", "arith.uitofp": "llvm.uitofp"}
#: bits of f32's significand
_F32_PRECISION = 24
_TO_INTEGER = {"arith.fptosi": "llvm.fptosi", "arith.fptoui": "llvm.fptoui"}


def _folded(emit: Binary) -> Rule:
    def rule(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
        a, b = (ctx.registers(o) for o in op.operands)
        return [map_registers(lambda x, y: emit(ctx.b, x, y), a, b)]

    return rule


def _integer(name: str) -> Rule:
    def rule(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
        a, b = (ctx.registers(o) for o in op.operands)
        return [map_registers(lambda x, y: ctx.b.op(name, (x, y), x.type), a, b)]

    return rule


def _fusable(name: str) -> Rule:
    def rule(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
        return [map_floats(ctx, op, lambda *xs: ctx.b.op(name, xs, xs[0].type, ctx.fusion))]

    return rule


def _float(name: str, word: str) -> Rule:
    def rule(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
        def emit(*xs: ir.Value) -> ir.Value:
            return ctx.math(word, xs) or ctx.b.op(name, xs, xs[0].type)

        return [map_floats(ctx, op, emit)]

    return rule


def map_floats(ctx: Lowering, op: ir.Operation, emit: Callable[..., ir.Value]) -> list[ir.Value]:
    """``emit`` over the registers of all operands, of one float type; through f32 where it is emulated."""
    type_ = ctx.element(op.operands[0].type)
    operands = [ctx.registers(o) for o in op.operands]
    if not is_emulated(ctx, type_):
        return map_registers(emit, *operands)
    wide = [map_registers(lambda x: to_f32(ctx, x, type_), o) for o in operands]
    return map_registers(lambda x: from_f32(ctx, x, type_), map_registers(emit, *wide))


# --- comparison and selection -----------------------------------------------------------------------------


def compare_integers(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``arith.cmpi``: the predicates are numbered as LLVM numbers them.

    Registers of one run of equal results share that of the first: masks of rows are one predicate where the bound is a multiple
    of the tile's rows, and each combination with the mask of a column is one too.
    """
    given = {"predicate": op.attributes["predicate"]}
    a, b = map(ctx.registers, op.operands)
    if ctx.hw.shares_comparisons:
        first = runs(ctx, op.results[0])
        a, b = ([registers[i] for i in first] for registers in (a, b))
    return [map_registers(lambda x, y: ctx.b.op("llvm.icmp", (x, y), ctx.b.i1, given), a, b)]


def compare_floats(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``arith.cmpf``: the predicates are numbered as LLVM numbers them."""
    given = {"predicate": op.attributes["predicate"]}
    type_ = ctx.element(op.operands[0].type)
    a, b = (ctx.registers(o) for o in op.operands)
    if is_emulated(ctx, type_):
        a, b = (map_registers(lambda x: to_f32(ctx, x, type_), o) for o in (a, b))
    return [map_registers(lambda x, y: ctx.b.op("llvm.fcmp", (x, y), ctx.b.i1, given), a, b)]


def select(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``arith.select``; the condition may be one scalar for whole tensors."""
    return [map_registers(ctx.b.select, *(ctx.registers(o) for o in op.operands))]


# --- casts ------------------------------------------------------------------------------------------------


def _integer_cast(signed: bool) -> Rule:
    def rule(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
        type_ = ctx.storage(op.results[0].type)
        return [map_registers(lambda x: ctx.b.int_cast(x, type_, signed), ctx.registers(op.operands[0]))]

    return rule


def _to_float(name: str) -> Rule:
    """To bf16 of integers that f32 does not hold through f32, as everywhere: some hardware converts them at once, and rounds once."""

    def rule(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
        type_ = ctx.element(op.results[0].type)
        long = ir.IntegerType(ctx.element(op.operands[0].type)).width > _F32_PRECISION
        through = is_emulated(ctx, type_) or (long and isinstance(type_, ir.BF16Type))
        middle = ctx.b.f32 if through else type_

        def emit(x: ir.Value) -> ir.Value:
            return cast_float(ctx, ctx.b.op(name, (x,), middle), middle, type_)

        return [map_registers(emit, ctx.registers(op.operands[0]))]

    return rule


def _to_integer(name: str) -> Rule:
    def rule(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
        source, target = ctx.element(op.operands[0].type), ctx.storage(op.results[0].type)

        def emit(x: ir.Value) -> ir.Value:
            return ctx.b.op(name, (to_f32(ctx, x, source) if is_emulated(ctx, source) else x,), target)

        return [map_registers(emit, ctx.registers(op.operands[0]))]

    return rule


def float_cast(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``arith.extf``, ``arith.truncf``, ``tt.fp_to_fp`` (``rounding`` 0 is toward zero)."""
    source, target = ctx.element(op.operands[0].type), ctx.element(op.results[0].type)
    toward_zero = "rounding" in op.attributes and ir.IntegerAttr(op.attributes["rounding"]).value == 0
    rounding = "rtz" if toward_zero else "rtne"
    registers = ctx.registers(op.operands[0])
    return [cast_floats(ctx, registers, source, target, rounding)]


def bitcast(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``arith.bitcast``, ``tt.bitcast``: also between pointers, which have no type of their own here."""
    type_ = ctx.storage(op.results[0].type)
    return [map_registers(lambda x: ctx.b.bitcast(x, type_), ctx.registers(op.operands[0]))]


# --- constants and the rest -------------------------------------------------------------------------------


def constant(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``arith.constant``: a scalar, or a tensor of one value."""
    value = op.attributes["value"]
    type_ = op.results[0].type
    if isinstance(value, ir.DenseElementsAttr):
        if not value.is_splat:
            return [_from_list(ctx, value, type_)]
        value = value.get_splat_value()
    return [[_scalar_constant(ctx, value, ctx.element(type_))] * ctx.register_count(type_)]


def _scalar_constant(ctx: Lowering, value: ir.Attribute, element: ir.Type) -> ir.Value:
    if isinstance(element, ir.IntegerType):
        return ctx.b.const(element, ir.IntegerAttr(value).value)
    return float_constant(ctx, ir.FloatAttr(value).value, element)


def float_constant(ctx: Lowering, value: float, element: ir.Type) -> ir.Value:
    """A constant of the float type ``element`` as it is held."""
    if is_emulated(ctx, element):
        if ctx.is_exact:
            from tri_core.ring import literal  # NumPy takes longer to import than a kernel to compile

            return ctx.b.const(ctx.storage(element), literal(value, element.width))
        return ctx.b.const(ctx.storage(element), encode_constant(value, format_of(element)))
    return ctx.b.float_(value, element)


def _from_list(ctx: Lowering, value: ir.DenseElementsAttr, type_: ir.Type) -> list[ir.Value]:
    """A tensor of given numbers: each register picks its own by position, a chain of selects."""
    b, element = ctx.b, ctx.element(type_)
    attribute = ir.FloatAttr.get if isinstance(element, ir.FloatType) else ir.IntegerAttr.get
    scalars = [_scalar_constant(ctx, attribute(element, v), element) for v in value]

    def pick(index: ir.Value) -> ir.Value:
        found = scalars[0]
        for i, scalar in enumerate(scalars[1:], 1):
            found = b.select(b.cmp("eq", index, b.int_(i)), scalar, found)
        return found

    return map_registers(pick, linear_indices(ctx, type_))


def _rounded_division(ctx: Lowering, op: ir.Operation, *, up: bool, signed: bool) -> Sequence[Lowered]:
    b = ctx.b

    def emit(x: ir.Value, y: ir.Value) -> ir.Value:
        zero = b.const(x.type, 0)
        quotient = b.op("llvm.sdiv" if signed else "llvm.udiv", (x, y), x.type)
        inexact = b.cmp("ne", b.mul(quotient, y), x)
        if signed:  # truncation is below the quotient when it is positive, above when it is negative
            differ = b.cmp("slt", b.xor(x, y), zero)
            inexact = b.and_(inexact, b.not_(differ) if up else differ)
        step = b.int_cast(inexact, x.type)
        return b.add(quotient, step) if up else b.sub(quotient, step)

    return [map_registers(emit, *(ctx.registers(o) for o in op.operands))]


def ceil_division(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``arith.ceildivsi``, ``arith.ceildivui``."""
    return _rounded_division(ctx, op, up=True, signed=op.name.endswith("si"))


def floor_division(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``arith.floordivsi``."""
    return _rounded_division(ctx, op, up=False, signed=True)


def mulhi(ctx: Lowering, x: ir.Value, y: ir.Value, signed: bool) -> ir.Value:
    """The high half of the product of two integers of at most 64 bits."""
    b, width = ctx.b, x.type.width
    if width <= 32:
        wide = b.int_type(2 * width)
        product = b.mul(b.int_cast(x, wide, signed), b.int_cast(y, wide, signed))
        return b.int_cast(b.lshr(product, width), x.type)
    return _mulhi64(b, x, y, signed)


def _mulhi64(b: Builder, x: ir.Value, y: ir.Value, signed: bool) -> ir.Value:
    """From 32-bit halves: not every target has 128-bit integers."""
    low = b.const(b.i64, 0xFFFFFFFF)
    x0, x1, y0, y1 = b.and_(x, low), b.lshr(x, 32), b.and_(y, low), b.lshr(y, 32)
    middle = b.add(b.mul(x1, y0), b.lshr(b.mul(x0, y0), 32))
    other = b.add(b.mul(x0, y1), b.and_(middle, low))
    high = b.add(b.add(b.mul(x1, y1), b.lshr(middle, 32)), b.lshr(other, 32))
    if signed:  # a negative factor counted as 2 ** 64 more
        high = b.sub(high, b.and_(b.ashr(x, 63), y))
        high = b.sub(high, b.and_(b.ashr(y, 63), x))
    return high


def extended_multiply(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``arith.mulsi_extended``, ``arith.mului_extended``: low and high half."""
    signed = op.name == "arith.mulsi_extended"
    operands = [ctx.registers(o) for o in op.operands]
    return map_many(lambda x, y: (ctx.b.mul(x, y), mulhi(ctx, x, y, signed)), 2, *operands)


def add_with_carry(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``arith.addui_extended``: sum and carry."""
    b = ctx.b

    def emit(x: ir.Value, y: ir.Value) -> tuple[ir.Value, ir.Value]:
        total = b.add(x, y)
        return total, b.cmp("ult", total, x)

    return map_many(emit, 2, *(ctx.registers(o) for o in op.operands))


RULES: dict[str, Rule] = {
    **{name: _folded(emit) for name, emit in _FOLDED.items()},
    **{name: _integer(to) for name, to in _INTEGER.items()},
    **{name: _fusable(to) for name, to in _FUSABLE.items()},
    **{name: _float(*to) for name, to in _FLOAT.items()},
    **{name: _integer_cast(signed) for name, signed in _INTEGER_CASTS.items()},
    **{name: _to_float(to) for name, to in _TO_FLOAT.items()},
    **{name: _to_integer(to) for name, to in _TO_INTEGER.items()},
    "arith.cmpi": compare_integers,
    "arith.cmpf": compare_floats,
    "arith.select": select,
    "arith.extf": float_cast,
    "arith.truncf": float_cast,
    "tt.fp_to_fp": float_cast,
    "arith.bitcast": bitcast,
    "tt.bitcast": bitcast,
    "arith.constant": constant,
    "arith.ceildivsi": ceil_division,
    "arith.ceildivui": ceil_division,
    "arith.floordivsi": floor_division,
    "arith.mulsi_extended": extended_multiply,
    "arith.mului_extended": extended_multiply,
    "arith.addui_extended": add_with_carry,
}
