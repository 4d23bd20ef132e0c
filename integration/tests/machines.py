"""One kernel on every machine: the three vendors' targets simulated, and devices that are there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy.typing as npt

import tri

__all__ = ["SIMULATED", "execute"]

Array = npt.NDArray[Any]
Argument = Array | int | float

#: simulated targets by the name of their machine
SIMULATED: dict[str, str] = {
    "sm_80": "sim:nvidia:sm_80",
    "sm_90a": "sim:nvidia:sm_90a",
    "gfx942": "sim:amd:gfx942",
    "gfx1100": "sim:amd:gfx1100",
    "opencl-cpu": "sim:intel:opencl-cpu",
    "pvc": "sim:intel:pvc",
}


def execute(
    machine: str,
    kernel: Any,
    grid: tuple[int, int, int],
    arguments: Sequence[Argument],
    constants: Mapping[str, Any],
    **options: Any,
) -> None:
    """Run ``kernel`` on ``machine`` (``intel`` and ``cpu``: on the device itself), writing arrays in place."""
    with tri.target(SIMULATED.get(machine, machine)):
        kernel[grid](*arguments, **constants, **options)
