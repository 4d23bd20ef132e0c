"""Element ownership by AMD's instruction set guides, for the simulator: independent of the layouts that the
compiler uses.

Figures of the guides of RDNA3 and RDNA4 on WMMA by wavefronts of 32.  Lane l and item r (of an operand's elements, of the result's
registers) hold, of an instruction of version 1 (RDNA3) and 2 (RDNA4) or later:

- operand A: row ``l % 16``; k = ``r`` in both halves of the wavefront, or ``8 * (l // 16) + r``; operand B: the same of columns;
  deeper ones of version 3 (CDNA5) are such pieces of 16 one after the other, its f32 one of 4 (as Triton's layouts of it have it);
- result: column ``l % 16``; row ``2 * r + l // 16``, or ``8 * (l // 16) + r``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tri_backend_amd.wmma.forms import LANES, SIDE

__all__ = ["matrix_of", "result_places"]

Array = npt.NDArray[Any]

_HALF = SIDE // 2


def matrix_of(elements: Array, version: int) -> Array:
    """Operands (wavefronts, 16, k) of ``elements`` (wavefronts, lanes, items).

    Where the halves of a wavefront, which RDNA3 wants alike, differ, the elements are noise: a number that nobody expects.
    """
    halves = elements.reshape(len(elements), 2, SIDE, -1)
    if version > 1:
        waves, depth = len(elements), 2 * halves.shape[-1]
        pieces = halves.reshape(waves, 2, SIDE, -1, min(_HALF, depth // 2))
        return pieces.transpose(0, 2, 3, 1, 4).reshape(waves, SIDE, depth)
    same = (halves[:, 0] == halves[:, 1]) | ((halves[:, 0] != halves[:, 0]) & (halves[:, 1] != halves[:, 1]))
    noise = np.array(np.nan if elements.dtype.kind == "f" else 1 << 30).astype(elements.dtype)
    return np.where(same, halves[:, 0], noise)


def result_places(version: int) -> tuple[Array, Array]:
    """Row and column of every (lane, register)."""
    lane, item = np.arange(LANES)[:, None], np.arange(_HALF)[None, :]
    rows = 2 * item + lane // SIDE if version == 1 else _HALF * (lane // SIDE) + item
    return rows, lane % SIDE + 0 * item
