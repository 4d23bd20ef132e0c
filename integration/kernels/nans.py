"""Maxima and minima, with where they are, of rows in which NaN may be."""

from __future__ import annotations

import tri
import tri.language as tl


@tri.jit
def extremes(x, values, indices, found, B: tl.constexpr, LEFT: tl.constexpr):
    """``values``: of max, min and both with their indices; ``indices``: of these; ``found``: argmax and argmin."""
    row = tl.load(x + tl.arange(0, B))
    top, at_top = tl.max(row, 0, return_indices=True, return_indices_tie_break_left=LEFT)
    low, at_low = tl.min(row, 0, return_indices=True, return_indices_tie_break_left=LEFT)
    tl.store(values, tl.max(row, 0))
    tl.store(values + 1, tl.min(row, 0))
    tl.store(values + 2, top)
    tl.store(values + 3, low)
    tl.store(indices, at_top)
    tl.store(indices + 1, at_low)
    tl.store(found, tl.argmax(row, 0, tie_break_left=LEFT))
    tl.store(found + 1, tl.argmin(row, 0, tie_break_left=LEFT))
