"""Trace of threads' acts at barriers, in the order of the simulator: enough to replay them in any other
order.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Act", "Barrier", "Trace", "What"]

Mask = npt.NDArray[np.bool_]

#: ``join`` a barrier and ``pass`` it; of barriers in memory: ``start`` and ``end`` one, ``arrive``, ``copy`` bytes, ``wait``
What = Literal["join", "pass", "start", "end", "arrive", "copy", "wait"]


class Barrier(NamedTuple):
    """A barrier: by name or in memory, of CTA ``rank`` of the cluster, or the cluster's own."""

    kind: Literal["named", "memory", "cluster"]
    rank: int = 0
    place: int = 0

    def __str__(self) -> str:
        named = {"named": f"barrier {self.place}", "memory": f"the barrier at {self.place:#x}"}
        return named.get(self.kind, "the barrier of the cluster")


class Act(NamedTuple):
    """Act at ``barrier`` of the threads of a mask (its number), by op ``site``; acts of one ``op`` are done
    by a warp's lanes at once.

    ``number``: the threads that a barrier is for (0: all that have not left the kernel), the arrivals that a phase is
    for, the parity that is waited for.  ``nbytes``: those that an arrival expects, all its threads together, or a copy brings.
    """

    what: What
    barrier: Barrier
    threads: int
    number: int
    nbytes: int
    site: int
    op: int


class Trace:
    """The acts of a program's threads, which ``masks`` name: all of a cluster, ``lanes`` of them a warp."""

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        self.acts: list[Act] = []
        self.masks: list[Mask] = []
        self._numbers: dict[bytes, int] = {}
        self._op: int | None = None

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Acts that are added now are one op: its lanes do different things, as arriving at several barriers."""
        self._op = len(self.acts)
        try:
            yield
        finally:
            self._op = None

    def add(
        self, what: What, barrier: Barrier, threads: Mask, number: int = 0, nbytes: int = 0, *, site: int
    ) -> None:
        """``threads`` (a mask over the cluster) do it."""
        op = len(self.acts) if self._op is None else self._op
        self.acts.append(Act(what, barrier, self._number(threads), number, nbytes, site, op))

    def synchronize(self, barrier: Barrier, threads: Mask, count: int, *, site: int) -> None:
        """``threads`` come to a barrier of ``count`` and wait for the others; all of them, twice in a row, are once."""
        if threads.all() and self.acts:
            last = self.acts[-1]
            if (last.what, last.barrier, last.number) == ("pass", barrier, count) and self.masks[
                last.threads
            ].all():
                return
        self.add("join", barrier, threads, count, site=site)
        self.add("pass", barrier, threads, count, site=site)

    def key(self) -> tuple[Any, ...]:
        """Equal for programs whose threads did the same."""
        return tuple(self.acts), tuple(self._numbers)

    def _number(self, threads: Mask) -> int:
        raw = threads.tobytes()
        found = self._numbers.get(raw)
        if found is None:
            found = self._numbers[raw] = len(self.masks)
            self.masks.append(threads.copy())
        return found
