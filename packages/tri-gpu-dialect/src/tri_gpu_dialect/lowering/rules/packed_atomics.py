"""Atomic additions of 16-bit floats on hardware that adds two neighbours, in an aligned word, at once.

An element without a neighbour to go with is added together with negative zero, which changes no number.
"""

from __future__ import annotations

from collections.abc import Sequence

from tri_core.dialects.tt.enums import AtomicOp
from tri_core.mlir import ir
from tri_gpu_dialect.lowering.context import Lowering
from tri_gpu_dialect.lowering.primitives import AtomicAccess
from tri_gpu_dialect.lowering.rules.memory import vectors_of
from tri_gpu_dialect.lowering.rules.swap_loops import word_around

__all__ = ["add_packed", "pairs"]

_NEGATIVE_ZERO = 0x8000


def pairs(ctx: Lowering, pointers: ir.Value, mask: ir.Value | None) -> list[tuple[int, ...]]:
    """Registers of two neighbours in a word under one mask, or of single elements; every element once."""
    vectors = vectors_of(ctx, pointers, mask)
    size = min(vectors.width, 2)
    return [tuple(group[i : i + size]) for group in vectors.groups for i in range(0, len(group), size)]


def add_packed(
    ctx: Lowering,
    address: ir.Value,
    values: Sequence[ir.Value],
    predicate: ir.Value | None,
    access: AtomicAccess,
) -> list[ir.Value]:
    """Add ``values``, one or two, at ``address`` and behind it; what was there."""
    b = ctx.b
    if len(values) == 2:
        old = ctx.hw.atomic_rmw(b, AtomicOp.FADD, address, b.pack(values), predicate, access)
        return b.unpack(old)
    type_ = values[0].type
    word, shift = word_around(b, address, 16)
    neutral = b.op("llvm.shl", (b.int_(_NEGATIVE_ZERO), b.sub(b.int_(16), shift)), b.i32)
    own = b.op("llvm.shl", (b.int_cast(b.bitcast(values[0], b.i16), b.i32), shift), b.i32)
    added = b.bitcast(b.or_(own, neutral), b.vector_type(type_, 2))
    old = b.bitcast(ctx.hw.atomic_rmw(b, AtomicOp.FADD, word, added, predicate, access), b.i32)
    return [b.bitcast(b.int_cast(b.op("llvm.lshr", (old, shift), b.i32), b.i16), type_)]
