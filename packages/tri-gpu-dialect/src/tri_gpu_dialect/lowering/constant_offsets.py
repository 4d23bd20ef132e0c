"""Constants in offsets stay apart, so that the accesses of a thread share an address.

The elements of a range that a thread has differ by constants, and so do the rows of a tile that it loads: their addresses are
one, plus what an instruction adds for nothing.  LLVM sees that in sums, but not through the products and extensions that
offsets are made of (what is multiplied is used elsewhere, in masks above all), and then every row has an address of its own
in two registers.  These rules keep each value as a sum of a base and a constant::

    (x + 8) * 2048  ->  x * 2048 + 16384        p + (x + 8)  ->  (p + x) + 8

All of it is exact modulo the width, but for extensions: only sums that are known not to wrap are extended in two parts.

For targets whose loads and stores add a constant of 20 bits or more: a backend adds the rules with :func:`add_rules`.
"""

from __future__ import annotations

from collections.abc import Sequence

from tri_core.dialects.tt import PointerType
from tri_core.mlir import ir
from tri_gpu_dialect.lowering.context import Lowered, Lowering, Sum
from tri_gpu_dialect.lowering.rules.elementwise import in_memory
from tri_gpu_dialect.lowering.rules.registers import map_registers
from tri_gpu_dialect.lowering.table import LoweringTable

__all__ = ["add_rules"]

#: widths of the integers that addresses are made of
_WIDTHS = (32, 64)


def add_rules(table: LoweringTable) -> None:
    """Register the rules, in place of the generic ones for the same ops."""
    table.add("arith.addi", _add, when=_has_offsets, owner=f"{__name__}.addi")
    table.add("arith.muli", _multiply, when=_has_offsets, owner=f"{__name__}.muli")
    table.add("arith.extsi", _extend, when=_extends_offsets, owner=f"{__name__}.extsi")
    table.add("tt.addptr", _add_pointer, owner=f"{__name__}.addptr")


def _has_offsets(ctx: Lowering, op: ir.Operation) -> bool:
    type_ = ctx.element(op.results[0].type)
    return isinstance(type_, ir.IntegerType) and type_.width in _WIDTHS


def _extends_offsets(ctx: Lowering, op: ir.Operation) -> bool:
    return ctx.element(op.operands[0].type).width in _WIDTHS


def _split(ctx: Lowering, value: ir.Value) -> Sum:
    known = ctx.sums.get(value)
    return known if known is not None else Sum(value, 0)


def _joined(ctx: Lowering, base: ir.Value, constant: int, *, exact: bool = False) -> ir.Value:
    """``base + constant``, remembered as that."""
    made = ctx.b.add(base, ctx.b.const(base.type, constant))
    if constant and made != base and ctx.b.known(made) is None:
        ctx.sums[made] = Sum(base, constant, exact)
    return made


def _add(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``arith.addi``."""

    def emit(x: ir.Value, y: ir.Value) -> ir.Value:
        for value, other in ((x, y), (y, x)):
            known = ctx.b.known(other)
            if known is not None:
                part = _split(ctx, value)
                return _joined(ctx, part.base, part.constant + known)
        left, right = _split(ctx, x), _split(ctx, y)
        return _joined(ctx, ctx.b.add(left.base, right.base), left.constant + right.constant)

    return [map_registers(emit, *(ctx.registers(o) for o in op.operands))]


def _multiply(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``arith.muli``: by a constant."""

    def emit(x: ir.Value, y: ir.Value) -> ir.Value:
        for value, factor in ((x, y), (y, x)):
            known = ctx.b.known(factor)
            if known is not None and (part := _split(ctx, value)).constant:
                return _joined(ctx, ctx.b.mul(part.base, factor), part.constant * known)
        return ctx.b.mul(x, y)

    return [map_registers(emit, *(ctx.registers(o) for o in op.operands))]


def _extend(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``arith.extsi``."""
    type_ = ctx.storage(op.results[0].type)

    def emit(x: ir.Value) -> ir.Value:
        part = _split(ctx, x)
        if not part.exact:
            return ctx.b.int_cast(x, type_, signed=True)
        return _joined(ctx, ctx.b.int_cast(part.base, type_, signed=True), part.constant, exact=True)

    return [map_registers(emit, ctx.registers(op.operands[0]))]


def _add_pointer(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.addptr``: the constant part is the last that is added, in bytes."""
    held = in_memory(ctx, PointerType(ctx.element(op.results[0].type)).pointee_type)
    size = held.width // 8 if isinstance(held, (ir.IntegerType, ir.FloatType)) else ctx.b.i64.width // 8

    def emit(pointer: ir.Value, index: ir.Value) -> ir.Value:
        moved, by = _split(ctx, pointer), _split(ctx, index)
        if by.constant and not (by.exact or by.base.type.width == ctx.b.i64.width):
            by = Sum(index, 0)
        known = ctx.b.known(by.base)
        if known is not None:
            by, base = Sum(by.base, by.constant + known), moved.base
        else:
            base = ctx.b.gep(moved.base, by.base, held)
        constant = moved.constant + by.constant * size
        made = ctx.b.gep(base, ctx.b.int_(constant, 64), ctx.b.i8)
        if constant:
            ctx.sums[made] = Sum(base, constant)
        return made

    return [map_registers(emit, *(ctx.registers(o) for o in op.operands))]
