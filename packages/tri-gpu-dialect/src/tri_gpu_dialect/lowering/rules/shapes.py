"""Shape ops: no code, only another order of the registers, found by the layouts.

Where the result's layout is not the one that the op gives by itself, the registers are converted.
"""

from __future__ import annotations

from collections.abc import Sequence

from tri_core.errors import InternalError
from tri_core.mlir import ir
from tri_gpu_dialect.layouts import REGISTER, LinearLayout
from tri_gpu_dialect.lowering.context import Lowered, Lowering, Registers
from tri_gpu_dialect.lowering.indices import tensor_coordinates
from tri_gpu_dialect.lowering.table import Rule

__all__ = ["RULES", "rearrange"]


def make_range(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.make_range``: the coordinates of the registers."""
    start = ctx.b.int_(ir.IntegerAttr(op.attributes["start"]).value)
    rows = tensor_coordinates(ctx, op.results[0].type)
    return [_shared([row[0] for row in rows], lambda index: ctx.b.add(start, index))]


def _shared(values: Registers, function: object) -> Registers:
    from tri_gpu_dialect.lowering.rules.registers import map_registers

    return map_registers(function, values)


def splat(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.splat``."""
    return [[ctx.scalar(op.operands[0])] * ctx.register_count(op.results[0].type)]


def unsplat(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.unsplat``."""
    return [ctx.registers(op.operands[0])[:1]]


def rearrange(ctx: Lowering, values: Registers, have: LinearLayout, want: LinearLayout) -> Registers:
    """Registers in layout ``have`` as ``want`` orders them; lanes and warps already agree.

    InternalError when an element would have to come from another thread.
    """
    conversion = want.invert_and_compose(have)
    registers = conversion.in_size(REGISTER)
    for dim in conversion.in_dims:
        for i, column in enumerate(conversion.bases[dim]):
            moved = dict(zip(conversion.out_dims, column, strict=True))
            own = 1 << i if dim != REGISTER else 0
            others = {d: v for d, v in moved.items() if d not in (REGISTER, dim) and v}
            if others or (dim != REGISTER and (moved.get(dim, 0) != own or moved[REGISTER])):
                raise InternalError(f"registers would change threads between {have} and {want}")
    table = conversion.sublayout([REGISTER], [REGISTER]).images(REGISTER)
    return [values[table[r]] for r in range(registers)]


def _same_thread(transform: object) -> Rule:
    raise NotImplementedError
