"""Turns of warp groups in the simulator: groups run in step there, so it is told who has a turn when threads meet."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from tri_gpu_dialect.lowering import SimulatedCTA
from tri_runtime.simulator import as_cta

__all__ = ["meets", "step"]

#: by CTA: the threads whose groups have had their turn begun and not passed on
_TURNS: WeakKeyDictionary[Any, npt.NDArray[np.bool_]] = WeakKeyDictionary()


def step(cta: SimulatedCTA, name: str) -> None:
    """The active threads begin (``wait``) or pass on (``pass``) their groups' turns."""
    if name in ("wait", "pass"):
        real = as_cta(cta)
        before = _TURNS.get(real, np.zeros(real.num_threads, np.bool_))
        _TURNS[real] = before | real.active if name == "wait" else before & ~real.active


def meets(cta: SimulatedCTA) -> None:
    """SimulationError where the active threads meet in a turn: on hardware one group is there, the others wait for their turns."""
    turns = _TURNS.get(cta)
    if turns is not None and turns[np.asarray(cta.active, np.bool_)].any():
        raise as_cta(cta).scene.error(
            "deadlock",
            "threads meet at a barrier while one warp group has its turn: the other groups wait for theirs",
            remedy="pass the turn on before the barrier",
        )
