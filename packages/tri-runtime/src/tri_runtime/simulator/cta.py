"""One CTA: groups of threads that run in lock step until they part, wait or are done.

Each thread has a place: a block of the control-flow graph (numbered in reverse postorder) and a step in it.
The threads at the least place run next, together: so threads that diverge converge again where their paths do, and
loops run until the last thread has left.  Threads that wait (at a barrier, for a phase) are passed over until
what they wait for has happened; when all others are done too, it never happens: a deadlock.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tri_core.errors import DeviceError, InternalError, SimulationError
from tri_core.lazy_dataclasses import dataclass
from tri_runtime.simulator.clocks import Clocks
from tri_runtime.simulator.cluster import Cluster, Share
from tri_runtime.simulator.copies import AsyncCopies, BlockStores
from tri_runtime.simulator.memory import Memory
from tri_runtime.simulator.repetition import Flow, Repetition
from tri_runtime.simulator.scene import Place, Scene, numbers
from tri_runtime.simulator.schedule import Schedule
from tri_runtime.simulator.synchronization import Barriers, Phases
from tri_runtime.simulator.warps import WarpOrder

__all__ = ["CTA", "Code", "Executable", "Step", "as_cta"]

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]

#: steps of a block have numbers below
_STEPS = 1 << 32
_DONE = 1 << 62
#: basic blocks that a CTA runs before another CTA runs: they may wait for each other
_TIME_SLICE = 1024
#: as many where a schedule says who runs
_SCHEDULED_SLICE = 16

#: runs one op; true when the threads that ran it wait
Step = Callable[["CTA"], object]


class Code(Protocol):
    """A kernel as a CTA runs it."""

    @property
    def slots(self) -> Mapping[Any, int]:
        """The index of each value."""
        ...

    @property
    def parameters(self) -> Sequence[int]:
        """The slots of the kernel's parameters."""
        ...

    @property
    def steps(self) -> Sequence[Sequence[Step]]:
        """The ops of each block, in reverse postorder."""
        ...

    @property
    def flow(self) -> Flow:
        """Data flow between values."""
        ...

    @property
    def collectives(self) -> Sequence[Sequence[int]]:
        """Of each block the steps that several warps do together, in order."""
        ...


class Executable(Code, Protocol):
    """A kernel of some level, as a launch runs it."""

    @property
    def symbols(self) -> Sequence[str]:
        """Names of what begins at the start of shared memory."""
        ...

    @property
    def sites(self) -> Sequence[Place]:
        """Places of ops for errors, by the number that a step puts into the scene."""
        ...

    def given(self, arguments: Sequence[int | float], num_threads: int) -> list[Array]:
        """``arguments`` (addresses and scalars) as the values of parameters, for each thread."""
        ...


@dataclass(frozen=True)
class _Waiter:
    """Threads that wait until ``ready``."""

    threads: Mask
    ready: Callable[[], bool]
    what: Callable[[], str]
    site: int


