"""Elementwise ``math`` and ``tt`` ops."""

from __future__ import annotations

from collections.abc import Sequence

from tri_core.dialects.tt import PointerType
from tri_core.dialects.tt.enums import PropagateNan
from tri_core.errors import Unsupported
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import math_expansions
from tri_gpu_dialect.lowering.context import Lowered, Lowering, Registers
from tri_gpu_dialect.lowering.rules.arithmetic import map_floats, mulhi
from tri_gpu_dialect.lowering.rules.floats import from_f32, is_emulated, to_f32
from tri_gpu_dialect.lowering.rules.registers import map_many, map_registers
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

#: functions that few targets have; :mod:`.math_expansions` has them for f32
_FUNCTIONS = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "tanh", "erf", "powf", "rsqrt",
    "asin", "acos", "atan", "sinh", "cosh", "atan2", "cbrt", "round",
)  # fmt: skip

_INTEGER_INTRINSICS = {"math.ctpop": "llvm.intr.ctpop"}


def _intrinsic(name: str) -> Rule:
    def rule(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
        def emit(*xs: ir.Value) -> ir.Value:
            return ctx.hw.math(ctx.b, name, xs) or ctx.b.op(f"llvm.intr.{name}", xs, xs[0].type)

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
    made = ctx.hw.math(ctx.b, name, args)
    if made is not None:
        return made
    expansion = math_expansions.EXPANSIONS.get(name)
    if expansion is None or args[0].type != ctx.b.f32:
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
    """``tt.precise_sqrt``: LLVM's square root is correctly rounded unless it is told otherwise."""

    def emit(x: ir.Value) -> ir.Value:
        return ctx.hw.math(ctx.b, "precise_sqrt", (x,)) or ctx.b.op("llvm.intr.sqrt", (x,), x.type)

    return [map_floats(ctx, op, emit)]


def _divide(word: str) -> Rule:
    def rule(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
        def emit(x: ir.Value, y: ir.Value) -> ir.Value:
            return ctx.hw.math(ctx.b, word, (x, y)) or ctx.b.fdiv(x, y)

        return [map_floats(ctx, op, emit)]

    return rule


def multiply_high(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.mulhiui``."""
    x, y = (ctx.registers(o) for o in op.operands)
    return [map_registers(lambda a, b: mulhi(ctx, a, b, signed=False), x, y)]


def clamp(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.clampf``: NaN wins when it is to propagate, else a bound does."""
    b = ctx.b
    propagate = ir.IntegerAttr(op.attributes["propagateNan"]).value == PropagateNan.ALL
    low, high = ("maximum", "minimum") if propagate else ("maxnum", "minnum")

    def emit(x: ir.Value, least: ir.Value, most: ir.Value) -> ir.Value:
        raised = ctx.hw.math(b, low, (x, least)) or b.op(f"llvm.intr.{low}", (x, least), x.type)
        return ctx.hw.math(b, high, (raised, most)) or b.op(f"llvm.intr.{high}", (raised, most), x.type)

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
    """``tt.extern_elementwise``: a function of a device library."""
    name, symbol = (ir.StringAttr(op.attributes[k]).value for k in ("libname", "symbol"))
    type_ = ctx.storage(op.results[0].type)
    operands = [ctx.registers(o) for o in op.operands]
    return [map_registers(lambda *xs: ctx.hw.extern(ctx.b, name, symbol, xs, type_), *operands)]


def map_region(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.map_elementwise``: the region over ``pack`` consecutive registers at a time."""
    pack = ir.IntegerAttr(op.attributes["pack"]).value
    block = op.regions[0].blocks[0]
    operands = [ctx.registers(o) for o in op.operands]

    def emit(*scalars: ir.Value) -> list[ir.Value]:
        made = ctx.lower_block(block, [[s] for s in scalars])
        return [ctx.only(value) for value in made]

    if pack == 1:
        return list(map_many(emit, len(op.results), *operands))
    results: list[Registers] = [[] for _ in op.results]
    for first in range(0, len(operands[0]), pack):
        made = emit(*(scalar for o in operands for scalar in o[first : first + pack]))
        for i, result in enumerate(results):
            result.extend(made[i * pack : (i + 1) * pack])
    return list(results)


def inline_assembly(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.elementwise_inline_asm``: ``packed_element`` elements of each operand per statement.

    Elements narrower than 32 bits are packed into i32 operands, four bytes or two halves each.
    """
    pack = ir.IntegerAttr(op.attributes["packed_element"]).value
    operands = [ctx.registers(o) for o in op.operands]
    count = max(map(len, operands), default=pack)
    if count % pack:
        raise Unsupported(f"inline assembly for {pack} elements at a time; a thread has {count}")
    results: list[Registers] = [[] for _ in op.results]
    for first in range(0, count, pack):
        groups = [o[first : first + pack] if len(o) > 1 else o * pack for o in operands]
        for result, made in zip(results, _assemble(ctx, op, groups, pack), strict=True):
            result.extend(made)
    return list(results)


def _assemble(ctx: Lowering, op: ir.Operation, groups: list[Registers], pack: int) -> list[Registers]:
    b = ctx.b
    text, constraints = (ir.StringAttr(op.attributes[k]).value for k in ("asm_string", "constraints"))
    pure = bool(ir.IntegerAttr(op.attributes["pure"]).value)
    words = [word for group in groups for word in _to_words(ctx, group)]
    types = [ctx.storage(r.type) for r in op.results]
    shapes = [_word_types(ctx, t, pack) for t in types]
    flat = [t for shape in shapes for t in shape]
    made = iter(ctx.hw.inline_assembly(b, text, constraints, words, flat, pure=pure))
    return [
        _from_words(ctx, [next(made) for _ in shape], t, pack) for t, shape in zip(types, shapes, strict=True)
    ]


def _per_word(ctx: Lowering, type_: ir.Type, pack: int) -> int:
    width = getattr(type_, "width", 64)
    return min(32 // width, pack) if width < 32 else 1


def _word_types(ctx: Lowering, type_: ir.Type, pack: int) -> list[ir.Type]:
    per = _per_word(ctx, type_, pack)
    return [type_] * pack if per == 1 else [ctx.b.i32] * (-(-pack // per))


def _to_words(ctx: Lowering, group: Registers) -> Registers:
    per = _per_word(ctx, group[0].type, len(group))
    if per == 1:
        return group
    b = ctx.b
    width = 32 // per
    words = []
    for first in range(0, len(group), per):
        vector = b.pack(group[first : first + per])
        bits = b.bitcast(vector, b.int_type(width * per))
        words.append(b.int_cast(bits, b.i32))
    return words


def _from_words(ctx: Lowering, words: Registers, type_: ir.Type, pack: int) -> Registers:
    per = _per_word(ctx, type_, pack)
    if per == 1:
        return words
    b = ctx.b
    bits = type_.width * per
    vectors = [b.bitcast(b.int_cast(w, b.int_type(bits)), b.vector_type(type_, per)) for w in words]
    return [scalar for vector in vectors for scalar in b.unpack(vector)][:pack]


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
    "tt.map_elementwise": map_region,
    "tt.elementwise_inline_asm": inline_assembly,
}

RULES: dict[str, Rule] = {
    **{name: _intrinsic(to) for name, to in _INTRINSICS.items()},
    **{f"math.{name}": _function(name) for name in _FUNCTIONS},
    **{name: _integer_intrinsic(to) for name, to in _INTEGER_INTRINSICS.items()},
    "math.absi": absolute,
    "math.isnan": is_nan,
    **_TT,
}
