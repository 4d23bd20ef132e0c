"""Coordinates of a thread's registers: a layout applied to SSA values."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

from tri_core.mlir import ir
from tri_gpu_dialect.layouts import BLOCK, LANE, REGISTER, WARP, LinearLayout
from tri_gpu_dialect.lowering.builder import Builder
from tri_gpu_dialect.lowering.context import Lowering, Registers, Sum

__all__ = [
    "apply",
    "coordinates",
    "is_owner",
    "linear_indices",
    "offset_by",
    "offset_in_parts",
    "reach",
    "tensor_coordinates",
]


def apply(b: Builder, layout: LinearLayout, inputs: Mapping[str, ir.Value]) -> list[ir.Value]:
    """The output coordinates (i32) of ``layout`` at ``inputs``; an input not given is 0.

    Bit i of an input goes to bits of the output; all bits that move by the same distance move together,
    as one mask and one shift.
    """
    return [_apply_to(b, layout, inputs, d) for d in range(len(layout.out_dims))]


def _apply_to(b: Builder, layout: LinearLayout, inputs: Mapping[str, ir.Value], dim: int) -> ir.Value:
    total, used = b.int_(0), 0
    for name, value in inputs.items():
        if not layout.has_in(name):
            continue
        columns = [basis[dim] for basis in layout.bases[name]]
        for shift, mask in _diagonals(columns).items():
            moved = _move(b, value, mask, shift, whole=mask == (1 << len(columns)) - 1)
            landed = mask << shift if shift >= 0 else mask >> -shift
            total = b.add(total, moved) if not used & landed else b.xor(total, moved)
            used |= landed
    return total


def _diagonals(columns: Sequence[int]) -> dict[int, int]:
    """For each distance between input and output bits, the mask of input bits that move by it."""
    found: dict[int, int] = {}
    for i, column in enumerate(columns):
        for k in range(column.bit_length()):
            if column >> k & 1:
                found[k - i] = found.get(k - i, 0) | 1 << i
    return found


def _move(b: Builder, value: ir.Value, mask: int, shift: int, *, whole: bool) -> ir.Value:
    kept = value if whole else b.and_(value, b.int_(mask))
    return b.shl(kept, shift) if shift >= 0 else b.lshr(kept, -shift)


def reach(layout: LinearLayout, dims: Sequence[str]) -> list[int]:
    """For each output dimension, the bits that the inputs ``dims`` can set."""
    bits = [0] * len(layout.out_dims)
    for name in dims:
        if layout.has_in(name):
            for basis in layout.bases[name]:
                bits = [a | c for a, c in zip(bits, basis, strict=True)]
    return bits


def offset_by(b: Builder, base: ir.Value, reached: int, constant: int) -> ir.Value:
    """``base ^ constant``, as an addition when no bits overlap: the back end folds those into addresses."""
    return b.xor(base, b.int_(constant)) if reached & constant else b.add(base, b.int_(constant))


def offset_in_parts(b: Builder, base: ir.Value, reached: int, constant: int) -> ir.Value:
    """``base ^ constant``, the bits that no other reaches as an addition: what differs in these alone shares an address."""
    return b.add(b.xor(base, b.int_(reached & constant)), b.int_(constant & ~reached))


def coordinates(ctx: Lowering, layout: LinearLayout) -> list[tuple[ir.Value, ...]]:
    """For each register of a distributed ``layout``, its coordinates (i32) in this thread."""
    b = ctx.b
    inputs = ctx.inputs()
    bases = apply(b, layout, inputs)
    reached = reach(layout, list(inputs))
    seen: dict[tuple[int, int], ir.Value] = {}
    rows = []
    for image in layout.images(REGISTER):
        row = []
        for d, constant in enumerate(layout.unpack_out(image)):
            if (d, constant) not in seen:
                value = seen[d, constant] = offset_by(b, bases[d], reached[d], constant)
                if constant and not reached[d] & constant and b.known(value) is None:
                    ctx.sums[value] = Sum(bases[d], constant, exact=True)
            row.append(seen[d, constant])
        rows.append(tuple(row))
    return rows


def tensor_coordinates(ctx: Lowering, type_: ir.Type) -> list[tuple[ir.Value, ...]]:
    """For each register of a tensor of ``type_``, its coordinates (i32)."""
    return coordinates(ctx, ctx.layout(type_))


def linear_indices(ctx: Lowering, type_: ir.Type) -> Registers:
    """For each register of a tensor of ``type_``, its row-major position (i32)."""
    flat = ctx.layout(type_)
    names = flat.out_dims[::-1]
    return [row[0] for row in coordinates(ctx, flat.transpose_outs(names).flatten_outs("index"))]


def is_owner(
    ctx: Lowering, layout: LinearLayout, dims: Sequence[str] = (LANE, WARP, BLOCK)
) -> ir.Value | None:
    """True (i1) if this thread is the first that holds its elements; None if every thread is.

    Without ``block`` among ``dims``: the first of its block.  Registers that repeat others are not looked at: see :meth:`LinearLayout.free_variable_masks`.
    """
    masks = layout.free_variable_masks()
    b, conditions = ctx.b, []
    for dim in dims:
        if masks.get(dim):
            value = ctx.inputs()[dim]
            conditions.append(b.cmp("eq", b.and_(value, b.int_(masks[dim])), b.int_(0)))
    return functools.reduce(b.and_, conditions) if conditions else None
