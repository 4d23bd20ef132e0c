"""Global memory as CTAs see it whose stores become visible late, and whose caches keep what they have loaded.

Each CTA has a buffer of stores, which drain in any order but for the same bytes, and a cache of the lines that it has
loaded.  ``docs/design/memory-model.md`` says what is taken from the models of the vendors.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from random import Random

import numpy as np
import numpy.typing as npt

from tri_core.lazy_dataclasses import dataclass
from tri_runtime.simulator.allocation import Allocation
from tri_runtime.simulator.threads import Threads

__all__ = ["WeakMemory"]

Bytes = npt.NDArray[np.uint8]
Indices = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

#: bytes of a line of a cache, as a power of two
_LINE = 7
#: stores that a buffer holds
_MOST_STORES = 64


@dataclass(frozen=True, eq=False)
class _Store:
    """``rows`` at ``offsets`` of an allocation, which others do not see yet."""

    allocation: Allocation
    offsets: Indices
    rows: Bytes

    def places(self) -> Indices:
        """The offset of each byte."""
        return self.offsets[:, None] + np.arange(self.rows.shape[1])

    def overlaps(self, other: _Store) -> bool:
        """True if both access a common byte."""
        if self.allocation is not other.allocation:
            return False
        return bool(np.intersect1d(self.places(), other.places()).size)


@dataclass(eq=False)
class _Cache:
    """Of an allocation the lines that a CTA has loaded, and the bytes that others have changed since, as they were."""

    lines: Mask
    is_stale: Mask
    old: Bytes


@dataclass(eq=False)
class _Agent:
    """A CTA: its buffer, oldest store first, and its caches by id of the allocation; ``old``: how often these gave old bytes."""

    stores: list[_Store] = field(default_factory=list)
    caches: dict[int, _Cache] = field(default_factory=dict)
    old: int = 0


class WeakMemory:
    """The buffers and caches of one launch; ``random`` decides which store drains.

    Accesses are by the CTA that has entered.
    """

    def __init__(self, random: Random) -> None:
        self._random = random
        self._agents: dict[Threads, _Agent] = {}
        self._present = _Agent()
        self._is_strong = False

    def enter(self, cta: Threads) -> None:
        """Threads of ``cta`` run from now on."""
        found = self._agents.get(cta)
        if found is None:
            found = self._agents[cta] = _Agent()
        self._present = found

    def leave(self, cta: Threads) -> None:
        """``cta`` has come to its end: all that it stored is seen."""
        if (agent := self._agents.pop(cta, None)) is not None:
            self._drain_all(agent)

    @contextmanager
    def strong(self) -> Iterator[None]:
        """Accesses inside go to memory."""
        before, self._is_strong = self._is_strong, True
        try:
            yield
        finally:
            self._is_strong = before

    # --- accesses by the present CTA ------------------------------------------------------------------------

    def load(self, allocation: Allocation, places: Indices) -> Bytes:
        """The bytes at ``places`` (any shape) as the CTA sees them."""
        if self._is_strong:
            self._go_to_memory(allocation, places)
            found: Bytes = allocation.data[places]
            return found
        cache = self._cache(allocation)
        cache.lines[self._lines(allocation, places)] = True
        self._present.old += bool(cache.is_stale[places].any())
        return self.peek(allocation, places)

    def peek(self, allocation: Allocation, places: Indices) -> Bytes:
        """As a weak load, which leaves no trace."""
        found: Bytes = allocation.data[places]
        cache = self._present.caches.get(id(allocation))
        if cache is not None and cache.is_stale.any():
            found = np.where(cache.is_stale[places], cache.old[places], found)
        if any(s.allocation is allocation for s in self._present.stores):
            found = self._forwarded(allocation, places, found)
        return found

    def store(self, allocation: Allocation, offsets: Indices, rows: Bytes) -> None:
        """``rows`` go to the buffer, or to memory where the access is strong."""
        made = _Store(allocation, offsets.copy(), rows.copy())
        if self._is_strong:
            self._go_to_memory(allocation, made.places())
            self._commit(self._present, made)
            return
        self._present.stores.append(made)
        if len(self._present.stores) > _MOST_STORES:
            self._drain(self._present, 0)

    def release(self) -> None:
        """All that the CTA stored is seen by others."""
        self._drain_all(self._present)

    def acquire(self) -> None:
        """The CTA sees what others have made visible: its cache is empty."""
        self._present.caches.clear()
        self._present.old = 0

    # --- the passage of time --------------------------------------------------------------------------------

    def drain_one(self) -> None:
        """Some store of the present CTA becomes visible, not always the oldest."""
        stores = self._present.stores
        if stores:
            self._drain(self._present, self._random.randrange(len(stores)))

    def settle(self) -> bool:
        """All stores of all CTAs become visible; whether there were any."""
        agents = [agent for agent in self._agents.values() if agent.stores]
        for agent in agents:
            self._drain_all(agent)
        return bool(agents)

    def old_loads(self, cta: Threads) -> int:
        """Number of loads of ``cta``, after the last acquire, whose locations others have changed since."""
        agent = self._agents.get(cta)
        return 0 if agent is None else agent.old

    # --- parts ----------------------------------------------------------------------------------------------

    def _cache(self, allocation: Allocation) -> _Cache:
        cache = self._present.caches.get(id(allocation))
        if cache is None:
            size = allocation.data.size
            lines = np.zeros((allocation.start + size >> _LINE) - (allocation.start >> _LINE) + 1, np.bool_)
            cache = _Cache(lines, np.zeros(size, np.bool_), np.zeros(size, np.uint8))
            self._present.caches[id(allocation)] = cache
        return cache

    def _lines(self, allocation: Allocation, places: Indices) -> Indices:
        """The lines of bytes at ``places``, numbered from the allocation's first."""
        return (allocation.start + places >> _LINE) - (allocation.start >> _LINE)

    def _forwarded(self, allocation: Allocation, places: Indices, found: Bytes) -> Bytes:
        """``found`` with what the CTA's own buffer holds, the newest last."""
        view = np.zeros(allocation.data.size, np.uint8)
        view[places] = found
        for store in self._present.stores:
            if store.allocation is allocation:
                view[store.places()] = store.rows
        return np.asarray(view[places])

    def _go_to_memory(self, allocation: Allocation, places: Indices) -> None:
        """The CTA's own stores to these bytes come first, and its cache does not hold them."""
        probe = _Store(allocation, np.unique(places), np.zeros((1, 1), np.uint8))
        stores = self._present.stores
        while (index := next((i for i, s in enumerate(stores) if s.overlaps(probe)), None)) is not None:
            self._drain(self._present, index)
        if (cache := self._present.caches.get(id(allocation))) is not None:
            cache.is_stale[places] = False

    def _drain_all(self, agent: _Agent) -> None:
        while agent.stores:
            self._drain(agent, 0)

    def _drain(self, agent: _Agent, index: int) -> None:
        """Store number ``index`` becomes visible, after older ones to the same bytes."""
        chosen = agent.stores.pop(index)
        first = next((i for i in range(index) if agent.stores[i].overlaps(chosen)), None)
        if first is not None:
            agent.stores.insert(index, chosen)
            self._drain(agent, first)
            return
        self._commit(agent, chosen)

    def _commit(self, agent: _Agent, store: _Store) -> None:
        """Write to memory; caches of others keep what was there in lines that they have."""
        allocation, places = store.allocation, store.places()
        lines = self._lines(allocation, places)
        for other in self._agents.values():
            cache = other.caches.get(id(allocation))
            if cache is None:
                continue
            if other is agent:
                cache.is_stale[places] = False
                continue
            kept = places[cache.lines[lines] & ~cache.is_stale[places]]
            cache.old[kept] = allocation.data[kept]
            cache.is_stale[kept] = True
        allocation.data[places] = store.rows
