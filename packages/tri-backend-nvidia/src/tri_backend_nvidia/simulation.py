"""Functions that the driver brings, for the simulator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tri_core.api import SimulationError
from tri_gpu_dialect.lowering import SimulatedCTA

__all__ = ["externals"]


def externals() -> Mapping[str, Callable[..., Sequence[Any]]]:
    """By symbol: functions of the CTA and of the operands over its threads."""
    return {"__assertfail": _assertion_failed}


def _assertion_failed(cta: SimulatedCTA, operands: Sequence[Any]) -> Sequence[Any]:
    """Stops the kernel."""
    del operands
    thread = int(np.flatnonzero(np.asarray(cta.active))[0])
    raise SimulationError(
        f"program {cta.program_id}: thread {thread} stopped the kernel (an assertion failed)",
        check="trap",
        program=cta.program_id,
        thread=thread,
        other=None,
    )
