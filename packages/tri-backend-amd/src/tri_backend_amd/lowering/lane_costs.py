"""Costs of instructions that move values between lanes, by family of processors: data, without MLIR.

Sources: for CDNA the slot of 4 cycles and the latency of LDS of :mod:`tri_backend_amd.cycles.chips`, and the wait states that LLVM's
``GCNHazardRecognizer.cpp`` puts between a vector instruction and a DPP move or ``v_permlane*_swap`` that reads its result (2); for RDNA the
latencies of LLVM's ``SISchedule.td`` (``GFX10SpeedModel`` to ``GFX1250SpeedModel``: 5 of a vector instruction, 20 of LDS), and CDNA5, which has these instructions, as RDNA.  DPP controls: the instruction set
guides of CDNA3 and RDNA3, data-parallel primitives.
"""

from __future__ import annotations

from collections.abc import Mapping

from tri_core.lazy_dataclasses import dataclass

__all__ = ["LaneCosts", "lane_costs"]

_ROW_ROR, _ROW_MIRROR, _ROW_HALF_MIRROR, _ROW_XMASK = 0x120, 0x140, 0x141, 0x160
_LDS = 60


@dataclass(frozen=True, kw_only=True)
class LaneCosts:
    """Cycles from a value to where another instruction may read what has been moved; None: there is no such instruction.

    ``vector``: of an addition or a select; ``dpp``: of a move, or of a combination that has it in its operand; ``read_lane``: a lane's value in a scalar
    register; ``swizzle`` among 32 lanes and ``permute``, which needs an address, through LDS's crossbar; ``other_row``: ``v_permlanex16``, and
    ``selectors``, the scalar register for those of its lanes that are no constant of the instruction; ``swap``: ``v_permlane16_swap`` and
    ``v_permlane32_swap``, with the copy that they need.  ``controls``: DPP's by the exclusive or of lanes that they are.
    """

    vector: int
    dpp: int
    read_lane: int
    swizzle: int
    permute: int
    controls: Mapping[int, int]
    other_row: int | None = None
    selectors: int = 0
    swap: int | None = None


#: permutations of four lanes, two bits of each
_QUADS = {mask: sum((lane ^ mask) << (2 * lane) for lane in range(4)) for mask in (1, 2, 3)}
#: a rotation by half a row is its own inverse, so it is the exclusive or of 8
_CDNA_CONTROLS = {**_QUADS, 7: _ROW_HALF_MIRROR, 8: _ROW_ROR | 8, 15: _ROW_MIRROR}
_RDNA_CONTROLS = {**_QUADS, **{mask: _ROW_XMASK | mask for mask in range(4, 16)}}


def _cdna(swap: int | None = None) -> LaneCosts:
    return LaneCosts(
        vector=4,
        dpp=12,
        read_lane=12,
        swizzle=4 + _LDS,
        permute=12 + _LDS,
        controls=_CDNA_CONTROLS,
        swap=swap,
    )


_CDNA, _CDNA4 = _cdna(), _cdna(swap=4 + 12)
_RDNA = LaneCosts(
    vector=5,
    dpp=5,
    read_lane=7,
    swizzle=20,
    permute=20 + 2 * 5,
    controls=_RDNA_CONTROLS,
    other_row=5,
    selectors=2,
)


def lane_costs(family: str) -> LaneCosts:
    """Those of ``family`` (``cdna3``, ``rdna4``)."""
    if family.startswith("rdna") or family == "cdna5":
        return _RDNA
    return _CDNA4 if family == "cdna4" else _CDNA
