"""Elementwise ``math`` and ``tt`` ops."""

from __future__ import annotations

from collections.abc import Sequence

from tri_core.dialects.tt import PointerType
from tri_core.dialects.tt.enums import PropagateNan
from tri_core.errors import Unsupported
from tri_core.extern_libraries import USER
from tri_core.mlir import ir
from tri_gpu_dialect.lowering.context import Lowered, Lowering
from tri_gpu_dialect.lowering.rules.arithmetic import map_floats, mulhi
from tri_gpu_dialect.lowering.rules.floats import from_f32, is_emulated, to_f32
from tri_gpu_dialect.lowering.rules.registers import map_registers
from tri_gpu_dialect.lowering.table import Rule

__all__ = ["RULES"]

#: ops that every LLVM target selects for f32 (and f64), by the name a target is asked for first
_INTRINSICS = {
    "math.absf": "fabs",
    "math.floor": "floor",
    "math.ceil": "ceil",
    "math.trunc": "trunc",
    "math.roundeven": "roundeven",
    "math.sqrt": "sqrt",
    "math.fma": "fma",
    "math.copysign": "copysign",
}

#: functions that few targets have; :mod:`tri_gpu_dialect.lowering.functions` has them for f32 and f64
_FUNCTIONS = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "tanh", "erf", "powf", "rsqrt",
    "asin", "acos", "atan", "sinh", "cosh", "atan2", "cbrt", "round", "asinh", "acosh", "atanh", "erfc",
)  # fmt: skip

_INTEGER_INTRINSICS = {"math.ctpop": "llvm.intr.ctpop"}


