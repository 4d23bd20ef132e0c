"""Asynchronous copies in NumPy: data is fetched when a copy starts, or as late as may be, and arrives when it is waited for.

In between, the destination holds undefined values, and the simulator's CTA knows that it is on its way: a kernel that reads too
early, or starts a copy to what is still read, is an error at that place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from tri_core.api import DeviceError
from tri_core.lazy_dataclasses import dataclass
from tri_gpu_dialect.lowering import SimulatedCTA
from tri_runtime.simulator import CTA

__all__ = ["commit", "forwarded_after", "start", "wait"]

Array = npt.NDArray[Any]

_GLOBAL, _SHARED = 1, 3
_UNDEFINED = 0x7FC1A5FF
_WORD: np.dtype[np.generic] = np.dtype(np.int32)


@dataclass
class _Copy:
    destination: Array
    words: list[Array]
    active: Array
    #: reads word ``i`` once more, for a copy that reads as late as it may
    again: Callable[[int], Array] | None = None


@dataclass
class _ThreadSet:
    """Threads that commit and wait together: the whole CTA, or a partition of specialised warps."""

    threads: Array
    groups: list[list[_Copy]] = field(default_factory=list)


@dataclass
class _State:
    started: list[_Copy] = field(default_factory=list)
    sets: list[_ThreadSet] = field(default_factory=list)

    def thread_set(self, threads: Array) -> _ThreadSet:
        """That of ``threads``; DeviceError where some of them were in another."""
        for thread_set in self.sets:
            if (thread_set.threads == threads).all():
                return thread_set
        if any((thread_set.threads & threads).any() for thread_set in self.sets):
            raise DeviceError("a group of asynchronous copies that only some threads reach")
        self.sets.append(_ThreadSet(threads.copy()))
        return self.sets[-1]


_states: WeakKeyDictionary[SimulatedCTA, _State] = WeakKeyDictionary()


def _state(cta: SimulatedCTA) -> _State:
    return _states.setdefault(cta, _State())


def start(
    cta: SimulatedCTA, destination: Array, source: Array, size: Array, predicate: Array, width: int
) -> None:
    """Fetch ``size`` of ``width`` bytes where ``predicate``; leave undefined the destination."""
    active = cta.active & predicate
    if (destination[active] % width).any() or (source[active & (size > 0)] % width).any():
        raise DeviceError(f"cp.async of {width} bytes at an address that is no multiple of {width}")
    words = []
    for i in range(width // 4):
        there = active & (size > 4 * i)
        words.append(np.where(there, cta.memory(_GLOBAL).load(source + 4 * i, _WORD, there), 0))
        undefined = np.full(len(active), _UNDEFINED, np.int32)
        cta.memory(_SHARED).store(destination + 4 * i, undefined, active)
    if isinstance(cta, CTA):
        cta.memory(_SHARED).start_copy(destination, active, width)
    copy = _Copy(destination, [w.astype(np.int32) for w in words], active)
    copy.again = _late_source(cta, source, size, active)
    _state(cta).started.append(copy)


def _late_source(cta: object, source: Array, size: Array, active: Array) -> Callable[[int], Array] | None:
    """Function that reads a word of a copy as late as allowed; None if it is read at the start."""
    if not isinstance(cta, CTA) or not cta.is_late():
        return None
    memory = cta.memory(_GLOBAL)
    return lambda i: memory.again(source + 4 * i, _WORD, active & (size > 4 * i))


def _thread_set(cta: SimulatedCTA) -> _ThreadSet:
    """That of the active threads, which are whole warps."""
    by_warp = cta.active.reshape(-1, cta.threads_per_warp)
    if (by_warp.any(axis=1) != by_warp.all(axis=1)).any():
        raise DeviceError("a group of asynchronous copies that only some threads reach")
    return _state(cta).thread_set(cta.active)


def commit(cta: SimulatedCTA) -> None:
    """A group of what the active threads have started since their last."""
    thread_set, state = _thread_set(cta), _state(cta)
    others = np.logical_not(cta.active)
    thread_set.groups.append([c for c in state.started if not (c.active & others).any()])
    state.started = [c for c in state.started if (c.active & others).any()]


def wait(cta: SimulatedCTA, groups: int) -> None:
    """Let all but the last ``groups`` groups of the active threads arrive."""
    thread_set = _thread_set(cta)
    count = max(len(thread_set.groups) - groups, 0)
    for copy in (copy for group in thread_set.groups[:count] for copy in group):
        _land(cta, copy)
    del thread_set.groups[:count]


def _land(cta: SimulatedCTA, copy: _Copy) -> None:
    words = [early if copy.again is None else copy.again(i) for i, early in enumerate(copy.words)]
    if isinstance(cta, CTA):
        rows = np.stack([word.astype(_WORD) for word in words], axis=1).view(np.uint8)
        cta.memory(_SHARED).land_copy(copy.destination, rows, copy.active)
        return
    for i, word in enumerate(words):
        cta.memory(_SHARED).store(copy.destination + 4 * i, word, copy.active)


def forwarded_after(cta: SimulatedCTA) -> Callable[[], None]:
    """Whoever calls the result lets arrive what the active threads have started and not waited for."""
    state = _state(cta)
    others = np.logical_not(cta.active)
    mine = [c for c in state.started if not (c.active & others).any()]
    state.started = [c for c in state.started if (c.active & others).any()]

    def land() -> None:
        for copy in mine:
            _land(cta, copy)

    return land
