"""Tracking of copies that may still read a tensor map, for the thread that rewrites it: those it has not
waited for itself.

The simulator's copies take what they need of a map when they start; on a device they read it later, until they are done.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from tri_runtime.simulator import CTA

__all__ = ["loads", "reads_left", "stores", "waits"]

Array = npt.NDArray[Any]


class _Maps:
    """By address of a map: barriers and the latest phase in which a load through it counts; stores that nobody has waited for.

    ``waited``: by barrier, the latest phase that each thread has waited for.
    """

    def __init__(self) -> None:
        self.loads: dict[int, dict[int, int]] = {}
        self.stores: Counter[int] = Counter()
        self.waited: dict[int, Array] = {}


_states: WeakKeyDictionary[CTA, _Maps] = WeakKeyDictionary()


def _of(cta: CTA) -> _Maps:
    return _states.setdefault(cta, _Maps())


def loads(cta: CTA, place: int, barrier: int) -> None:
    """A load through the map at ``place`` counts in the present phase of ``barrier``."""
    _of(cta).loads.setdefault(place, {})[barrier] = cta.phases.number(barrier)


def stores(cta: CTA, place: int) -> Callable[[], None]:
    """A store through the map at ``place`` is under way until what this gives is called."""
    count = _of(cta).stores
    count[place] += 1
    return lambda: count.subtract([place])


def waits(cta: CTA, barrier: int, parity: int) -> None:
    """The active threads wait for a phase of ``barrier``."""
    number = cta.phases.number(barrier)
    number -= (number - parity) % 2
    waited = _of(cta).waited.setdefault(barrier, np.full(cta.num_threads, -1))
    waited[cta.active] = np.maximum(waited[cta.active], number)


def reads_left(cta: CTA, place: int, thread: int) -> int:
    """Number of barriers' loads, and of stores, through the map at ``place`` that ``thread`` has not waited
    for.
    """
    state = _of(cta)
    pending = [
        barrier
        for barrier, phase in state.loads.get(place, {}).items()
        if barrier not in state.waited or state.waited[barrier][thread] < phase
    ]
    return len(pending) + state.stores[place]