def _intrinsic(name: str) -> Rule:
    def rule(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
        def emit(*xs: ir.Value) -> ir.Value:
            return ctx.math(name, xs) or ctx.b.op(f"llvm.intr.{name}", xs, xs[0].type)

        return [map_floats(ctx, op, emit)]

    return rule


def _function(name: str) -> Rule:
    def rule(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
        type_ = ctx.element(op.operands[0].type)
        if type_.width >= 32:
            return [map_floats(ctx, op, lambda *xs: _evaluate(ctx, name, xs))]
        wide = [
            map_registers(lambda x: to_f32(ctx, x, type_), ctx.registers(operand)) for operand in op.operands
        ]
        made = map_registers(lambda *xs: _evaluate(ctx, name, xs), *wide)
        return [map_registers(lambda x: from_f32(ctx, x, type_), made)]

    return rule


def _evaluate(ctx: Lowering, name: str, args: Sequence[ir.Value]) -> ir.Value:
    """A math function of f32 or f64: the target's word, else the expansion."""
    made = ctx.math(name, args)
    if made is not None:
        return made
    # fifteen modules that only kernels with such a function ask for
    from tri_gpu_dialect.lowering.functions import function

    expansion = function(name, args[0].type.width)
    if expansion is None:
        raise Unsupported(
            f"{ctx.target} has no {name} of {args[0].type}", remedy="compute it in f32, or in other functions"
        )
    return expansion(ctx.b, *args)


def _integer_intrinsic(name: str) -> Rule:
    def rule(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
        registers = ctx.registers(op.operands[0])
        return [map_registers(lambda x: ctx.b.op(name, (x,), x.type), registers)]

    return rule


def absolute(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``math.absi``: the smallest integer stays as it is."""
    b = ctx.b

    def emit(x: ir.Value) -> ir.Value:
        return b.op("llvm.intr.smax", (x, b.sub(b.const(x.type, 0), x)), x.type)

    return [map_registers(emit, ctx.registers(op.operands[0]))]


def is_nan(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``math.isnan``."""
    type_ = ctx.element(op.operands[0].type)

    def emit(x: ir.Value) -> ir.Value:
        wide = to_f32(ctx, x, type_) if is_emulated(ctx, type_) else x
        return ctx.b.fcmp("uno", wide, wide)

    return [map_registers(emit, ctx.registers(op.operands[0]))]


# --- tt ---------------------------------------------------------------------------------------------------


def precise_sqrt(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.precise_sqrt``: LLVM's square root is correctly rounded unless flags say otherwise."""

    def emit(x: ir.Value) -> ir.Value:
        return ctx.math("precise_sqrt", (x,)) or ctx.b.op("llvm.intr.sqrt", (x,), x.type)

    return [map_floats(ctx, op, emit)]


def _divide(word: str) -> Rule:
    def rule(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
        def emit(x: ir.Value, y: ir.Value) -> ir.Value:
            return ctx.math(word, (x, y)) or ctx.b.fdiv(x, y)

        return [map_floats(ctx, op, emit)]

    return rule


def multiply_high(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.mulhiui``: the target's word, else the product in twice as many bits."""
    x, y = (ctx.registers(o) for o in op.operands)

    def emit(a: ir.Value, b: ir.Value) -> ir.Value:
        return ctx.math("mulhiui", (a, b)) or mulhi(ctx, a, b, signed=False)

    return [map_registers(emit, x, y)]


def clamp(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.clampf``: NaN wins when it is to propagate, else a bound does."""
    b = ctx.b
    propagate = ir.IntegerAttr(op.attributes["propagateNan"]).value == PropagateNan.ALL
    low, high = ("maximum", "minimum") if propagate else ("maxnum", "minnum")

    def emit(x: ir.Value, least: ir.Value, most: ir.Value) -> ir.Value:
        raised = ctx.math(low, (x, least)) or b.op(f"llvm.intr.{low}", (x, least), x.type)
        return ctx.math(high, (raised, most)) or b.op(f"llvm.intr.{high}", (raised, most), x.type)

    return [map_floats(ctx, op, emit)]


def add_pointer(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.addptr``: offsets count elements and are signed; the address is as wide as a pointer."""
    pointee = PointerType(ctx.element(op.results[0].type)).pointee_type
    held = in_memory(ctx, pointee)
    pointers, offsets = (ctx.registers(o) for o in op.operands)
    return [map_registers(lambda p, i: ctx.b.gep(p, i, held), pointers, offsets)]


def in_memory(ctx: Lowering, element: ir.Type) -> ir.Type:
    """The type that an element of type ``element`` has in memory: i1 takes a byte."""
    held = ctx.storage(element)
    return ctx.b.i8 if held == ctx.b.i1 else held


def int_to_pointer(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.int_to_ptr``."""
    type_ = ctx.storage(op.results[0].type)
    return [map_registers(lambda x: ctx.b.int_to_ptr(x, type_), ctx.registers(op.operands[0]))]


def pointer_to_int(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.ptr_to_int``."""
    type_ = ctx.storage(op.results[0].type)
    return [map_registers(lambda x: ctx.b.ptr_to_int(x, type_), ctx.registers(op.operands[0]))]


def extern(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.extern_elementwise``: a function of a device library, or of one that the program brings."""
    name, symbol = (ir.StringAttr(op.attributes[k]).value for k in ("libname", "symbol"))
    type_ = ctx.storage(op.results[0].type)
    operands = [ctx.registers(o) for o in op.operands]
    if name == USER or name in {library for library, _, _ in ctx.options.extern_libs}:
        return [map_registers(lambda *xs: ctx.b.call(symbol, xs, [type_])[0], *operands)]
    return [map_registers(lambda *xs: ctx.hw.extern(ctx.b, name, symbol, xs, type_), *operands)]


_TT: dict[str, Rule] = {
    "tt.precise_sqrt": precise_sqrt,
    "tt.precise_divf": _divide("precise_divf"),
    "tt.approx_divf": _divide("approx_divf"),
    "tt.mulhiui": multiply_high,
    "tt.clampf": clamp,
    "tt.addptr": add_pointer,
    "tt.int_to_ptr": int_to_pointer,
    "tt.ptr_to_int": pointer_to_int,
    "tt.extern_elementwise": extern,
}

RULES: dict[str, Rule] = {
    **{name: _intrinsic(to) for name, to in _INTRINSICS.items()},
    **{f"math.{name}": _function(name) for name in _FUNCTIONS},
    **{name: _integer_intrinsic(to) for name, to in _INTEGER_INTRINSICS.items()},
    "math.absi": absolute,
    "math.isnan": is_nan,
    **_TT,
}
