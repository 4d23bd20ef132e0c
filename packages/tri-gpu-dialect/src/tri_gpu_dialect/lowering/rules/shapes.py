"""Shape ops: no code, only another order of the registers, found by the layouts.

Each op says what layout its operand has when it is seen in the result's shape.  Where the result's layout
orders registers differently, they are converted, which for the layouts that passes choose makes no code.
"""

from __future__ import annotations

from collections.abc import Sequence

from tri_core.errors import Unsupported
from tri_core.mlir import ir
from tri_gpu_dialect.layouts import REGISTER, LinearLayout
from tri_gpu_dialect.lowering.context import Lowered, Lowering, Registers
from tri_gpu_dialect.lowering.exchange import convert
from tri_gpu_dialect.lowering.indices import tensor_coordinates
from tri_gpu_dialect.lowering.rules.registers import map_registers
from tri_gpu_dialect.lowering.table import Rule
from tri_gpu_dialect.plans import views
from tri_gpu_dialect.plans.attributes import flag

__all__ = ["RULES"]


def make_range(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.make_range``: the coordinates of the registers."""
    start = ctx.b.int_(ir.IntegerAttr(op.attributes["start"]).value)
    rows = tensor_coordinates(ctx, op.results[0].type)
    return [map_registers(lambda index: ctx.b.add(start, index), [row[0] for row in rows])]


def splat(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.splat``."""
    return [[ctx.scalar(op.operands[0])] * ctx.register_count(op.results[0].type)]


def unsplat(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.unsplat``."""
    return [ctx.registers(op.operands[0])[:1]]


def _as_result(
    ctx: Lowering, op: ir.Operation, values: Registers, have: LinearLayout, result: int = 0
) -> Registers:
    want = ctx.layout(op.results[result].type)
    return convert(ctx, values, have, want, lambda: ctx.scratch(op))


def expand_dims(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.expand_dims``."""
    axis = ir.IntegerAttr(op.attributes["axis"]).value
    have = ctx.layout(op.operands[0].type)
    return [_as_result(ctx, op, ctx.registers(op.operands[0]), views.insert_dim(have, axis))]


def broadcast(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.broadcast``: the result's registers, seen at coordinate 0 of every stretched dimension."""
    have, want = ctx.layout(op.operands[0].type), ctx.layout(op.results[0].type)
    narrow = LinearLayout(want.ins, want.outs, want.columns)
    for name in have.out_dims:
        if have.out_size(name) == 1:
            narrow = narrow.resize_out(name, 1)
    return [convert(ctx, ctx.registers(op.operands[0]), have, narrow, lambda: ctx.scratch(op))]


def reshape(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.reshape``: row-major; with ``allow_reorder`` the registers stay as they are where they can."""
    values = ctx.registers(op.operands[0])
    have, want = ctx.layout(op.operands[0].type), ctx.layout(op.results[0].type)
    free = flag(op, "allow_reorder")
    if free and views.interchangeable(have, want):
        return [values]
    return [_as_result(ctx, op, values, views.row_major(have, list(op.results[0].type.shape)))]


def trans(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.trans``."""
    have = ctx.layout(op.operands[0].type)
    order = list(ir.DenseI32ArrayAttr(op.attributes["order"]))
    return [_as_result(ctx, op, ctx.registers(op.operands[0]), views.permuted(have, order))]


def join(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.join``: the operands' registers take turns."""
    left, right = (ctx.registers(o) for o in op.operands)
    have = views.joined(ctx.layout(op.operands[0].type))
    values = [value for both in zip(left, right, strict=True) for value in both]
    return [_as_result(ctx, op, values, have)]


def split(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.split``: one register bit says which half."""
    layout = ctx.layout(op.operands[0].type)
    name = layout.out_dims[-1]
    half = layout.without_outs(name)
    which = layout.sublayout(layout.in_dims, [name])
    bits = [i for i, column in enumerate(which.packed(REGISTER)) if column]
    if not bits or any(c for d in layout.in_dims if d != REGISTER for c in which.packed(d)):
        raise Unsupported(
            "tt.split of a tensor whose halves are in different threads",
            remedy="convert it so that the last dimension is in registers",
        )
    values = ctx.registers(op.operands[0])
    bit = 1 << bits[0]
    chosen = which.images(REGISTER)
    lefts = [r for r in range(len(values)) if not r & bit]
    kept = _without_register_bit(half, bits[0])
    results: list[Lowered] = []
    for side in (0, 1):
        # where further bits say which half as well, the bit chosen is flipped against them
        picked = [values[r if chosen[r] == side else r ^ bit] for r in lefts]
        results.append(_as_result(ctx, op, picked, kept, side))
    return results


def _without_register_bit(layout: LinearLayout, bit: int) -> LinearLayout:
    start = 0
    for name, bits in layout.ins:
        if name == REGISTER:
            break
        start += bits
    ins = tuple((name, n - (name == REGISTER)) for name, n in layout.ins)
    columns = (*layout.columns[: start + bit], *layout.columns[start + bit + 1 :])
    return LinearLayout(ins, layout.outs, columns)


def cat(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.cat``: elements in any order, so one operand's registers after the other's."""
    left, right = (ctx.registers(o) for o in op.operands)
    count = ctx.register_count(op.results[0].type)
    if len(left) + len(right) != count:
        raise Unsupported("tt.cat of tensors that hold copies of elements", remedy="use larger blocks")
    return [[*left, *right]]


def convert_layout(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttg.convert_layout``."""
    have = ctx.layout(op.operands[0].type)
    return [_as_result(ctx, op, ctx.registers(op.operands[0]), have)]


RULES: dict[str, Rule] = {
    "tt.make_range": make_range,
    "tt.splat": splat,
    "tt.unsplat": unsplat,
    "tt.expand_dims": expand_dims,
    "tt.broadcast": broadcast,
    "tt.reshape": reshape,
    "tt.trans": trans,
    "tt.join": join,
    "tt.split": split,
    "tt.cat": cat,
    "ttg.convert_layout": convert_layout,
}
