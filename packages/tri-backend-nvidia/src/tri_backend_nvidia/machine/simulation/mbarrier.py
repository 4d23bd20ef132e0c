"""Barriers in shared memory, and fences, in the simulator: its phases do the counting.

A barrier's eight bytes are written when it starts and ends, and read by whoever uses it, so that a barrier that is
missing between the two is a race.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tri_backend_nvidia.machine.simulation import copies as copy_simulation
from tri_backend_nvidia.machine.simulation import map_tracking
from tri_gpu_dialect.lowering import SimulatedCTA
from tri_runtime.simulator import as_cta

__all__ = ["arrive", "copy_arrive", "fence", "init", "inval", "uniform", "used", "wait"]

Array = npt.NDArray[Any]

_GLOBAL, _SHARED = 1, 3
_STATE = np.dtype(np.uint64)


def uniform(cta: SimulatedCTA, values: Array, active: Array, what: str) -> int:
    """The one value of ``values`` where ``active``; SimulationError when there are several."""
    found = np.unique(values[active])
    if len(found) != 1:
        raise as_cta(cta).scene.error(
            "asynchronous", f"{what} is not the same for all threads: {found.tolist()}"
        )
    return int(found[0])


def used(cta: SimulatedCTA, address: Array, active: Array) -> int:
    """The address of a barrier that ``active`` threads use: all see that it was started."""
    cta.memory(_SHARED).load(address, _STATE, active)
    return uniform(cta, address, active, "the address of a barrier")


def _written(cta: SimulatedCTA, address: Array, active: Array, state: int) -> int:
    cta.memory(_SHARED).store(address, np.full(len(address), state, _STATE), active)
    return uniform(cta, address, active, "the address of a barrier")


def init(cta: SimulatedCTA, address: Array, predicate: Array, count: int) -> None:
    """A phase for ``count`` arrivals."""
    active = cta.active & predicate
    if active.any():
        as_cta(cta).phases.init(_written(cta, address, active, count), count, active)


def inval(cta: SimulatedCTA, address: Array, predicate: Array) -> None:
    """No phase any more."""
    active = cta.active & predicate
    if active.any():
        as_cta(cta).phases.forget(_written(cta, address, active, 0), active)


def arrive(cta: SimulatedCTA, address: Array, predicate: Array, size: int = 0) -> None:
    """Each thread arrives; each expects ``size`` more bytes."""
    active = cta.active & predicate
    if active.any():
        place = used(cta, address, active)
        as_cta(cta).phases.arrive(place, active, size * int(active.sum()))


def wait(cta: SimulatedCTA, address: Array, phase: Array) -> None:
    """The active threads wait."""
    real, place = as_cta(cta), used(cta, address, cta.active)
    parity = uniform(cta, phase, cta.active, "the parity of a phase")
    map_tracking.waits(real, place, parity)
    real.phases.wait(place, parity)


def copy_arrive(cta: SimulatedCTA, address: Array) -> None:
    """The active threads arrive with what they copied."""
    real, place = as_cta(cta), used(cta, address, cta.active)
    real.phases.add_copy(place, 0, copy_simulation.forwarded_after(cta))
    real.phases.arrive(place, real.active)


def fence(cta: SimulatedCTA, kind: str) -> None:
    """Ordinary accesses to shared memory come before TMA copies; other fences order what is in order here.

    PTX ISA, "Memory Consistency Model", proxy-preserved base causality order: accesses of one place by different proxies, reads before writes
    as well, are ordered by a proxy fence alone.
    """
    if kind == "proxy.async.shared::cta":
        as_cta(cta).memory(_SHARED).fence(cta.active)
    elif kind == "proxy.async.global":
        as_cta(cta).memory(_GLOBAL).fence_copies()
