"""Scaled dots."""

from __future__ import annotations

import tri
import tri.language as tl


@tri.jit
def _rows(x, R: tl.constexpr, C: tl.constexpr):
    return tl.load(x + tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :])


@tri.jit
def dot_scaled(
    out, a, b, a_scale, b_scale,
    LEFT: tl.constexpr, RIGHT: tl.constexpr, LEFT_PACK: tl.constexpr, RIGHT_PACK: tl.constexpr, FAST: tl.constexpr,
    AR: tl.constexpr, AC: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr,
    M: tl.constexpr, N: tl.constexpr, GROUPS: tl.constexpr,
):  # fmt: skip
    """``out`` += the dot; a scale of None is none."""
    x, y = _rows(a, AR, AC), _rows(b, BR, BC)
    x_scale, y_scale = None, None
    if a_scale is not None:
        x_scale = _rows(a_scale, M, GROUPS)
    if b_scale is not None:
        y_scale = _rows(b_scale, N, GROUPS)
    place = out + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    made = tl.dot_scaled(x, x_scale, LEFT, y, y_scale, RIGHT, tl.load(place), FAST, LEFT_PACK, RIGHT_PACK)
    tl.store(place, made)
