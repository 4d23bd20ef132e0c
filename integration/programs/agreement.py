"""Comparison of memory after the same launch on a device and its simulator."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from integration.programs.program import Case
from integration.programs.running import launched
from integration.programs.table import PROGRAMS, Choices

__all__ = ["Agreement", "agreement", "shared_cases"]


@dataclass(frozen=True)
class Agreement:
    """``difference``: the largest, of the largest value of its output."""

    case: Case
    difference: float


def shared_cases(choices: Choices) -> Iterator[Case]:
    """Each program and type with its first shape of few blocks, two blocks and every schedule."""
    for program in PROGRAMS.values():
        specializations = [
            (w, p) for w, p in product(choices.warp_specialize, choices.persistent) if w or not p
        ]
        for dtype, block, (warps, grid) in product(program.bounds, program.few.blocks[:2], specializations):
            case = Case(program=program.name, dtype=dtype, shape=program.few.shapes[0], block=block)
            yield replace(case, warp_specialize=warps, persistent=grid)


def agreement(case: Case, target: str, simulator: str) -> Agreement:
    """Launch ``case`` on both with the same data."""
    found, expected = launched(case, target), launched(case, simulator)
    expected = [e.astype(np.float64) for e in expected]
    away = [
        np.abs(f.astype(np.float64) - e).max() / np.abs(e).max() for f, e in zip(found, expected, strict=True)
    ]
    return Agreement(case, float(np.max(away)))
