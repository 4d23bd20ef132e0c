"""Tiles to shared memory by ``stmatrix``: which stores it can do follows from the layouts, as for ``ldmatrix``.

The instruction is ``ldmatrix`` the other way round, so the division of the layouts and its conditions are those of
:func:`tri_backend_nvidia.mma.loads.plan_rows`.  Where a tile changes its layout on the way through memory, the memory's layout is free: it is
made for a writer of whole rows.  That writer is the tile's layout with its bits dealt anew: what lies within a row of 16 bytes counts
as registers, the numbers of rows and of matrices as lanes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from tri_backend_nvidia.machine import StMatrixOp
from tri_backend_nvidia.mma.loads import ROW_BYTES, RowLoad, combinations, plan_rows
from tri_core.ir.traits import source_of
from tri_core.ir.views import cast
from tri_core.mlir import ir
from tri_gpu_dialect.dialect import LocalAllocOp
from tri_gpu_dialect.layouts import (
    BLOCK,
    LANE,
    REGISTER,
    WARP,
    Banks,
    LinearLayout,
    packing,
    vector_access,
)
from tri_gpu_dialect.lowering import Lowered, Lowering, Registers, SharedTensor
from tri_gpu_dialect.lowering.exchange import banks
from tri_gpu_dialect.lowering.indices import apply, offset_by, reach
from tri_gpu_dialect.lowering.rules.shared import shared_tensor
from tri_gpu_dialect.lowering.views import load_vectors, written_part
from tri_gpu_dialect.lowering.words import bit_width, memory_type, to_memory
from tri_gpu_dialect.plans import ThroughShared, block_memory, plan_conversion

__all__ = [
    "allocate",
    "convert",
    "row_memory",
    "store",
    "store_rows",
    "suits_allocation",
    "suits_conversion",
    "suits_store",
]

#: bits of an element; others are stored in vectors
_BITS = 16


# --- tiles in buffers -----------------------------------------------------------------------------------------


def suits_allocation(ctx: Lowering, op: ir.Operation) -> bool:
    """True if a ``ttg.local_alloc`` is filled in rows."""
    value = cast(op, LocalAllocOp).src
    return value is not None and _plan(ctx, value, _allocated(ctx, op)) is not None


def suits_store(ctx: Lowering, op: ir.Operation) -> bool:
    """True if a ``ttg.local_store`` writes rows."""
    source, destination = op.operands
    return _plan(ctx, source, ctx.shared_tensor(destination)) is not None


def allocate(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttg.local_alloc`` of a tile by ``stmatrix``."""
    view = _allocated(ctx, op)
    _store(ctx, cast(op, LocalAllocOp).src, view)
    return [view]


