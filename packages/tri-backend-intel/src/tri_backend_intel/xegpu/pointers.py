"""Accesses by pointers, element by element and under any mask: what belongs to a dot's result, in rows of 16 lanes.

A tensor of pointers is an address, and a vector of offsets from it.  Upstream deals such accesses to lanes by rows of one
instruction's width, not by blocks of 8 of them.
"""

from __future__ import annotations

from tri_backend_intel.xegpu.conversion import Conversion, Rule, is_pointers
from tri_backend_intel.xegpu.layouts import DotLayouts, refusal
from tri_backend_intel.xegpu.origins import dot_of_result, stores_of
from tri_core.dialects.tt import PointerType
from tri_core.mlir import ir

__all__ = ["addptr", "load_pointers", "make_range", "of_offsets", "store_pointers"]


def make_range(ctx: Conversion, op: ir.Operation, operands: list[ir.Value]) -> list[ir.Value]:
    """Numbers one after another."""
    del operands
    type_ = ctx.type_of(op.results[0])
    steps = ctx.one("vector.step", [], ir.VectorType.get(type_.shape, ctx.index))
    start = ir.IntegerAttr(op.attributes["start"]).value
    made = ctx.cast(steps, type_)
    if not start:
        return [made]
    return [ctx.one("arith.addi", [made, _everywhere(type_, start)], type_)]


def _everywhere(type_: ir.Type, number: int) -> ir.Value:
    value = ir.DenseElementsAttr.get_splat(type_, ir.IntegerAttr.get(type_.element_type, number))
    return ir.Operation.create("arith.constant", results=[type_], attributes={"value": value}).results[0]


def of_offsets(rule: Rule) -> Rule:
    """``rule``, which moves elements, for tensors of pointers as well."""

    def moved(ctx: Conversion, op: ir.Operation, operands: list[ir.Value]) -> list[ir.Value]:
        (result,), (source,) = op.results, op.operands
        if not is_pointers(result.type):
            return rule(ctx, op, operands)
        if not is_pointers(source.type):  # one pointer, everywhere
            ctx.bases[result] = ctx.one("llvm.ptrtoint", operands, ctx.i64)
            return [_everywhere(ctx.type_of(result), 0)]
        ctx.bases[result] = ctx.bases[source]
        return rule(ctx, op, operands)

    return moved


def addptr(ctx: Conversion, op: ir.Operation, operands: list[ir.Value]) -> list[ir.Value]:
    """Offsets further, or one pointer."""
    (result,), (source, by) = op.results, operands
    if is_pointers(result.type):
        ctx.bases[result] = ctx.bases[op.operands[0]]
        further = ctx.cast(by, source.type)
        return ctx.make("arith.addi", [source, further], source.type)
    address = ctx.one("llvm.ptrtoint", [source], ctx.i64)
    if by.type != ctx.i64:
        by = ctx.one("arith.extsi", [by], ctx.i64)
    size = PointerType(result.type).pointee_type.width // 8
    step = ctx.one("arith.muli", [by, ctx.number(ctx.i64, size)], ctx.i64)
    moved = ctx.one("arith.addi", [address, step], ctx.i64)
    return ctx.make("llvm.inttoptr", [moved], source.type)


def load_pointers(ctx: Conversion, op: ir.Operation, operands: list[ir.Value]) -> list[ir.Value]:
    """What elementwise ops join to a dot's result; ``other`` where the mask is false."""
    _check(op, op.results[0].type)
    stores = stores_of(op)
    if not stores:
        raise refusal(op, "what it loads does not meet a dot's result")
    base, type_ = ctx.bases[op.operands[0]], ctx.type_of(op.results[0])
    mask = operands[1] if len(operands) > 1 else _everywhere(_bits(type_), 1)
    found = ctx.one("xegpu.load", [base, operands[0], mask], type_, layout=_rows(stores[0], ctx.warps))
    if len(operands) > 2:
        found = ctx.one("arith.select", [mask, found, operands[2]], type_)
    return [found]


def store_pointers(ctx: Conversion, op: ir.Operation, operands: list[ir.Value]) -> list[ir.Value]:
    """A dot's result, after elementwise ops."""
    offsets, value, *masks = operands
    _check(op, op.operands[1].type)
    mask = masks[0] if masks else _everywhere(_bits(value.type), 1)
    base = ctx.bases[op.operands[0]]
    return ctx.make("xegpu.store", [value, base, offsets, mask], layout=_rows(op, ctx.warps))


def _rows(store: ir.Operation, warps: int) -> ir.Attribute:
    return DotLayouts.of(dot_of_result(store), warps).by_rows()


def _bits(type_: ir.Type) -> ir.Type:
    return ir.VectorType.get(type_.shape, ir.IntegerType.get_signless(1))


def _check(op: ir.Operation, type_: ir.Type) -> None:
    if not is_pointers(op.operands[0].type) or type_.rank != 2:
        raise refusal(op, "accesses by pointers have two dimensions, those of a dot's result")
