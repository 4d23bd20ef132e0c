"""Asynchronous copies to and from shared memory: on their way until somebody waits for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tri_core.lazy_dataclasses import dataclass
from tri_runtime.simulator.memory import Memory
from tri_runtime.simulator.synchronization import Phases
from tri_runtime.simulator.threads import Threads

__all__ = ["AsyncCopies", "BlockStores"]

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]


class CopyingThreads(Threads, Protocol):
    """The threads of a CTA that has barriers in shared memory, at which copies count."""

    @property
    def phases(self) -> Phases:
        """The barriers in shared memory."""
        ...


@dataclass
class _Copy:
    """Rows of bytes on their way to addresses, per thread; ``waiting`` for those that have not landed."""

    memory: Memory
    addresses: Array
    rows: Array
    waiting: Mask
    group: Array
    site: int


class AsyncCopies:
    """The asynchronous copies of a CTA, in groups that each thread commits and waits for on its own.

    A copy reads its source when it starts.  Its destination must not be touched before the wait, and by other
    threads not before a barrier after it.
    """

    def __init__(self, cta: CopyingThreads) -> None:
        self._cta = cta
        self._group = np.zeros(cta.num_threads, np.int64)
        self._going: list[_Copy] = []

    def start(self, memory: Memory, addresses: Array, rows: Array, active: Mask) -> None:
        """Copy ``rows[t]`` (any dtype, shape ``(threads, n)``) to ``addresses[t]`` of ``memory`` where ``active``."""
        raw = np.ascontiguousarray(rows).view(np.uint8).reshape(len(addresses), -1)
        site = self._cta.scene.site
        copy = _Copy(memory, addresses.astype(np.int64), raw, active.copy(), self._group.copy(), site)
        memory.start_copy(copy.addresses, active, raw.shape[1])
        self._going.append(copy)

    def commit(self, active: Mask) -> None:
        """Group the copies that ``active`` threads started since their last commit."""
        self._group = self._group + active

    def wait(self, pending: int, active: Mask) -> None:
        """``active`` threads wait until at most their ``pending`` latest groups are on their way."""
        for copy in self._going:
            done = copy.waiting & active & (copy.group < self._group - pending)
            if done.any():
                copy.memory.land_copy(copy.addresses, copy.rows, done)
                copy.waiting = copy.waiting & ~done
        self._going = [c for c in self._going if c.waiting.any()]

    def start_with_barrier(
        self,
        memory: Memory,
        addresses: Array,
        rows: Array,
        active: Mask,
        barrier: int,
        to: CopyingThreads | None = None,
        *,
        again: Callable[[], Array] | None = None,
    ) -> None:
        """Copy as :meth:`start` does; it lands when the phase of the barrier at ``barrier``, of this CTA or of ``to``, is complete.

        ``again``: reads the rows once more then, for a copy that reads late.
        """
        raw = np.ascontiguousarray(rows).view(np.uint8).reshape(len(addresses), -1)
        places, threads = addresses.astype(np.int64), active.copy()
        memory.start_copy(places, threads, raw.shape[1], block=True)
        nbytes = int(threads.sum()) * raw.shape[1]
        phases = (to or self._cta).phases

        def land() -> None:
            rows = raw if again is None else np.ascontiguousarray(again()).view(np.uint8).reshape(raw.shape)
            memory.land_copy(places, rows, threads, block=True)

        phases.add_copy(barrier, nbytes, land, by=self._cta)

    def finish(self) -> None:
        """The kernel ends: every copy must have been waited for."""
        for copy in self._going:
            thread = int(np.flatnonzero(copy.waiting)[0])
            self._cta.scene.site = copy.site
            raise self._cta.scene.error(
                "asynchronous",
                f"thread {thread} never waits for an asynchronous copy that it starts",
                thread=thread,
                remedy="commit the group and wait for it",
            )


class BlockStores:
    """Block copies out of shared memory, in groups that each thread commits and waits for on its own.

    Global memory is written when a copy starts, or as late as may be: what it reads must not be written before the wait.
    """

    def __init__(self, cta: CopyingThreads) -> None:
        self._cta = cta
        #: by thread: writes since its last commit, and groups of them, that are done late
        self._open_writes: dict[int, list[Callable[[], None]]] = {}
        self._late_writes: dict[int, list[list[Callable[[], None]]]] = {}
        self._open: dict[int, list[Callable[[], None]]] = {}
        self._groups: dict[int, list[list[Callable[[], None]]]] = {}
        self._sites: dict[int, int] = {}

    def start(
        self, memory: Memory, address: int, nbytes: int, thread: int, done: Callable[[], None] = lambda: None
    ) -> Array:
        """``thread`` starts to copy ``nbytes`` at ``address`` of ``memory``; gives them, uint8.  ``done`` is called when it has."""
        found, left = memory.start_source_copy(address, nbytes, thread)
        self._open.setdefault(thread, []).extend([left, done])
        self._sites[thread] = self._cta.scene.site
        return found

    def write(self, thread: int, do: Callable[[], None], *, is_late: bool) -> None:
        """``do`` what a copy of ``thread`` does to global memory: now, or where that ``is_late`` when somebody has to see it.

        Nothing overtakes earlier copies of the thread.
        """
        if is_late or self._open_writes.get(thread) or any(self._late_writes.get(thread, [])):
            self._open_writes.setdefault(thread, []).append(do)
        else:
            do()

    def commit(self, active: Mask) -> None:
        """Group the stores that each of ``active`` started since its last commit."""
        for thread in np.flatnonzero(active):
            self._groups.setdefault(int(thread), []).append(self._open.pop(int(thread), []))
            self._late_writes.setdefault(int(thread), []).append(self._open_writes.pop(int(thread), []))

    def wait(self, pending: int, active: Mask, *, reads: bool = True) -> None:
        """``active`` threads wait until at most their ``pending`` latest groups still read; not ``reads``: still write."""
        for thread in np.flatnonzero(active):
            _complete(self._groups.get(int(thread), []), pending)
            if not reads:
                _complete(self._late_writes.get(int(thread), []), pending)

    def finish(self) -> None:
        """The kernel ends: shared memory goes, so nobody may still read it; what was written is seen by the next."""
        for writes in [
            *(group for groups in self._late_writes.values() for group in groups),
            *self._open_writes.values(),
        ]:
            for do in writes:
                do()
        left = {t for t, made in self._open.items() if made}
        left |= {t for t, groups in self._groups.items() if any(groups)}
        if left:
            thread = min(left)
            self._cta.scene.site = self._sites[thread]
            raise self._cta.scene.error(
                "asynchronous",
                f"thread {thread} never waits for an asynchronous copy from shared memory that it starts",
                thread=thread,
                remedy="commit the group and wait for it before the kernel ends",
            )


def _complete(groups: list[list[Callable[[], None]]], pending: int) -> None:
    """All groups but the latest ``pending`` come to their end."""
    while len(groups) > pending:
        for end in groups.pop(0):
            end()