def store(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttg.local_store`` by ``stmatrix``."""
    source, destination = op.operands
    _store(ctx, source, ctx.shared_tensor(destination))
    return []


def _allocated(ctx: Lowering, op: ir.Operation) -> SharedTensor:
    return shared_tensor(ctx, ctx.scratch(op), op.results[0].type)


def _plan(ctx: Lowering, source: ir.Value, view: SharedTensor) -> RowLoad | None:
    if view.padding or bit_width(view.element) != _BITS:
        return None
    return plan_rows(written_part(ctx, source.type, view), view.layout, _BITS)


def _store(ctx: Lowering, source: ir.Value, view: SharedTensor) -> None:
    plan = _plan(ctx, source, view)
    assert plan is not None
    store_rows(ctx, ctx.registers(source), written_part(ctx, source.type, view), view, plan)


def store_rows(
    ctx: Lowering, values: Registers, registers: LinearLayout, view: SharedTensor, plan: RowLoad
) -> None:
    """Write a tensor of 16-bit elements in layout ``registers`` to ``view``, as ``plan`` says."""
    b = ctx.b
    origin = 0
    if any(view.origin):
        origin = view.layout.pseudo_invert().apply_packed(packing.pack(view.layout.outs, view.origin))
    inputs = ctx.inputs()
    start, reached = apply(b, plan.address, inputs)[0], reach(plan.address, list(inputs))[0]
    moved = registers.invert_and_compose(view.layout).images(REGISTER)
    transposed = {"transposed": ir.BoolAttr.get(plan.transposed)}
    for base in combinations(plan.rest):
        words = []
        for matrix in combinations(plan.matrices):
            parts = [to_memory(b, values[base ^ matrix ^ e]) for e in combinations(plan.elements)]
            words.append(b.bitcast(b.pack(parts), b.i32))
        offset = offset_by(b, start, reached, moved[base] ^ origin)
        StMatrixOp.build([b.gep(view.base, offset, view.element), *words], (), transposed)


# --- changes of layout through memory -------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def row_memory(conversion: ThroughShared, own_banks: Banks) -> tuple[LinearLayout, RowLoad] | None:
    """Memory that a piece of ``conversion`` is written to in rows, and how; None where that cannot be.

    Rows, or columns where the destination's vectors run along these.  What reads them may not become narrower.
    """
    source, destination = conversion.source, conversion.destination
    for transposed in (False, True):
        writer = _row_writer(source, transposed=transposed)
        if writer is None:
            continue
        shared = block_memory(writer, destination, _BITS, own_banks)
        plan = plan_rows(source, shared, _BITS)
        if plan is None or plan.transposed != transposed:
            continue
        if _width(destination, shared) >= _width(destination, conversion.shared):
            return shared, plan
    return None


def _width(reader: LinearLayout, shared: LinearLayout) -> int:
    return vector_access(reader, shared, ROW_BYTES * 8 // _BITS).width


def _row_writer(source: LinearLayout, *, transposed: bool) -> LinearLayout | None:
    """``source`` as if its rows were held by single threads; None where it does not hold rows."""
    own, lanes = [c for c in source.packed(REGISTER) if c], source.packed(LANE)
    if len(own) < 1 or len(lanes) != 5 or not all(lanes):
        return None
    word, rest = own[:1], own[1:]
    row, numbers = (lanes[2:], [*word, *lanes[:2]]) if transposed else ([*word, *lanes[:2]], lanes[2:])
    bases = {REGISTER: [*row, *rest[2:]], LANE: [*numbers, *rest[:2]]}
    bases |= {dim: list(source.packed(dim)) for dim in (WARP, BLOCK) if source.has_in(dim)}
    return LinearLayout.from_bases(
        {d: [(c,) for c in columns] for d, columns in bases.items()}, source.out_sizes
    )


def suits_conversion(ctx: Lowering, op: ir.Operation) -> bool:
    """True if a ``ttg.convert_layout`` goes through memory that is written in rows."""
    return _way(ctx, op) is not None


def convert(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``ttg.convert_layout`` through memory, piece by piece, written by ``stmatrix``."""
    found = _way(ctx, op)
    assert found is not None
    plan, shared, rows = found
    values = ctx.registers(source_of(op))
    type_ = values[0].type
    view = SharedTensor(ctx.scratch(op), shared, (0,), memory_type(ctx.b, type_), type_)
    result: dict[int, ir.Value] = {}
    for i, piece in enumerate(plan.pieces):
        if i:
            ctx.barrier()
        store_rows(ctx, [values[r] for r in piece.source], plan.source, view, rows)
        ctx.barrier()
        result |= zip(piece.destination, load_vectors(ctx, plan.destination, view), strict=True)
    return [[result[r] for r in range(ctx.register_count(op.results[0].type))]]


def _way(ctx: Lowering, op: ir.Operation) -> tuple[ThroughShared, LinearLayout, RowLoad] | None:
    source, result = source_of(op).type, op.results[0].type
    have, want = ctx.layout(source), ctx.layout(result)
    held = ctx.registers(source_of(op))[0].type
    if have == want or bit_width(held) != _BITS:
        return None
    own_banks = banks(ctx)
    plan = plan_conversion(have, want, _BITS, own_banks, ctx.conversion_bytes)
    if not isinstance(plan, ThroughShared) or plan.crosses_blocks:
        return None
    found = row_memory(plan, own_banks)
    return None if found is None else (plan, *found)
