"""What a device and its simulator leave of the same launch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from integration.programs.program import Case
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
    """``difference``: the largest, of the largest value of its output."""

    case: Case
    difference: float


def shared_cases(choices: Choices) -> Iterator[Case]:
    """Each program and type with its two first large blocks and every schedule."""
    for program in PROGRAMS.values():
        roles = [(w, p) for w, p in product(choices.warp_specialize, choices.persistent) if w or not p]
        for dtype, block, (warps, grid) in product(program.bounds, program.large.blocks[:2], roles):
            shape = _SHAPES.get(program.name, _PRODUCT)
            case = Case(program=program.name, dtype=dtype, shape=shape, block=block)
            yield replace(case, warp_specialize=warps, persistent=grid)


def agreement(case: Case, target: str, simulator: str) -> Agreement:
    """Launch ``case`` on both with the same data."""
    found, expected = launched(case, target), launched(case, simulator)
    expected = [e.astype(np.float64) for e in expected]
    away = [
        np.abs(f.astype(np.float64) - e).max() / np.abs(e).max() for f, e in zip(found, expected, strict=True)
    ]
    return Agreement(case, float(np.max(away)))
