"""Barriers by name, and barriers in shared memory that count arrivals and bytes in phases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any

import numpy as np
import numpy.typing as npt

from tri_core.lazy_dataclasses import dataclass
from tri_runtime.simulator.threads import Threads
from tri_runtime.simulator.trace import Barrier, What

__all__ = ["Barriers", "PhaseCount", "Phases"]

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]


@dataclass
class _Barrier:
    """One use of a named barrier: who has arrived, and whether it is passed."""

    arrived: Mask
    count: int
    passed: bool = False


class Barriers:
    """The named barriers of a CTA; ``count`` threads synchronise, wherever in the code they are."""

    def __init__(self, cta: Threads) -> None:
        self._cta = cta
        self._open: dict[int, _Barrier] = {}

    def record(self, name: int, threads: Mask, count: int, *, waits: bool) -> None:
        """Record that ``threads`` arrive at barrier ``name`` of ``count``, and wait for the others if ``waits``.

        Nothing else happens: for barriers that hardware needs to order groups which run in step here.
        """
        cta, barrier = self._cta, Barrier("named", self._cta.rank, name)
        trace, whole, site = cta.cluster.trace, cta.in_cluster(threads), cta.scene.site
        if waits:
            trace.synchronize(barrier, whole, count, site=site)
        else:
            trace.add("join", barrier, whole, count, site=site)

    def arrive(self, name: int, count: int, *, waits: bool = True) -> None:
        """The active threads arrive at barrier ``name`` and wait until ``count`` have, or go on where they do not wait."""
        cta = self._cta
        self.record(name, cta.active, count, waits=waits)
        if waits and cta.whole and count == cta.num_threads and name not in self._open:
            cta.clocks.synchronize_all()
            return
        barrier = self._open.setdefault(name, _Barrier(np.zeros(cta.num_threads, np.bool_), count))
        if barrier.count != count:
            raise cta.scene.error(
                "deadlock", f"barrier {name} is for {barrier.count} threads in one place and for {count} here"
            )
        barrier.arrived = barrier.arrived | cta.active
        if int(barrier.arrived.sum()) >= count:
            del self._open[name]
            cta.clocks.synchronize(barrier.arrived)
            barrier.passed = True
        if not waits:
            return
        cta.wait_until(lambda: barrier.passed, lambda: _description(name, barrier))


def _description(name: int, barrier: _Barrier) -> str:
    return f"a barrier that {int(barrier.arrived.sum())} of {barrier.count} threads reach (barrier {name})"


@dataclass
class PhaseCount:
    """A barrier in memory: a phase is complete when ``count`` threads have arrived and all bytes that they expect have come."""

    count: int
    phase: int = 0
    arrived: int = 0
    pending_bytes: int = 0

    def goes_on(self) -> bool:
        """True if the phase is complete; then the next one begins."""
        complete = self.arrived >= self.count and self.pending_bytes == 0
        if complete:
            self.phase, self.arrived = self.phase + 1, 0
        return complete

    def __str__(self) -> str:
        return (
            f"phase {self.phase}, {self.arrived} of {self.count} arrivals, {self.pending_bytes} bytes to come"
        )


@dataclass
class _Phase(PhaseCount):
    """With what happens when it is complete."""

    known: Array | None = None
    #: copies that land when the phase is complete, and those of complete phases that nobody has waited for
    landings: list[Callable[[], None]] = field(default_factory=list)
    complete: list[Callable[[], None]] = field(default_factory=list)
    #: whether somebody must wait for one of them, which ``site`` started
    is_owed: bool = False
    site: int = -1


class Phases:
    """Barriers in shared memory, by address.

    Machine ops give one uniform address.  Waiting for a phase that nobody completes is a deadlock.
    """

    def __init__(self, cta: Threads) -> None:
        self._cta = cta
        self._found: dict[int, _Phase] = {}

    def init(self, address: int, count: int, threads: Mask) -> None:
        """``threads`` start a barrier for ``count`` arrivals at ``address``."""
        if count <= 0:
            raise self._cta.scene.error("asynchronous", f"a barrier for {count} arrivals")
        self._found[address] = _Phase(count)
        self._record("start", address, threads, count)

    def forget(self, address: int, threads: Mask) -> None:
        """``threads`` end the barrier at ``address``; nobody may wait for it."""
        self._at(address)
        self._record("end", address, threads)
        del self._found[address]

    def number(self, address: int) -> int:
        """The present phase of the barrier at ``address``, counted from 0."""
        return self._at(address).phase

    def _at(self, address: int) -> _Phase:
        found = self._found.get(address)
        if found is None:
            raise self._cta.scene.error(
                "asynchronous",
                f"no barrier was initialised at shared address {address:#x}",
                remedy="initialise it, and pass a barrier of all threads before others use it",
            )
        return found

    def arrive(
        self, address: int, threads: Mask, expected_bytes: int = 0, *, by: Threads | None = None
    ) -> None:
        """Each of ``threads``, of this CTA or of ``by``, arrives; together they expect ``expected_bytes`` more bytes in this phase."""
        phase = self._at(address)
        self._record("arrive", address, threads, int(threads.sum()), expected_bytes, by=by)
        phase.arrived += int(threads.sum())
        phase.pending_bytes += expected_bytes
        self._learn(phase, (by or self._cta).clocks.release(threads))
        if phase.arrived > phase.count:
            raise self._cta.scene.error(
                "asynchronous",
                f"{phase.arrived} threads arrive at the barrier at {address:#x}, which is for {phase.count}",
            )
        self._complete(phase)

    def add_copy(
        self,
        address: int,
        nbytes: int,
        land: Callable[[], None],
        *,
        owed: bool = True,
        by: Threads | None = None,
    ) -> None:
        """A copy by this CTA, or by ``by``, copies ``nbytes``; ``land`` is called when the phase is complete and somebody waits for it.

        Until then nobody may rely on it, so what reads too early is found.  ``owed``: somebody must wait for it before
        the kernel ends.
        """
        starter = by or self._cta
        phase, threads = self._at(address), starter.active
        if nbytes:
            self._record("copy", address, threads, nbytes=nbytes, by=by)

        def arrive() -> None:
            land()
            # the bytes count as written by who started the copy, now: who waits may rely on them
            self._learn(phase, starter.clocks.release(threads))

        phase.pending_bytes -= nbytes
        phase.landings.append(arrive)
        if owed:
            phase.is_owed, phase.site = True, self._cta.scene.site
        self._complete(phase)

    def wait(self, address: int, parity: int) -> None:
        """The active threads wait until the phase of ``parity`` is complete."""
        phase, threads, clocks = self._at(address), self._cta.active, self._cta.clocks
        self._record("wait", address, threads, parity)

        def ready() -> bool:
            if phase.phase % 2 == parity % 2:
                return False
            landings, phase.complete = phase.complete, []
            phase.is_owed = phase.is_owed and bool(phase.landings)
            for land in landings:
                land()
            if phase.known is not None:
                clocks.acquire(threads, phase.known)
            return True

        def what() -> str:
            return f"the barrier at {address:#x} ({phase})"

        self._cta.wait_until(ready, what)

    def finish(self) -> None:
        """The kernel ends: copies that count at a barrier must have been waited for."""
        for address, phase in self._found.items():
            if phase.is_owed:
                self._cta.scene.site = phase.site
                raise self._cta.scene.error(
                    "asynchronous",
                    f"nobody waits for a copy that counts at the barrier at {address:#x}",
                    remedy="wait for its phase before the kernel ends",
                )

    def _record(
        self,
        what: What,
        address: int,
        threads: Mask,
        number: int = 0,
        nbytes: int = 0,
        *,
        by: Threads | None = None,
    ) -> None:
        """Record that ``threads``, of this CTA or of ``by``, do it."""
        actor, barrier = by or self._cta, Barrier("memory", self._cta.rank, address)
        actor.cluster.trace.add(
            what, barrier, actor.in_cluster(threads), number, nbytes, site=self._cta.scene.site
        )

    @staticmethod
    def _learn(phase: _Phase, known: Array) -> None:
        phase.known = known if phase.known is None else np.maximum(phase.known, known)

    @staticmethod
    def _complete(phase: _Phase) -> None:
        if phase.goes_on():
            phase.complete += phase.landings
            phase.landings = []
