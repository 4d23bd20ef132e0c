"""Exchanges between lanes whose numbers differ by a fixed mask, by the cheapest instruction.

A DPP move costs as much as any move; a swizzle goes through the LDS crossbar, a permute too and needs an
address.
"""

from __future__ import annotations

from functools import partial

from tri_backend_amd.dialect import DppOp, PermlaneX16Op, ReadLaneOp, SwizzleOp
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Builder, LaneReduction

__all__ = ["dpp_control", "reduce_wavefront", "xor_lanes"]

_ROW_ROR, _ROW_MIRROR, _ROW_HALF_MIRROR, _ROW_XMASK = 0x120, 0x140, 0x141, 0x160
_BROADCAST_15, _BROADCAST_31 = 0x142, 0x143
#: DPP controls by the mask of lanes whose values they bring, where lanes that differ below it hold the same
_IN_ROW = {1: 0xB1, 2: 0x4E, 4: _ROW_HALF_MIRROR, 8: _ROW_ROR | 8}


def dpp_control(mask: int, rdna: bool) -> int | None:
    """The DPP control that exchanges lanes by xor ``mask``; None when DPP cannot."""
    if 0 < mask < 4:
        return sum((lane ^ mask) << (2 * lane) for lane in range(4))
    if rdna:
        return _ROW_XMASK | mask if mask < 16 else None
    # a rotation by half a row is its own inverse, so it is the xor of 8
    return {7: _ROW_HALF_MIRROR, 8: _ROW_ROR | 8, 15: _ROW_MIRROR}.get(mask)


def xor_lanes(b: Builder, value: ir.Value, mask: int, rdna: bool) -> ir.Value | None:
    """``value`` (i32) of the lane whose number is this one's xor ``mask``; None when only a permute does it."""
    number = ir.IntegerAttr.get
    control = dpp_control(mask, rdna)
    if control is not None:
        return _dpp(control, b, value)
    if rdna and mask == 16:
        return PermlaneX16Op.build([value], [b.i32])[0]
    if mask < 32:
        return SwizzleOp.build([value], [b.i32], {"offset": number(b.i32, mask << 10 | 0x1F)})[0]
    return None


def _dpp(control: int, b: Builder, value: ir.Value) -> ir.Value:
    return DppOp.build([value], [b.i32], {"control": ir.IntegerAttr.get(b.i32, control)})[0]


def _read_lane(lane: int, b: Builder, value: ir.Value) -> ir.Value:
    return ReadLaneOp.build([value], [b.i32], {"lane": ir.IntegerAttr.get(b.i32, lane)})[0]


def reduce_wavefront(masks: tuple[int, ...]) -> LaneReduction | None:
    """The reduction of CDNA's 64 lanes, or of some that are neighbours, without LDS; None for others.

    Masks ascend, so lanes that differ below one hold the same.  Across rows of 16 the last lanes of rows collect the total, which a scalar
    register then hands to all.
    """
    if masks == tuple(_IN_ROW)[: len(masks)]:
        return LaneReduction(tuple(partial(_dpp, _IN_ROW[mask]) for mask in masks))
    if masks == (*_IN_ROW, 16, 32):
        controls = (*_IN_ROW.values(), _BROADCAST_15, _BROADCAST_31)
        return LaneReduction(tuple(partial(_dpp, c) for c in controls), partial(_read_lane, 63))
    return None
