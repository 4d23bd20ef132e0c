"""Simulated memory: allocations at addresses, with bounds, alignment and rights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from tri_core.errors import SimulationError
from tri_runtime.races import RELAXED, Semantics
from tri_runtime.simulator.allocation import Access, Allocation
from tri_runtime.simulator.global_races import GlobalRaces
from tri_runtime.simulator.polls import Polls
from tri_runtime.simulator.scene import Scene
from tri_runtime.simulator.schedule import Schedule
from tri_runtime.simulator.threads import Threads
from tri_runtime.simulator.tracking import Tracker
from tri_runtime.simulator.weak import WeakMemory

__all__ = ["Access", "Allocation", "Memory"]

Array = npt.NDArray[Any]
Bytes = npt.NDArray[np.uint8]
Indices = npt.NDArray[np.int64]

_GAP = 4096


class Memory:
    """One address space; addresses are int64 byte addresses, one per thread.

    What has not been written reads as 0xA5 bytes, where no ``tracker`` makes it an error.  ``listener`` is
    called with every access.  Trackers know this memory's threads by numbers that begin at ``first_thread``.
    """

    def __init__(
        self,
        name: str,
        base: int = 1 << 16,
        tracker: Tracker | None = None,
        scene: Scene | None = None,
        listener: Callable[[Access], None] | None = None,
        first_thread: int = 0,
    ) -> None:
        self.name, self.tracker, self.listener = name, tracker, listener
        self.first_thread = first_thread
        self._is_tracked = True
        #: who looks for data races here, if anybody, and what is seen late, if anything: in global memory
        self.races: GlobalRaces | None = None
        self.weak: WeakMemory | None = None
        #: when accesses interrupt the program that makes them, if ever
        self.schedule: Schedule | None = None
        #: waits for what others write: where, and for how long nothing has changed
        self.polls = Polls()
        self.scene = scene or Scene()
        self.changes = self.accesses = 0
        self._next = base
        self._allocations: list[Allocation] = []
        self._starts: list[int] = []

    def allocate(self, contents: Bytes | int, name: str = "") -> int:
        """An allocation holding a copy of ``contents`` (or of so many bytes); gives its address."""
        data = np.full(contents, 0xA5, np.uint8) if isinstance(contents, int) else contents.copy()
        start = self._next
        self.add(Allocation(name, start, data, tracker=self.tracker))
        self._next = -(-(start + data.size + _GAP) // 256) * 256
        return start

    def add(self, allocation: Allocation) -> None:
        """Let ``allocation`` be part of this memory."""
        place = int(np.searchsorted(self._starts, allocation.start, "right"))
        self._starts.insert(place, allocation.start)
        self._allocations.insert(place, allocation)

    @contextmanager
    def untracked(self) -> Iterator[None]:
        """Context of accesses that are ordered with all others: no race."""
        self._is_tracked, before = False, self._is_tracked
        try:
            yield
        finally:
            self._is_tracked = before

    @contextmanager
    def atomic(
        self, addresses: Array, threads: Indices, nbytes: int, semantics: Semantics = RELAXED
    ) -> Iterator[None]:
        """Context of one atomic of ``nbytes`` at each of ``addresses``, by ``threads``: no race with others.

        ``semantics``: what it orders between programs.
        """
        if not len(threads):
            with self.untracked():
                yield
            return
        self._poll(addresses, nbytes)
        with self.untracked(), self._strong(semantics), self._in_order(addresses, threads, nbytes, semantics):
            yield

    @contextmanager
    def _strong(self, semantics: Semantics = RELAXED) -> Iterator[None]:
        """Accesses inside go to memory, after a release and before an acquire where ``semantics`` says so."""
        if (weak := self.weak) is None:
            yield
            return
        if semantics.releases:
            weak.release()
        with weak.strong():
            yield
        if semantics.acquires:
            weak.acquire()

    @contextmanager
    def _in_order(
        self, addresses: Array, threads: Indices, nbytes: int, semantics: Semantics
    ) -> Iterator[None]:
        """Context of an atomic for the race detectors."""
        if self.races is None:
            yield
            return
        at = addresses.astype(np.int64)
        places = self._places(at, threads, nbytes, "atomic")
        parts = [(a, np.atleast_1d(at[chosen] - a.start), threads[chosen]) for a, chosen in places]

        def contents(allocation: Allocation, offsets: Indices) -> Bytes:
            kind = np.dtype(f"V{nbytes}")
            rows = allocation.data[offsets[:, None] + np.arange(nbytes)]
            return np.ascontiguousarray(rows).view(kind)[:, 0]

        with self.races.atomic(parts, nbytes, semantics, contents):
            yield

    def order(self, semantics: Semantics) -> None:
        """A fence, which orders what is done here between programs as ``semantics`` says."""
        if self.races is not None:
            self.races.fence(semantics)
        if self.weak is not None:
            if semantics.releases:
                self.weak.release()
            if semantics.acquires:
                self.weak.acquire()

    @contextmanager
    def volatile(self, addresses: Array, active: Array, nbytes: int) -> Iterator[None]:
        """The accesses inside, of ``nbytes`` at each of ``addresses`` where ``active``, go to memory.

        Loads wait for others: they acquire.
        """
        threads = np.flatnonzero(active)
        if not len(threads):
            yield
            return
        self._poll(addresses[threads], nbytes)
        if self.races is not None:
            at = addresses[threads].astype(np.int64)
            for allocation, chosen in self._places(at, threads, nbytes, "load"):
                self.races.acquire(allocation, at[chosen] - allocation.start, nbytes)
        with self.untracked(), self._strong():
            yield

    @contextmanager
    def written_through(self) -> Iterator[None]:
        """Stores inside go to memory at once; to those who look for races they are like others."""
        with self._strong():
            yield

    def enter(self, cta: Threads) -> None:
        """Threads of ``cta`` run from now on."""
        self.polls.enter(cta)
        if self.races is not None:
            self.races.enter(cta)
        if self.weak is not None:
            self.weak.enter(cta)

    def leave(self, cta: Threads) -> None:
        """All threads of ``cta`` have come to their ends."""
        if self.weak is not None:
            self.weak.leave(cta)

    def _poll(self, addresses: Array, nbytes: int) -> None:
        self.polls.add(self.scene.site, int(addresses[0]), nbytes, self.changes)

    def _tracker(self, allocation: Allocation) -> Tracker | None:
        return allocation.tracker if self._is_tracked else None

    def _watcher(self) -> GlobalRaces | None:
        return self.races if self._is_tracked else None

    def around(self, addresses: Array, nbytes: int) -> Bytes:
        """``nbytes`` at each of ``addresses`` as they are, 0xA5 outside of all allocations; neither checked nor recorded."""
        places = addresses.astype(np.int64)[:, None] + np.arange(nbytes)
        found = np.full(places.shape, 0xA5, np.uint8)
        which = np.searchsorted(self._starts, places, "right") - 1
        for index in np.unique(which[which >= 0]):
            allocation = self._allocations[index]
            offsets = places - allocation.start
            inside = (which == index) & (offsets < allocation.data.size)
            found[inside] = allocation.data[offsets[inside]]
        return found

    def contents(self, address: int) -> Bytes:
        """The bytes of the allocation at ``address``."""
        return self._allocations[self._starts.index(address)].data

    def load(
        self,
        addresses: Array,
        dtype: np.dtype[np.generic],
        active: Array,
        count: int = 1,
        alignment: int = 0,
        *,
        ordinary: bool = True,
    ) -> Array:
        """``count`` adjacent values per thread where ``active``; zero elsewhere.

        The result has shape ``(threads,)`` for a count of 1, else ``(threads, count)``.  ``alignment`` is what
        the instruction needs, in bytes: by default that of one element.  Not ``ordinary``: a matrix unit reads for the threads.
        """
        nbytes = dtype.itemsize * count
        values = np.zeros((len(addresses), count), dtype)
        threads = np.flatnonzero(active)
        if len(threads):
            at = addresses[threads].astype(np.int64)
            self._begin("load", at, threads, nbytes, alignment or dtype.itemsize)
            self.polls.note(self.scene.site, int(at[0]), nbytes, self.changes)
            for allocation, chosen in self._places(at, threads, nbytes, "load"):
                offsets = at[chosen] - allocation.start
                values[threads[chosen]] = self._seen(allocation, offsets, dtype, count)
                if (tracker := self._tracker(allocation)) is not None:
                    tracker.read(offsets, threads[chosen] + self.first_thread, nbytes, ordinary=ordinary)
                if (races := self._watcher()) is not None:
                    races.read(allocation, offsets, threads[chosen], nbytes)
        return values[:, 0] if count == 1 else values

    def store(self, addresses: Array, values: Array, active: Array, alignment: int = 0) -> None:
        """Write one value, or one row of values, per thread where ``active``; the last thread wins."""
        threads = np.flatnonzero(active)
        if not len(threads):
            return
        at = addresses[threads].astype(np.int64)
        rows = np.ascontiguousarray(values[threads]).reshape(len(threads), -1)
        nbytes = rows.dtype.itemsize * rows.shape[1]
        self._begin("store", at, threads, nbytes, alignment or rows.dtype.itemsize)
        raw = rows.view(np.uint8)
        for allocation, chosen in self._places(at, threads, nbytes, "store"):
            if not allocation.writable:
                raise self._read_only(allocation, int(threads[chosen][0]))
            offsets = at[chosen] - allocation.start
            places = offsets[:, None] + np.arange(nbytes)
            new = raw[chosen]
            same = self._bytes(allocation, places) == new
            if (tracker := self._tracker(allocation)) is not None:
                tracker.write(offsets, threads[chosen] + self.first_thread, nbytes, same)
            races = self._watcher()
            if races is not None:
                races.write(allocation, offsets, threads[chosen], nbytes, same)
            if not same.all() or self.weak is not None:
                self.changes += not same.all()
                self._put(allocation, offsets, places, new)
                if races is not None:
                    left = (self._bytes(allocation, places) != new).any(axis=1)
                    races.overwritten(allocation, offsets, threads[chosen], left)

    def _seen(
        self, allocation: Allocation, offsets: Indices, dtype: np.dtype[np.generic], count: int
    ) -> Array:
        """``count`` values at each of ``offsets`` as those see them who run."""
        if self.weak is None:
            return _gather(allocation, offsets, dtype, count)
        raw = self.weak.load(allocation, offsets[:, None] + np.arange(dtype.itemsize * count))
        return np.ascontiguousarray(raw).view(dtype)

    def _bytes(self, allocation: Allocation, places: Indices) -> Bytes:
        """The bytes at ``places`` as those see them who run."""
        return allocation.data[places] if self.weak is None else self.weak.peek(allocation, places)

    def _put(self, allocation: Allocation, offsets: Indices, places: Indices, new: Bytes) -> None:
        if self.weak is None:
            allocation.data[places] = new
        else:
            self.weak.store(allocation, offsets, new)

    def start_copy(self, addresses: Indices, active: Array, nbytes: int, *, block: bool = False) -> None:
        """A copy of ``nbytes`` to each of ``addresses`` where ``active`` is on its way."""
        threads = np.flatnonzero(active)
        at = addresses[threads]
        self._begin("copy", at, threads, nbytes, min(nbytes & -nbytes, 16))
        for allocation, chosen in self._places(at, threads, nbytes, "copy"):
            if (tracker := self._tracker(allocation)) is not None:
                offsets, users = at[chosen] - allocation.start, threads[chosen] + self.first_thread
                tracker.start_copy(offsets, users, nbytes, block=block)

    def land_copy(self, addresses: Indices, rows: Bytes, active: Array, *, block: bool = False) -> None:
        """The copy of ``rows`` has landed where ``active``: as if these threads wrote it now."""
        threads = np.flatnonzero(active)
        at, nbytes = addresses[threads], rows.shape[1]
        for allocation, chosen in self._places(at, threads, nbytes, "copy"):
            offsets = at[chosen] - allocation.start
            if (tracker := self._tracker(allocation)) is not None:
                tracker.land_copy(offsets, nbytes)
                different = np.zeros((len(offsets), nbytes), np.bool_)
                tracker.write(offsets, threads[chosen] + self.first_thread, nbytes, different)
                if block:
                    tracker.block_copy_landed(offsets, nbytes)
            allocation.data[offsets[:, None] + np.arange(nbytes)] = rows[threads[chosen]]

    def start_source_copy(self, address: int, nbytes: int, thread: int) -> tuple[Bytes, Callable[[], None]]:
        """A block copy by ``thread`` reads ``nbytes`` at ``address``: the bytes, and what to call once it is done."""
        at, threads = np.array([address]), np.array([thread])
        self._begin("copy", at, threads, nbytes, min(nbytes & -nbytes, 16))
        ((allocation, _),) = self._places(at, threads, nbytes, "copy")
        offsets, tracker = at - allocation.start, allocation.tracker
        found = allocation.data[int(offsets[0]) : int(offsets[0]) + nbytes].copy()
        if tracker is None:
            return found, lambda: None
        tracker.start_source_copy(offsets, threads + self.first_thread, nbytes)
        return found, lambda: tracker.end_source_copy(offsets, nbytes)

    def written(self, address: int, nbytes: int) -> npt.NDArray[np.bool_]:
        """Mask (booleans) of the ``nbytes`` at ``address`` that have been written."""
        at = np.array([address])
        ((allocation, _),) = self._places(at, np.zeros(1, np.int64), nbytes, "copy")
        first = address - allocation.start
        tracker = allocation.tracker
        return np.ones(nbytes, np.bool_) if tracker is None else tracker.written(first, nbytes)

    def check_fenced(self, addresses: Indices, active: Array, nbytes: int) -> None:
        """SimulationError unless the asynchronous proxy sees ``nbytes`` at each of ``addresses`` where ``active``.

        For what matrix units read here on their own: ordinary writes are seen only after a fence of those who wrote.
        """
        threads = np.flatnonzero(active)
        if not len(threads):
            return
        at = addresses[threads].astype(np.int64)
        for allocation, chosen in self._places(at, threads, nbytes, "load"):
            if allocation.tracker is not None:
                users = threads[chosen] + self.first_thread
                allocation.tracker.check_fenced(at[chosen] - allocation.start, users, nbytes)

    def fence(self, active: Array) -> None:
        """Make writes of ``active`` threads visible to block copies and matrix units."""
        whole = active
        for tracker in {id(a.tracker): a.tracker for a in self._allocations if a.tracker}.values():
            if self.first_thread or len(active) < tracker.clocks.num_threads:
                whole = np.zeros(tracker.clocks.num_threads, np.bool_)
                whole[self.first_thread :][: len(active)] = active
            tracker.fence(whole)

    def fence_copies(self) -> None:
        """Make ordinary stores of the CTA visible to block copies."""
        if self.weak is not None:
            self.weak.release()

    def again(self, addresses: Array, dtype: np.dtype[np.generic], active: Array) -> Array:
        """Present result of :meth:`load` of these; neither checked nor counted: for a copy that is complete."""
        values, threads = np.zeros(len(addresses), dtype), np.flatnonzero(active)
        if len(threads):
            at = addresses[threads].astype(np.int64)
            for allocation, chosen in self._places(at, threads, dtype.itemsize, "load"):
                found = self._seen(allocation, at[chosen] - allocation.start, dtype, 1)
                values[threads[chosen]] = found.reshape(-1)
        return values

    def read_rows(self, addresses: Indices, nbytes: int, thread: int) -> Bytes:
        """``nbytes`` at each of ``addresses`` as copies see them, all for ``thread``: shape (addresses, nbytes).

        What ordinary code of the CTA has stored is seen where a fence, or its passage, has brought it to memory.
        """
        rows = np.zeros((len(addresses), nbytes), np.uint8)
        threads = np.full(len(addresses), thread)
        if len(addresses) and nbytes:
            self._begin("load", addresses, threads, nbytes, 1)
            for allocation, chosen in self._places(addresses, threads, nbytes, "load"):
                offsets = addresses[chosen] - allocation.start
                rows[chosen] = allocation.data[offsets[:, None] + np.arange(nbytes)]
                if (races := self._watcher()) is not None:
                    races.read(allocation, offsets, threads[chosen], nbytes)
        return rows

    def write_rows(self, addresses: Indices, rows: Bytes, thread: int) -> None:
        """Write a row of bytes to each of ``addresses``, all for ``thread``."""
        threads, nbytes = np.full(len(addresses), thread), rows.shape[1]
        if not rows.size:
            return
        self._begin("store", addresses, threads, nbytes, 1)
        for allocation, chosen in self._places(addresses, threads, nbytes, "store"):
            if not allocation.writable:
                raise self._read_only(allocation, thread)
            offsets = addresses[chosen] - allocation.start
            places = offsets[:, None] + np.arange(nbytes)
            same = self._bytes(allocation, places) == rows[chosen]
            if (races := self._watcher()) is not None:
                races.write(allocation, offsets, threads[chosen], nbytes, same)
            if not same.all() or self.weak is not None:
                self.changes += not same.all()
                with self._strong():
                    self._put(allocation, offsets, places, rows[chosen])

    def _begin(self, kind: str, at: Indices, threads: Indices, nbytes: int, alignment: int) -> None:
        self.accesses += 1
        if self.listener is not None:
            self.listener(Access(self.name, kind, self.scene.site, at, threads, nbytes))
        wrong = at % alignment != 0
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            thread = int(threads[row])
            raise self.scene.error(
                "misaligned",
                f"thread {thread}: {kind} of {nbytes} bytes at {self._description(int(at[row]))} is misaligned: the "
                f"instruction needs a multiple of {alignment}",
                thread=thread,
                remedy="take back what the kernel says of the pointer (tl.multiple_of), or align the array",
            )

    def _places(
        self, at: Indices, threads: Indices, nbytes: int, what: str
    ) -> list[tuple[Allocation, Indices | slice]]:
        """The allocations that the threads access, and which of the threads."""
        low, high = int(at.min()), int(at.max())
        which = int(np.searchsorted(self._starts, low, "right")) - 1
        if which >= 0:
            allocation = self._allocations[which]
            if high + nbytes <= allocation.start + allocation.data.size:
                return [(allocation, slice(None))]
        return self._several_places(at, threads, nbytes, what)

    def _several_places(
        self, at: Indices, threads: Indices, nbytes: int, what: str
    ) -> list[tuple[Allocation, Indices | slice]]:
        all_of_them = np.searchsorted(self._starts, at, "right") - 1
        found: list[tuple[Allocation, Indices | slice]] = []
        for index in np.unique(all_of_them):
            chosen = np.flatnonzero(all_of_them == index)
            allocation = self._allocations[index] if index >= 0 else None
            end = allocation.start + allocation.data.size if allocation is not None else 0
            bad = at[chosen] + nbytes > end
            if allocation is None or bad.any():
                row = int(chosen[bad][0])
                raise self._out_of_bounds(int(threads[row]), int(at[row]), nbytes, what)
            found.append((allocation, chosen))
        return found

    def _out_of_bounds(self, thread: int, address: int, nbytes: int, what: str) -> SimulationError:
        return self.scene.error(
            "out-of-bounds",
            f"thread {thread}: {what} of {nbytes} bytes at {address:#x} is outside of any buffer of "
            f"{self.name} memory{self._nearest(address)}",
            thread=thread,
            remedy="mask the access",
        )

    def _read_only(self, allocation: Allocation, thread: int) -> SimulationError:
        return self.scene.error(
            "read-only",
            f"thread {thread}: store to {allocation.name or 'an array'}, which is read-only",
            thread=thread,
            remedy="pass a writable array",
        )

    def _nearest(self, address: int) -> str:
        if not self._allocations:
            return ""
        distances = [max(a.start - address, address - (a.start + a.data.size), 0) for a in self._allocations]
        return f" (nearest: {self._description(address, self._allocations[int(np.argmin(distances))])})"

    def shown(self, address: int, nbytes: int) -> str:
        """Contents at ``address``, as the beginning of a clause."""
        word = self.around(np.array([address]), nbytes)[0]
        return f"{int.from_bytes(word.tobytes(), 'little'):#x} has been"

    def describe(self, address: int) -> str:
        """``address`` as part of a sentence."""
        return self._description(address)

    def _description(self, address: int, allocation: Allocation | None = None) -> str:
        """``address`` as an offset of the allocation that it belongs to."""
        if allocation is None:
            index = int(np.searchsorted(self._starts, address, "right")) - 1
            if index < 0:
                return f"{address:#x}"
            allocation = self._allocations[index]
        name = allocation.name or f"{self.name} memory"
        return f"byte {address - allocation.start} of {name}, which has {allocation.data.size} bytes"


def _gather(allocation: Allocation, offsets: Indices, dtype: np.dtype[np.generic], count: int) -> Array:
    """``count`` values at each of ``offsets``, shape ``(threads, count)``."""
    size = dtype.itemsize
    if not (offsets % size).any():
        first = offsets // size
        found: Array = allocation.view(dtype)[
            first[:, None] if count == 1 else first[:, None] + np.arange(count)
        ]
        return found
    raw = allocation.data[offsets[:, None] + np.arange(size * count)]
    return raw.view(dtype)
