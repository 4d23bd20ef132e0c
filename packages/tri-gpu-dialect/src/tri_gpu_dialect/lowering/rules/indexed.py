"""Ops that address elements by run-time values, through shared memory: gather and histogram."""

from __future__ import annotations

from collections.abc import Sequence

from tri_core.dialects.tt.enums import AtomicOp, MemSemantic, MemSyncScope
from tri_core.mlir import ir
from tri_gpu_dialect.layouts import LANE, WARP, shared
from tri_gpu_dialect.lowering.context import Lowered, Lowering, SharedTensor
from tri_gpu_dialect.lowering.indices import is_owner, linear_indices, tensor_coordinates
from tri_gpu_dialect.lowering.primitives import AtomicAccess
from tri_gpu_dialect.lowering.rules.registers import map_registers
from tri_gpu_dialect.lowering.table import Rule
from tri_gpu_dialect.lowering.views import element_address, store_vectors
from tri_gpu_dialect.lowering.words import bit_width, from_memory, memory_type

__all__ = ["RULES"]


def gather(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.gather``: the source is written row-major, every element is read where its index says."""
    source, indices = op.operands
    axis = ir.IntegerAttr(op.attributes["axis"]).value
    values, shape = ctx.registers(source), list(source.type.shape)
    held = values[0].type
    placement = shared.row_major(shape, list(reversed(range(len(shape)))))
    origin = (0,) * len(shape)
    view = SharedTensor(ctx.scratch(op), placement, origin, memory_type(ctx.b, held), held)
    store_vectors(ctx, values, ctx.layout(source.type), view)
    ctx.barrier()
    rows = tensor_coordinates(ctx, indices.type)
    result, align = [], bit_width(view.element) // 8
    for row, index in zip(rows, ctx.registers(indices), strict=True):
        place = list(row)
        place[axis] = ctx.b.int_cast(index, ctx.b.i32)
        address = element_address(ctx, view, place)
        loaded = ctx.hw.load_shared(ctx.b, address, view.element, None, align)
        result.append(from_memory(ctx.b, loaded, held))
    return [result]


def histogram(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.histogram``: counters in shared memory, incremented atomically once per element in range."""
    b, view = ctx.b, op.opview
    base, bins = ctx.scratch(op), op.results[0].type.shape[0]
    element = ctx.storage(op.results[0].type)
    counters = linear_indices(ctx, op.results[0].type)
    for index in {id(i): i for i in counters}.values():
        address = b.gep(base, index, element)
        ctx.hw.store_shared(b, address, b.const(element, 0), None, element.width // 8)
    ctx.barrier()
    _count(ctx, view, base, element, bins)
    ctx.barrier()

    def read(index: ir.Value) -> ir.Value:
        return ctx.hw.load_shared(b, b.gep(base, index, element), element, None, element.width // 8)

    return [map_registers(read, counters)]


def _count(ctx: Lowering, view: ir.OpView, base: ir.Value, element: ir.Type, bins: int) -> None:
    b = ctx.b
    layout = ctx.layout(view.src.type)
    owner = is_owner(ctx, layout, (LANE, WARP))  # each block of a cluster counts for itself
    masks = None if view.mask is None else ctx.registers(view.mask)
    access = AtomicAccess(MemSemantic.RELAXED, MemSyncScope.CTA)
    seen: set[int] = set()
    for register, (image, value) in enumerate(
        zip(layout.images("register"), ctx.registers(view.src), strict=True)
    ):
        if image in seen:
            continue
        seen.add(image)
        # wider than any number of bins, and without a sign
        wide = b.int_cast(value, b.int_type(max(bit_width(value.type), 32)))
        predicate = b.cmp("ult", wide, b.const(wide.type, bins))
        for condition in (owner, None if masks is None else masks[register]):
            predicate = predicate if condition is None else b.and_(predicate, condition)
        address = b.gep(base, wide, element)
        ctx.hw.atomic_rmw(b, AtomicOp.ADD, address, b.const(element, 1), predicate, access)


RULES: dict[str, Rule] = {"tt.gather": gather, "tt.histogram": histogram}
