"""Element ownership by AMD's instruction set guides, for the simulator: independent of the layouts that the
compiler uses.

Formulas of the guides' section on the layout of matrices in registers.  In an instruction of ``blocks`` products of m x k by k x n,
lane l and item r (of an operand's elements, of the result's registers) hold:

- operand A: row ``l % m`` of block ``l // m % blocks``; k = ``K * (l // (m * blocks)) + r``, K elements being in a lane;
- operand B: the same of columns;
- result: column ``l % n``; its rows, those of all blocks one after the other, come in fours: row
  ``256 // n * (r // 4) + 4 * (l // n) + r % 4``; of f64 one by one: ``64 // n * r + l // n``.

``f8f6f4`` takes two halves of 16 bytes: the second has k of the upper half; of numbers of 4 bits, one run of 16 bytes.  Whatever the
operand, a lane has the scale of 32 numbers one after the other: row ``l % m``, the group ``l // m``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tri_backend_amd.mfma.forms import LANES

__all__ = ["operand_places", "result_places", "scale_places"]

Array = npt.NDArray[Any]


def operand_places(m: int, k: int, blocks: int = 1, halves: int = 1) -> tuple[Array, Array, Array]:
    """Block, row (column of B) and k of every (lane, element)."""
    count = k * m * blocks // LANES
    lane, item = np.arange(LANES)[:, None], np.arange(count)[None, :]
    group, run = lane // (m * blocks), count // halves
    depth = run * group + item % run + k // halves * (item // run)
    return (lane // m % blocks + 0 * item), (lane % m + 0 * item), depth


def scale_places(m: int) -> tuple[Array, Array]:
    """Row (column of B) and group along k of the scale that every lane has."""
    lane = np.arange(LANES)
    return lane % m, lane // m


def result_places(m: int, n: int, blocks: int = 1, *, double: bool = False) -> tuple[Array, Array, Array]:
    """Block, row and column of every (lane, register)."""
    count = m * n * blocks // LANES
    lane, item = np.arange(LANES)[:, None], np.arange(count)[None, :]
    rows = LANES // n * item + lane // n
    if not double:
        rows = 4 * LANES // n * (item // 4) + 4 * (lane // n) + item % 4
    return rows // m, rows % m, lane % n + 0 * item
