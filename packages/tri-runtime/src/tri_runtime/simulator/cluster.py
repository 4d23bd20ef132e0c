"""A cluster: CTAs that run at the same time, reach each other's shared memory and synchronise at barriers of the cluster.

Each CTA sees its own shared memory at the same addresses; the memory of CTA ``r`` of the cluster, its own included, is
also at :func:`window` of these addresses and r.  Threads of a cluster are numbered through, CTA by CTA: clocks and
trackers know them so, and errors name them so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from tri_core.lazy_dataclasses import dataclass
from tri_runtime.simulator.clocks import Clocks
from tri_runtime.simulator.threads import ClusterMember, Threads
from tri_runtime.simulator.trace import Barrier, Trace

__all__ = ["WINDOW", "Cluster", "ClusterBarrier", "Share", "rank_of", "window"]

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]

#: the CTAs of a cluster
Member = TypeVar("Member", bound=ClusterMember)

_WHOLE = Barrier("cluster")
#: bytes of address space that each CTA's shared memory has in the cluster's window; none has more
WINDOW = 1 << 24


def window(address: Any, rank: Any) -> Any:
    """Address in CTA ``rank`` that corresponds to ``address`` of shared memory (of any CTA of the cluster);
    numbers or arrays.
    """
    return address % WINDOW + (rank + 1) * WINDOW


def rank_of(address: int) -> int:
    """The CTA whose memory ``address`` is in; -1 for an address in a CTA's own memory."""
    return address // WINDOW - 1


class Share(Clocks):
    """The clocks of a cluster as one of its CTAs sees them: masks are of its own ``count`` threads, from ``first`` on.

    Stamps, and what :meth:`release` gives, are the cluster's.
    """

    def __init__(self, whole: Clocks, first: int, count: int) -> None:
        self._whole, self._first, self._count = whole, first, count

    @property
    def num_threads(self) -> int:  # type: ignore[override]  # an attribute where threads are few
        """Threads of the CTA."""
        return self._count

    @property
    def now(self) -> int:  # type: ignore[override]
        """As of :class:`Clocks`."""
        return self._whole.now

    @property
    def floor(self) -> int:  # type: ignore[override]
        """As of :class:`Clocks`."""
        return self._whole.floor

    def _all(self, threads: Mask) -> Mask:
        found = np.zeros(self._whole.num_threads, np.bool_)
        found[self._first : self._first + self._count] = threads
        return found

    def synchronize_all(self) -> None:
        """All threads of the CTA synchronise at a barrier."""
        self._whole.synchronize(self._all(np.ones(self._count, np.bool_)))

    def synchronize(self, threads: Mask) -> None:
        """``threads`` synchronise at a barrier of their own."""
        self._whole.synchronize(self._all(threads))

    def release(self, threads: Mask) -> Array:
        """Times on which threads that wait for ``threads`` may rely, by thread of the cluster."""
        return self._whole.release(self._all(threads))

    def acquire(self, threads: Mask, known: Array) -> None:
        """``threads`` may rely on what :meth:`release` gave."""
        self._whole.acquire(self._all(threads), known)

    def ordered(self, threads: Array, others: Array, stamps: Array) -> Mask:
        """As of :class:`Clocks`, of numbers of threads of the CTA."""
        return self._whole.ordered(threads + self._first, others + self._first, stamps)


