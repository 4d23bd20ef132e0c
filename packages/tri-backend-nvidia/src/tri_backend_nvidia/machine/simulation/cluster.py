"""Simulation of the machine ops of clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tri_backend_nvidia.machine.base import numpy_type
from tri_core.mlir import ir
from tri_gpu_dialect.lowering import SimulatedCTA
from tri_runtime.simulator import CTA, as_cta
from tri_runtime.simulator.cluster import WINDOW, rank_of, window

__all__ = ["arrive", "barrier", "load", "mapa", "receivers", "store"]

Array = npt.NDArray[Any]

_SHARED = 3
_STATE = np.dtype(np.uint64)


def barrier(cta: SimulatedCTA, step: str) -> None:
    """The active threads arrive, or wait."""
    real = as_cta(cta)
    if step == "arrive":
        real.cluster.barrier.arrive(real)
    else:
        real.cluster.barrier.wait(real)


def mapa(address: Array, rank: Array) -> Array:
    """The address in the memory of CTA ``rank``; one that there is not is found when it is used."""
    found: Array = window(address.astype(np.int64), rank.astype(np.int64))
    return found


def _reached(cta: SimulatedCTA, pointer: Array, active: Array) -> CTA:
    """The CTA; all whose memory is reached run."""
    real = as_cta(cta)
    for place in np.unique(pointer[active]):
        real.cluster.member(rank_of(int(place)), real)
    return real


def load(cta: SimulatedCTA, type_: ir.Type, pointer: Array) -> Array:
    """A scalar or vector, aligned to its size."""
    real, dtype = _reached(cta, pointer, cta.active), numpy_type(type_)
    count = type_.shape[0] if isinstance(type_, ir.VectorType) else 1
    found = real.memory(_SHARED).load(pointer, dtype, cta.active, count, dtype.itemsize * count)
    return found.reshape(-1, count) if isinstance(type_, ir.VectorType) else found


def store(cta: SimulatedCTA, type_: ir.Type, pointer: Array, value: Array, predicate: Array) -> None:
    """A scalar or vector, aligned to its size, where the predicate is true."""
    active = cta.active & predicate
    real = _reached(cta, pointer, active)
    size = numpy_type(type_).itemsize * value.reshape(cta.num_threads, -1).shape[1]
    real.memory(_SHARED).store(pointer, value, active, size)


def arrive(cta: SimulatedCTA, address: Array, predicate: Array) -> None:
    """Each thread arrives at the barrier at its address."""
    active = cta.active & predicate
    real = _reached(cta, address, active)
    real.memory(_SHARED).load(address, _STATE, active)
    with real.cluster.trace.at_once():
        for place in np.unique(address[active]):
            peer = real.cluster.member(rank_of(int(place)), real)
            peer.phases.arrive(int(place) % WINDOW, active & (address == place), by=real)


def receivers(cta: CTA, mask: int) -> list[CTA]:
    """The CTAs of the cluster whose bits are set."""
    ranks = [rank for rank in range(mask.bit_length()) if mask >> rank & 1]
    return [cta.cluster.member(rank, cta) for rank in ranks]
