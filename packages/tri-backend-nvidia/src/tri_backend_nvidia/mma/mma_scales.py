"""Layout over lanes of the scales of a block-scaled ``mma.sync``, for tensors of them.

PTX ISA, section "Block Scaling for mma.sync": an instruction reads bytes of a 32-bit register of some lanes, which two selectors name.  With
``thread-id-a`` t (0, 1) the scale of row ``i`` of A is in lane ``4 (i % 8) + 2 t + i / 8``; with ``thread-id-b`` t (0 to 3) that of column ``j`` of
B in lane ``4 j + t``.  ``byte-id`` is the first of its bytes along k.  So one register has the scales of two instructions' rows
(of four instructions' columns), and of four neighbouring groups along k.
"""

from __future__ import annotations

from functools import lru_cache

from tri_gpu_dialect.layouts import LANE, REGISTER, WARP, LinearLayout
from tri_gpu_dialect.layouts.cluster import put_above

__all__ = ["THREADS", "WORD", "lane_of", "scale_layout"]

Shape = tuple[int, ...]

#: scales of a register; values of ``thread-id`` for A and for B
WORD, THREADS = 4, (2, 4)
#: rows (columns) of an instruction's A (B)
_ROWS = (16, 8)


def lane_of(operand: int, thread: int) -> int:
    """The lane that has the first row's (column's) scale where ``thread-id`` is ``thread``."""
    return (2, 1)[operand] * thread


def _bits(size: int) -> range:
    return range(max(size, 1).bit_length() - 1)


@lru_cache(maxsize=1024)
def scale_layout(operand: int, shape: Shape, warps: Shape) -> LinearLayout:
    """From (register, lane, warp, block) to (dim0, dim1) for scales (rows, groups along k) of operand 0 or 1.

    ``warps`` (down, across) share the result.  A warp's further instructions are selected by ``thread-id`` first, then
    have further registers.  Lanes that there are no rows for hold copies.
    """
    rows, groups = shape
    tile = _ROWS[operand]
    beside = tile * warps[operand]

    def down(step: int) -> tuple[int, int]:
        return (step if step < rows else 0, 0)

    selected = [down(beside << i) for i in _bits(THREADS[operand])]
    within = [down(1), down(2), down(4)]
    lanes = [down(8), *selected, *within] if operand == 0 else [*selected, *within]
    own = [down(tile << i) for i in _bits(warps[operand])]
    copies = [(0, 0)] * len(_bits(warps[1 - operand]))
    taken = beside * THREADS[operand]
    registers = [(0, 1 << i) for i in _bits(min(groups, WORD))]
    registers += [(taken << i, 0) for i in _bits(rows // taken)]
    registers += [(0, WORD << i) for i in _bits(groups // WORD)]
    bases = {
        REGISTER: registers,
        LANE: lanes,
        # warps count along columns first
        WARP: [*copies, *own] if operand == 0 else [*own, *copies],
    }
    return put_above(LinearLayout.from_bases(bases, {"dim0": rows, "dim1": groups}), shape, ())