@dataclass
class ClusterBarrier:
    """The barrier of a cluster: a phase ends when all threads that have not left the kernel have arrived.

    What a thread did before it arrived is ordered before what others do after they have waited.
    """

    clocks: Clocks
    phase: int = 0
    arrived: Mask = field(init=False)
    left: Mask = field(init=False)
    _known: Array | None = None
    _relied_on: Array | None = None

    def __post_init__(self) -> None:
        self.arrived = np.zeros(self.clocks.num_threads, np.bool_)
        self.left = self.arrived.copy()

    def arrive(self, cta: Threads) -> None:
        """The active threads of ``cta`` arrive."""
        threads = cta.in_cluster(cta.active)
        again = self.arrived & threads
        if again.any():
            raise cta.scene.error(
                "deadlock",
                f"thread {int(np.flatnonzero(again)[0])} of the cluster arrives twice at its barrier",
                remedy="wait for the barrier before arriving again",
            )
        cta.cluster.trace.add("join", _WHOLE, threads, site=cta.scene.site)
        self.arrived |= threads
        known = self.clocks.release(threads)
        self._known = known if self._known is None else np.maximum(self._known, known)
        self._complete()

    def wait(self, cta: Threads) -> None:
        """The active threads of ``cta`` wait for the phase that they have arrived at."""
        threads = cta.in_cluster(cta.active)
        # a phase that has ended since leaves none of them in `arrived`
        phase = self.phase if (self.arrived & threads).any() else self.phase - 1
        if phase < 0:
            raise cta.scene.error(
                "deadlock",
                "threads wait for the barrier of a cluster at which they have not arrived",
                remedy="arrive before waiting",
            )
        cta.cluster.trace.add("pass", _WHOLE, threads, site=cta.scene.site)

        def ready() -> bool:
            if self.phase <= phase:
                return False
            # nobody can have completed another phase, to which these threads would have to come
            if self._relied_on is not None:
                self.clocks.acquire(threads, self._relied_on)
            return True

        def what() -> str:
            going = int((~self.left).sum())
            return f"the barrier of the cluster that {int(self.arrived.sum())} of {going} threads reach"

        cta.wait_until(ready, what)

    def leave(self, threads: Mask) -> None:
        """``threads`` of the cluster have left the kernel: nobody waits for them."""
        self.left |= threads
        if self.arrived.any():
            self._complete()

    def _complete(self) -> None:
        if not (self.arrived | self.left).all() or self._known is None:
            return
        self._relied_on, self._known = self._known, None
        self.phase += 1
        self.arrived = np.zeros_like(self.arrived)


class Cluster(Generic[Member]):
    """The CTAs ``members`` of one program, by rank; each has ``num_threads`` threads, ``lanes`` of them a warp.

    ``trace`` is what they do at barriers.
    """

    def __init__(self, clocks: Clocks, num_threads: int, lanes: int) -> None:
        self.clocks, self.num_threads = clocks, num_threads
        self.trace = Trace(lanes)
        self.members: list[Member] = []
        self.barrier = ClusterBarrier(clocks)

    def join(self, cta: Member) -> int:
        """``cta`` is a member from now on; its number."""
        self.members.append(cta)
        return len(self.members) - 1

    @property
    def program_id(self) -> tuple[int, int, int]:
        """The program that the CTAs run."""
        return self.members[0].program_id

    def member(self, rank: int, user: Member) -> Member:
        """CTA ``rank``, whose memory ``user`` uses; SimulationError when there is none, or it may have gone."""
        if not 0 <= rank < len(self.members):
            raise user.scene.error("out-of-bounds", f"CTA {rank} of a cluster of {len(self.members)}")
        found = self.members[rank]
        if found.is_done:
            raise user.scene.error(
                "asynchronous",
                f"CTA {user.rank} uses the shared memory of CTA {rank} of its cluster, which has left the kernel",
                remedy="all CTAs synchronise at the barrier of the cluster before they leave",
            )
        return found

    def run(self, arguments: Sequence[Array]) -> Iterator[None]:
        """Run all CTAs to the end, round robin; yields when another program may run."""
        going = [(cta, cta.run(arguments)) for cta in self.members]
        while going:
            moved = False
            for cta, execution in list(going):
                before = cta.steps
                if next(execution, Cluster) is Cluster:
                    going.remove((cta, execution))
                    moved = True
                moved = moved or cta.steps != before
            if not moved:
                first, *others = (cta for cta, _ in going)
                raise first.deadlock(others)
            if going and not all(cta.is_blocked for cta, _ in going):
                yield

    def repeats(self, changes: int) -> bool:
        """True if the threads of every CTA repeat an earlier state with memory unchanged since change
        ``changes``.
        """
        known = [cta.repeats(changes) for cta in self.members]  # each is looked at
        return all(known)
