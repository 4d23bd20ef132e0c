"""Vector clocks of threads, coarse as long as all threads synchronise."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Clocks"]

Array = npt.NDArray[Any]
Times = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class Clocks:
    """Happens-before relation of ``num_threads`` threads.

    An access is stamped with :attr:`now`.  ``seen[t, w]`` is the latest stamp of thread ``w`` that is ordered
    before what thread ``t`` does now; :attr:`floor` is the least of them, and all there is while only barriers
    of all threads were passed.
    """

    def __init__(self, num_threads: int) -> None:
        self.num_threads = num_threads
        self.now = 1
        self.floor = 0
        self._seen: Times | None = None

    def synchronize_all(self) -> None:
        """All threads synchronise at a barrier."""
        self.floor, self._seen = self.now, None
        self.now += 1

    def synchronize(self, threads: Mask) -> None:
        """``threads`` synchronise at a barrier of their own."""
        if threads.all():
            self.synchronize_all()
            return
        self.acquire(threads, self.release(threads))

    def synchronize_warps(self, threads: Mask, lanes: int) -> None:
        """``threads`` synchronise, those of each warp (of ``lanes`` threads) among themselves."""
        for first in range(0, self.num_threads, lanes):
            warp = np.zeros(self.num_threads, np.bool_)
            warp[first : first + lanes] = threads[first : first + lanes]
            if warp.any():
                self.synchronize(warp)

    def release(self, threads: Mask) -> Times:
        """Times on which threads that wait for ``threads`` may rely, by thread; later accesses have later
        stamps.
        """
        seen = self._all_seen()
        known = seen[threads].max(axis=0)
        known[threads] = self.now
        self.now += 1
        return known

    def acquire(self, threads: Mask, known: Times) -> None:
        """``threads`` may rely on what :meth:`release` gave."""
        seen = self._all_seen()
        seen[threads] = np.maximum(seen[threads], known)
        self.floor = int(seen.min())

    def ordered(self, threads: Array, others: Array, stamps: Times) -> Mask:
        """Mask of accesses of ``others`` at ``stamps`` that are ordered before the present ones of
        ``threads``.
        """
        if self._seen is None:
            return stamps <= self.floor
        return (stamps <= self.floor) | (stamps <= self._seen[threads, others])

    def _all_seen(self) -> Times:
        if self._seen is None:
            self._seen = np.full((self.num_threads, self.num_threads), self.floor, np.int64)
        return self._seen
