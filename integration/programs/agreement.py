"""What a device and its simulator leave of the same launch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from integration.programs.program import Array, Case
from integration.programs.running import launched
from integration.programs.table import PROGRAMS, Choices

__all__ = ["Agreement", "agreement", "shared_cases"]

#: shapes that blocks of ``Sizes.large`` leave a rest of, and that a simulator does in seconds
_SHAPES: dict[str, tuple[int, ...]] = {
    "attention": (2, 128, 64, 1),
    "attention backward": (1, 128, 64, 1),
    "convolution": (1, 9, 8, 24, 40, 3, 2, 1, 1, 1),
}
_PRODUCT = (130, 72, 104)


@dataclass(frozen=True)
class Agreement:
    """``same``: the share of elements with the same bits; ``difference``: the largest, of the largest value of its output."""

    case: Case
    same: float
    difference: float


def shared_cases(choices: Choices) -> Iterator[Case]:
    """Each program and type with its two first large blocks and every schedule."""
    for program in PROGRAMS.values():
        roles = [(w, p) for w, p in product(choices.warp_specialize, choices.persistent) if w or not p]
        for dtype, block, (warps, grid) in product(program.bounds, program.large.blocks[:2], roles):
            shape = _SHAPES.get(program.name, _PRODUCT)
            case = Case(program=program.name, dtype=dtype, shape=shape, block=block)
            yield replace(case, warp_specialize=warps, persistent=grid)


def _bits(array: Array) -> Array:
    made: Array = array.view(f"u{array.itemsize}")
    return made


def agreement(case: Case, target: str, simulator: str) -> Agreement:
    """Launch ``case`` on both with the same data."""
    found, expected = launched(case, target), launched(case, simulator)
    pairs = list(zip(found, expected, strict=True))
    same = [_bits(f) == _bits(e) for f, e in pairs]
    away = [
        np.abs(f.astype(np.float64) - e.astype(np.float64)).max() / np.abs(e.astype(np.float64)).max()
        for f, e in pairs
    ]
    return Agreement(case, float(np.mean([s.mean() for s in same])), float(np.max(away)))
