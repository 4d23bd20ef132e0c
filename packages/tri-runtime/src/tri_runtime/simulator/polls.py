"""Accesses by which programs wait for others, while global memory stays as it is: volatile loads and atomics; plain loads, maybe."""

from __future__ import annotations

from tri_core.lazy_dataclasses import dataclass
from tri_runtime.simulator.threads import Threads

__all__ = ["Poll", "Polls"]


@dataclass
class Poll:
    """``count`` accesses of ``nbytes`` at ``address`` by the op ``site``, since memory had changed ``changes`` times."""

    site: int
    address: int
    nbytes: int
    changes: int
    count: int = 0


class Polls:
    """By CTA, the last place where it asked for a word of global memory."""

    def __init__(self) -> None:
        self._found: dict[Threads, Poll] = {}
        self._loads: dict[Threads, Poll] = {}
        self._present: Threads | None = None

    def enter(self, cta: Threads) -> None:
        """Accesses are those of ``cta`` from now on."""
        self._present = cta

    def add(self, site: int, address: int, nbytes: int, changes: int) -> None:
        """The present CTA asks; memory has changed ``changes`` times."""
        if self._present is None:
            return
        poll = self._found.get(self._present)
        if poll is None or poll.changes != changes:
            poll = self._found[self._present] = Poll(site, address, nbytes, changes)
        poll.site, poll.address, poll.nbytes = site, address, nbytes
        poll.count += 1

    def note(self, site: int, address: int, nbytes: int, changes: int) -> None:
        """The present CTA loads, which may be how it waits."""
        if self._present is not None:
            load = self._loads.get(self._present)
            if load is None or load.changes != changes:
                load = self._loads[self._present] = Poll(site, address, nbytes, changes)
            load.site, load.address, load.nbytes = site, address, nbytes
            load.count += 1

    def last_load(self, cta: Threads, changes: int) -> Poll | None:
        """The last load of any kind by ``cta`` since memory has changed ``changes`` times."""
        load = self._loads.get(cta)
        return load if load is not None and load.changes == changes else None

    def last(self, cta: Threads, changes: int) -> Poll | None:
        """Place where ``cta`` polls since memory has changed ``changes`` times; None if it does not."""
        poll = self._found.get(cta)
        return poll if poll is not None and poll.changes == changes else None
