"""Rules for functions mapped over elements: the user's own, and inline assembly of the target."""

from __future__ import annotations

from collections.abc import Sequence

from tri_core.errors import Unsupported
from tri_core.mlir import ir
from tri_gpu_dialect.layouts import REGISTER
from tri_gpu_dialect.lowering.context import Lowered, Lowering, Registers
from tri_gpu_dialect.lowering.indices import reach
from tri_gpu_dialect.lowering.rules.registers import map_many
from tri_gpu_dialect.lowering.table import Rule

__all__ = ["RULES"]


def map_region(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.map_elementwise``: the region over ``pack`` neighbouring elements at a time."""
    pack = ir.IntegerAttr(op.attributes["pack"]).value
    block = op.regions[0].blocks[0]
    operands = [ctx.registers(o) for o in op.operands]

    def emit(*scalars: ir.Value) -> list[ir.Value]:
        made = ctx.lower_block(block, [[s] for s in scalars])
        return [ctx.only(value) for value in made]

    if pack == 1:
        return list(map_many(emit, len(op.results), *operands))
    results: list[dict[int, ir.Value]] = [{} for _ in op.results]
    places, images = _neighbours(ctx, op, pack)
    for group in places:
        made = emit(*(o[register] for o in operands for _, register in group))
        for i, result in enumerate(results):
            values = made[i * pack : (i + 1) * pack]
            result |= {image: value for (image, _), value in zip(group, values, strict=True)}
    return [[result[image] for image in images] for result in results]


def _neighbours(
    ctx: Lowering, op: ir.Operation, pack: int
) -> tuple[list[list[tuple[int, int]]], Sequence[int]]:
    """Groups of (place, register) of ``pack`` neighbours in row-major order; and the place of each register."""
    layout = ctx.layout(op.results[0].type)
    flat = layout.transpose_outs(layout.out_dims[::-1]).flatten_outs("place")
    images = flat.images(REGISTER)
    first = {image: register for register, image in reversed(list(enumerate(images)))}
    starts = [image for image in first if image % pack == 0]
    whole = all(start + i in first for start in starts for i in range(pack))
    if not whole or reach(flat, list(ctx.inputs()))[0] & (pack - 1):
        raise Unsupported(
            f"a function of {pack} neighbouring elements mapped over {op.results[0].type}",
            remedy="use a block of more elements, or pack=1",
        )
    return [[(start + i, first[start + i]) for i in range(pack)] for start in starts], images


def inline_assembly(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.elementwise_inline_asm``: ``packed_element`` elements of each operand per statement.

    Elements narrower than 32 bits are packed into i32 operands, four bytes or two halves each.
    """
    pack = ir.IntegerAttr(op.attributes["packed_element"]).value
    operands = [ctx.registers(o) for o in op.operands]
    count = max(map(len, operands), default=ctx.register_count(op.results[0].type))
    results: list[Registers] = [[] for _ in op.results]
    for first in range(0, count, pack):
        # a thread may have fewer elements than a statement takes: the last one stands in
        places = [min(i, count - 1) for i in range(first, first + pack)]
        groups = [[o[i] if len(o) > 1 else o[0] for i in places] for o in operands]
        for result, made in zip(results, _assemble(ctx, op, groups, pack), strict=True):
            result.extend(made[: count - first])
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


RULES: dict[str, Rule] = {"tt.map_elementwise": map_region, "tt.elementwise_inline_asm": inline_assembly}
