"""Ordered barriers of warp groups in the simulator, where groups run in step: what they do at their barriers, for who asks about other orders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tri_gpu_dialect.lowering import SimulatedCTA
from tri_runtime.simulator import as_cta

__all__ = ["step"]


def step(cta: SimulatedCTA, name: str, group: npt.NDArray[Any], barriers: Sequence[int], count: int) -> None:
    """The active threads do step ``name`` of their ``group``'s ordered barrier; group g has its ordered barrier when ``count`` threads are at ``barriers[g]``."""
    real, groups = as_cta(cta), len(barriers)
    opens, closes = name == "open", name == "close"
    for number in np.unique(group[cta.active]):
        if (opens and number != groups - 1) or (closes and number != 0):
            continue
        waits = name in ("wait", "close")
        place = barriers[number if waits else (number + 1) % groups]
        real.barriers.record(place, cta.active & (group == number), count, waits=waits)
