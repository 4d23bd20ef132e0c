"""Atomics on vectors: as many aligned neighbours under one mask as the hardware takes at once.

Additions of 16-bit floats that it knows in pairs alone take an element without a neighbour together with negative zero,
which changes no number.
"""

from __future__ import annotations

from collections.abc import Sequence

from tri_core.dialects.tt.enums import AtomicOp
from tri_core.mlir import ir
from tri_gpu_dialect.lowering.context import Lowering
from tri_gpu_dialect.lowering.primitives import AtomicAccess
from tri_gpu_dialect.lowering.rules.floats import is_emulated
from tri_gpu_dialect.lowering.rules.memory import vectors_of
from tri_gpu_dialect.lowering.rules.swap_loops import modify, word_around

__all__ = ["modify_group", "vector_groups"]

_NEGATIVE_ZERO = 0x8000


def vector_groups(
    ctx: Lowering, kind: AtomicOp, element: ir.Type, pointers: ir.Value, mask: ir.Value | None
) -> list[tuple[int, ...]]:
    """Registers of neighbours under one mask that one instruction changes, or of single elements; every element once."""
    vectors = vectors_of(ctx, pointers, mask)
    size = min(vectors.width, _width(ctx, kind, element))
    return [tuple(group[i : i + size]) for group in vectors.groups for i in range(0, len(group), size)]


def modify_group(
    ctx: Lowering,
    kind: AtomicOp,
    address: ir.Value,
    values: Sequence[ir.Value],
    element: ir.Type,
    predicate: ir.Value | None,
    access: AtomicAccess,
) -> list[ir.Value]:
    """The old values at ``address`` and behind it, combined with ``values`` where ``predicate``."""
    b = ctx.b
    if len(values) > 1:
        return b.unpack(ctx.hw.atomic_rmw(b, kind, address, b.pack(values), predicate, access))
    if _width(ctx, kind, element) > 1 and not ctx.hw.has_atomic(kind, element):
        return [_add_with_zero(ctx, address, values[0], predicate, access)]
    return [modify(ctx, kind, address, values[0], element, predicate, access)]


def _width(ctx: Lowering, kind: AtomicOp, element: ir.Type) -> int:
    return 1 if is_emulated(ctx, element) else ctx.hw.atomic_width(kind, element)


def _add_with_zero(
    ctx: Lowering, address: ir.Value, value: ir.Value, predicate: ir.Value | None, access: AtomicAccess
) -> ir.Value:
    """Add the 16-bit float ``value`` at ``address`` as a pair with negative zero; what was there."""
    b, type_ = ctx.b, value.type
    word, shift = word_around(b, address, 16)
    neutral = b.op("llvm.shl", (b.int_(_NEGATIVE_ZERO), b.sub(b.int_(16), shift)), b.i32)
    own = b.op("llvm.shl", (b.int_cast(b.bitcast(value, b.i16), b.i32), shift), b.i32)
    added = b.bitcast(b.or_(own, neutral), b.vector_type(type_, 2))
    old = b.bitcast(ctx.hw.atomic_rmw(b, AtomicOp.FADD, word, added, predicate, access), b.i32)
    return b.bitcast(b.int_cast(b.op("llvm.lshr", (old, shift), b.i32), b.i16), type_)
