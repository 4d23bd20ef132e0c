"""``ttg.local_load`` of the left operands of DPAS by reads of a whole sub-group: which loads they can do follows from the layouts alone."""

from __future__ import annotations

from collections.abc import Sequence

from tri_backend_intel.dialect.local_blocks import LocalBlockReadOp
from tri_backend_intel.operand_memory import rows_read
from tri_core.ir.views import cast
from tri_core.mlir import ir
from tri_gpu_dialect.dialect import LocalLoadOp
from tri_gpu_dialect.encodings import decode
from tri_gpu_dialect.layouts import LANE, REGISTER, vector_access
from tri_gpu_dialect.lowering import Lowered, Lowering, LoweringTable
from tri_gpu_dialect.lowering.views import addresses, own_part
from tri_gpu_dialect.lowering.words import bit_width, from_memory

__all__ = ["EXTENSION", "add_rules", "load", "suits"]

#: what a driver must take
EXTENSION = "SPV_INTEL_subgroups"


def suits(ctx: Lowering, op: ir.Operation) -> bool:
    """True where each fragment's rows follow each other in local memory, their elements over the lanes."""
    type_ = op.results[0].type
    view = ctx.shared_tensor(cast(op, LocalLoadOp).src)
    rows = rows_read(decode(type_.encoding), bit_width(view.element))
    if not rows or view.padding:
        return False
    registers = own_part(ctx, type_, view)
    whole = vector_access(registers, view.layout, 1).conversion
    lanes, own = whole.packed(LANE), whole.packed(REGISTER)
    few = rows.bit_length() - 1
    wanted = [1 << i for i in range(len(lanes) + few)]
    size, others = (
        1 << len(wanted),
        [*own[few:], *(c for d in whole.in_dims if d not in (LANE, REGISTER) for c in whole.packed(d))],
    )
    origin = view.layout.pseudo_invert().apply(dict(zip(view.layout.out_dims, view.origin, strict=True)))
    return [*lanes, *own[:few]] == wanted and not any(c % size for c in (*others, *map(int, origin.values())))


def load(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """One read for the rows of each fragment."""
    b, type_ = ctx.b, op.results[0].type
    view = ctx.shared_tensor(cast(op, LocalLoadOp).src)
    rows = rows_read(decode(type_.encoding), bit_width(view.element))
    vectors, _ = addresses(ctx, own_part(ctx, type_, view), view, 1, (LANE,))
    places = {group[0]: address for group, address in vectors}
    images = own_part(ctx, type_, view).images(REGISTER)
    by_image: dict[int, ir.Value] = {}
    for first in range(0, len(images), rows):
        if images[first] in by_image:
            continue
        read = LocalBlockReadOp.build([places[first]], [b.int_type(16)] * rows)
        for image, value in zip(images[first : first + rows], read, strict=True):
            by_image[image] = from_memory(b, b.bitcast(value, view.element), view.type)
    return [[by_image[image] for image in images]]


def add_rules(table: LoweringTable) -> None:
    """Put the rule above the generic one."""
    table.add("ttg.local_load", load, benefit=10, when=suits, owner=f"{__name__}.load")