class CTA:
    """The state of a running CTA; what machine ops see (``SimulatedCTA`` of the GPU dialect)."""

    def __init__(
        self,
        program: Code,
        num_threads: int,
        threads_per_warp: int,
        memories: Mapping[int, Memory],
        symbols: Mapping[str, int],
        program_id: tuple[int, int, int],
        num_programs: tuple[int, int, int],
        scene: Scene,
        clocks: Clocks | None = None,
        cluster: Cluster[CTA] | None = None,
        watched: Memory | None = None,
    ) -> None:
        self.num_threads, self.threads_per_warp = num_threads, threads_per_warp
        self.program_id, self.num_programs = program_id, num_programs
        self.scene, self.symbols, self._watched = scene, symbols, watched
        self.active: Mask = np.ones(num_threads, np.bool_)
        self.whole = True
        self.values: list[Any] = [None] * len(program.slots)
        self.place = np.zeros(num_threads, np.int64)
        whole = clocks or Clocks(num_threads)
        #: the CTAs that run together, this one among them as number ``rank``
        self.cluster: Cluster[CTA] = cluster or Cluster(whole, num_threads, threads_per_warp)
        self.rank = self.cluster.join(self)
        alone = whole.num_threads == num_threads
        self.clocks = whole if alone else Share(whole, self.rank * num_threads, num_threads)
        #: whether all threads wait for something, whether all have left, and how often some of them ran
        self.is_blocked, self.is_done, self.steps = False, False, 0
        self.barriers, self.phases = Barriers(self), Phases(self)
        self.copies, self.stores = AsyncCopies(self), BlockStores(self)
        #: what machine ops want checked when the kernel ends
        self.at_end: list[Callable[[], None]] = []
        self._program, self._memories = program, memories
        self._waiters: list[_Waiter] = []
        self._wait: tuple[Callable[[], bool], Callable[[], str]] | None = None
        self._is_interrupted = False
        schedule = None if watched is None else watched.schedule
        self._repetition = Repetition(program.flow, threads_per_warp)
        self._slice = _TIME_SLICE if schedule is None else _SCHEDULED_SLICE
        self._order = None if schedule is None else self._warp_order(schedule)
        #: whether warps of one block may be at different ops of it
        self.is_apart = self._order is not None

    def _warp_order(self, schedule: Schedule) -> WarpOrder | None:
        """None where warps are in step."""
        lanes = self.threads_per_warp
        if schedule.warps is None or self.num_threads <= lanes or self.num_threads % lanes:
            return None
        collectives = [b * _STEPS + i for b, steps in enumerate(self._program.collectives) for i in steps]
        return WarpOrder(lanes, frozenset(collectives), schedule.warps, schedule.inner)

    def is_late(self) -> bool:
        """True if a copy that is started now completes as late as allowed."""
        schedule = None if self._watched is None else self._watched.schedule
        return schedule is not None and schedule.is_late()

    def memory(self, space: int) -> Memory:
        """The memory of LLVM address space ``space``."""
        found = self._memories.get(space)
        if found is None:
            raise DeviceError(f"address space {space} has no memory here")
        return found

    def barrier(self, name: int = 0, count: int | None = None) -> None:
        """``count`` threads of the CTA (by default all) synchronise at barrier ``name``."""
        self.barriers.arrive(name, count or self.num_threads)

    def stop(self) -> None:
        """End the kernel with an error, if any thread is active."""
        if self.active.any():
            thread = int(np.flatnonzero(self.active)[0])
            raise self.scene.error(
                "trap", f"thread {thread} stopped the kernel (an assertion failed)", thread=thread
            )

    def warp_barrier(self) -> None:
        """The active threads of each warp synchronise."""
        self.clocks.synchronize_warps(self.active, self.threads_per_warp)

    def wait_until(self, ready: Callable[[], bool], what: Callable[[], str]) -> None:
        """The active threads do not go on, after the present op, before ``ready()``; ``what`` for the error."""
        if not ready():
            self._wait = ready, what

    def take_wait(self) -> bool:
        """True if the op that ran made its threads wait."""
        return self._wait is not None

    # --- running ------------------------------------------------------------------------------------------

    def run(self, arguments: Sequence[Array]) -> Iterator[None]:
        """Run to the end; ``arguments`` are per-thread arrays.  Yields when another CTA may run."""
        for slot, value in zip(self._program.parameters, arguments, strict=True):
            self.values[slot] = value
        count, home = 0, -1
        while (place := self._next()) < _DONE or self._waiters:
            self.is_blocked = place >= _DONE
            if self.is_blocked:
                if len(self.cluster.members) == 1:
                    raise self.deadlock()
                yield
                continue
            # at the same place as last time, if it comes by: then its state can be compared
            if count >= self._slice and (place == home or count >= 2 * self._slice):
                count, home = 0, place
                yield
            self._run_from(place)
            count, self.steps = count + 1, self.steps + 1
            if self._is_interrupted:
                self._is_interrupted = False
                yield
        if self._watched is not None:
            self._watched.enter(self)
        self.is_blocked, self.is_done = False, True
        self.copies.finish()
        self.stores.finish()
        self.phases.finish()
        for check in self.at_end:
            check()

    def repeats(self, changes: int) -> bool:
        """True if the threads repeat an earlier state, as far as control depends on it, with memory unchanged
        since change ``changes``.
        """
        return self._repetition.look(self, changes)

    def _next(self) -> int:
        """The least place of threads that do not wait, or of one of their warps; the threads there become active."""
        places = self.place
        if self._waiters:
            self._release()
            places = places.copy()
            for waiter in self._waiters:
                places[waiter.threads] = _DONE
        if self._order is not None:
            place, active = self._order.next(places, _DONE)
            self._set_active(active)
            return place
        place = int(places.min())
        self._set_active(places == place)
        return place

    def _set_active(self, active: Mask) -> None:
        self.active = active
        self.whole = bool(active.all())

    def _run_from(self, place: int) -> None:
        block, first = divmod(place, _STEPS)
        steps = self._program.steps[block]
        self._repetition.visited.add(block)
        if self._watched is not None:
            self._watched.enter(self)
            if self._watched.schedule is not None:
                self._run_scheduled(place, steps, first, self._watched, self._watched.schedule)
                return
        for index in range(first, len(steps)):
            if steps[index](self):
                self._suspend(place - first + index + 1)
                return

    def _run_scheduled(
        self, place: int, steps: Sequence[Step], first: int, memory: Memory, schedule: Schedule
    ) -> None:
        """As :meth:`_run_from`, up to an access of ``memory`` that ``schedule`` interrupts, or a collective op."""
        end = self._end(place // _STEPS, first, len(steps))
        for index in range(first, end):
            before = memory.accesses
            if steps[index](self):
                self._suspend(place - first + index + 1)
                return
            if memory.accesses != before and index + 1 < end and schedule.interrupts():
                if memory.weak is not None and schedule.drains():
                    memory.weak.drain_one()
                self.place = np.where(self.active, place - first + index + 1, self.place)
                self._is_interrupted = True
                return
        if end < len(steps):
            self.place = np.where(self.active, place - first + end, self.place)

    def _end(self, block: int, first: int, count: int) -> int:
        """The step of ``block``, of ``count``, before which threads that are at step ``first`` stop."""
        if self._order is None:
            return count
        collectives = self._program.collectives[block]
        index = bisect_left(collectives, first)
        if index == len(collectives):
            return count
        return first + 1 if collectives[index] == first else collectives[index]

    def _suspend(self, place: int) -> None:
        assert self._wait is not None
        ready, what = self._wait
        self._wait = None
        self.place = np.where(self.active, place, self.place)
        self._waiters.append(_Waiter(self.active, ready, what, self.scene.site))

    def _release(self) -> None:
        self._waiters = [w for w in self._waiters if not w.ready()]

    def deadlock(self, others: Sequence[CTA] = ()) -> SimulationError:
        """Nobody can go on, nor can ``others`` of the cluster: who waits for what."""
        descriptions = [
            self._description(),
            *(f"in CTA {each.rank} {each._description()}" for each in others),
        ]
        self.scene.site = self._waiters[0].site
        return self.scene.error(
            "deadlock",
            "deadlock: " + "; ".join(descriptions),
            thread=int(np.flatnonzero(self._waiters[0].threads)[0]),
            other=self._waiters[-1].site if len(self._waiters) > 1 else None,
            remedy="every thread must come to the barrier; move it out of divergent control flow",
        )

    def _description(self) -> str:
        """Description of the waiting threads and their barriers."""
        lines = [
            f"{numbers(w.threads)} wait for {w.what()}{self.scene.describe(w.site)}" for w in self._waiters
        ]
        waiting = np.logical_or.reduce([w.threads for w in self._waiters])
        if not waiting.all():
            lines.append(f"{numbers(~waiting)} have left the kernel")
        return "; ".join(lines)

    # --- values -------------------------------------------------------------------------------------------

    def write(self, slot: int, value: Any) -> None:
        """Set a value for the threads that are active."""
        old = self.values[slot]
        if old is None or self.whole:
            self.values[slot] = value
        elif isinstance(value, tuple):
            self.values[slot] = tuple(self._merge(n, o) for n, o in zip(value, old, strict=True))
        else:
            self.values[slot] = self._merge(value, old)

    def _merge(self, new: Array, old: Array) -> Array:
        return np.where(self.active if new.ndim == 1 else self.active[:, None], new, old)

    def jump(self, ways: Sequence[tuple[Mask, int, Sequence[tuple[int, Any]]]]) -> None:
        """Send threads to the starts of blocks: (which, block, the block's arguments by slot)."""
        for threads, block, arguments in ways:
            self._set_active(threads)
            for slot, value in arguments:
                self.write(slot, value)
            self.place = np.where(threads, block * _STEPS, self.place)

    def leave(self) -> None:
        """The active threads are done."""
        self.place = np.where(self.active, _DONE, self.place)
        self.cluster.barrier.leave(self.in_cluster(self.active))

    def in_cluster(self, threads: Mask) -> Mask:
        """A mask of this CTA's threads as one of the cluster's."""
        found = np.zeros(self.cluster.clocks.num_threads, np.bool_)
        found[self.rank * self.num_threads :][: self.num_threads] = threads
        return found


def as_cta(cta: object) -> CTA:
    """``cta``, which machine ops see as less, as the CTA that it is; InternalError for another simulator's."""
    if not isinstance(cta, CTA):
        raise InternalError(f"a {type(cta).__name__} has no barriers in memory and no block copies")
    return cta
