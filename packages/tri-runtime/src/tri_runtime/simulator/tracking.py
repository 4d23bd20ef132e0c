"""State of every byte of shared memory: written or not, its writer, its readers, pending copies."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tri_core.errors import SimulationError
from tri_runtime.simulator.clocks import Clocks
from tri_runtime.simulator.scene import Scene

__all__ = ["Tracker"]

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.int64]
Bits = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]

#: in place of a reader: several threads
_SEVERAL = -2


class _Reads:
    """Readers, in a CTA whose first thread is number ``first``, of each byte since it was ordered before all.

    ``reader`` is a thread, or several; ``warps`` has a bit for each warp of the CTA.  ``taken`` is when ordinary code last read
    a byte since a block copy brought it (0: never), and ``takers`` has the warps that did and that no fence has followed since.
    """

    def __init__(self, size: int, first: int) -> None:
        self.first = first
        self.reader = np.full(size, -1, np.int32)
        self.time = np.zeros(size, np.int64)
        self.site = np.full(size, -1, np.int32)
        self.warps = np.zeros(size, np.uint64)
        self.taken = np.zeros(size, np.int64)
        self.takers = np.zeros(size, np.uint64)

    def add_warps(self, bits: Bits, places: Indices, threads: Indices, lanes: int) -> None:
        """Set the bits of the warps (of ``lanes``) of ``threads``, a row of ``places`` each, in ``bits``."""
        warps = (threads - self.first) // lanes
        for warp in range(int(warps[0]), int(warps[-1]) + 1):
            bits[places[warps == warp]] |= np.uint64(1 << warp)


class Tracker:
    """Finds races, reads of what nobody wrote, and accesses of what an asynchronous copy has yet to bring.

    A race is accesses of two threads to one byte, at least one a write, that no barrier orders.  Writes of the
    value that is there already are allowed: copies of a tensor's elements do that.  Places are byte offsets.
    ``clocks`` are those of all threads of a cluster, each of whose CTAs has ``cta_threads``.
    """

    def __init__(
        self,
        size: int,
        clocks: Clocks,
        scene: Scene,
        threads_per_warp: int,
        cta_threads: int | None = None,
    ) -> None:
        self.clocks, self.scene = clocks, scene
        self._lanes, self._size = threads_per_warp, size
        self._cta_threads = cta_threads or clocks.num_threads
        self._defined = np.zeros(size, np.bool_)
        self._writer = np.full(size, -1, np.int32)
        self._write_time = np.zeros(size, np.int64)
        self._write_site = np.full(size, -1, np.int32)
        #: by the number of the CTA of the cluster: CTAs are not in step
        self._reads: dict[int, _Reads] = {}
        self._target_site = np.full(size, -1, np.int32)
        self._target_copies = 0
        self._source_site = np.full(size, -1, np.int32)
        self._source_copies = 0
        #: bytes that ordinary code wrote last, and when each thread made its writes seen by block copies
        self._ordinary = np.zeros(size, np.bool_)
        self._fenced = np.zeros(clocks.num_threads, np.int64)

    def read(self, offsets: Indices, threads: Indices, nbytes: int, *, ordinary: bool = True) -> None:
        """``threads`` read ``nbytes`` at ``offsets``, one each; not ``ordinary``: block copies and matrix units read for them."""
        places = offsets[:, None] + np.arange(nbytes)
        self._check_target_copies(places, threads, "read")
        if not self._defined[places].all():
            row = int(np.flatnonzero(~self._defined[places].all(axis=1))[0])
            raise self.scene.error(
                "uninitialised",
                f"thread {threads[row]} reads {nbytes} bytes of shared memory at offset {offsets[row]} "
                "that nobody has written",
                thread=int(threads[row]),
                remedy="write them first, or mask the read",
            )
        self._check_writers(places, threads, self._true(places), "reads")
        reads = self._remember_read(places, threads)
        if ordinary:
            self._remember_taken(reads, places, threads)

    def write(self, offsets: Indices, threads: Indices, nbytes: int, same: Mask) -> None:
        """``threads`` write ``nbytes`` at ``offsets``, one each; ``same`` where the value is there already."""
        places = offsets[:, None] + np.arange(nbytes)
        self._check_target_copies(places, threads, "write")
        self._check_source_copies(places, threads, "write")
        same = same & self._defined[places]
        self._check_readers(places, threads, ~same)
        self._check_writers(places, threads, ~same, "overwrites")
        now = self.clocks.now
        written = self._write_time[places] == now
        fresh = ~(same & written)
        own = np.broadcast_to(threads[:, None], places.shape)
        self._writer[places[fresh]] = own[fresh]
        self._write_site[places[fresh]] = self.scene.site
        self._write_time[places] = now
        self._defined[places] = True
        self._ordinary[places] = True

    def start_copy(self, offsets: Indices, threads: Indices, nbytes: int, *, block: bool = False) -> None:
        """A copy by ``threads`` to ``offsets`` is on its way: nobody may touch these bytes until it has landed.

        A ``block`` copy follows ordinary writes only after a fence.
        """
        places = offsets[:, None] + np.arange(nbytes)
        self._check_target_copies(places, threads, "copy to")
        self._check_source_copies(places, threads, "copy to")
        self._check_readers(places, threads, self._true(places))
        self._check_writers(places, threads, self._true(places), "overwrites")
        if block:
            self._check_fences(places, threads)
            self._check_taken(places, threads)
        self._target_site[places] = self.scene.site
        self._target_copies += 1

    def land_copy(self, offsets: Indices, nbytes: int) -> None:
        """The copy has landed."""
        self._target_site[offsets[:, None] + np.arange(nbytes)] = -1
        self._target_copies -= 1

    def block_copy_landed(self, offsets: Indices, nbytes: int) -> None:
        """Mark bytes as written by a block copy, not by ordinary code."""
        self._ordinary[offsets[:, None] + np.arange(nbytes)] = False

    def start_source_copy(self, offsets: Indices, threads: Indices, nbytes: int) -> None:
        """A block copy by ``threads`` reads ``offsets``: nobody may write there until it is waited for."""
        places = offsets[:, None] + np.arange(nbytes)
        self.read(offsets, threads, nbytes, ordinary=False)
        self._check_fences(places, threads)
        self._source_site[places] = self.scene.site
        self._source_copies += 1

    def end_source_copy(self, offsets: Indices, nbytes: int) -> None:
        """The block copy has read what it copies."""
        self._source_site[offsets[:, None] + np.arange(nbytes)] = -1
        self._source_copies -= 1

    def written(self, offset: int, nbytes: int) -> Mask:
        """Mask of the ``nbytes`` from ``offset`` on that have been written."""
        return self._defined[offset : offset + nbytes].copy()

    def check_fenced(self, offsets: Indices, threads: Indices, nbytes: int) -> None:
        """Check that bytes at ``offsets``, ``nbytes`` each, are fenced before asynchronous units read them
        for ``threads``.
        """
        self._check_fences(offsets[:, None] + np.arange(nbytes), threads)

    def fence(self, threads: Mask) -> None:
        """Order the accesses of ``threads`` before later ones of block copies and matrix units."""
        self._fenced[threads] = self.clocks.now
        self.clocks.now += 1

    # --- the checks ---------------------------------------------------------------------------------------

    @staticmethod
    def _true(places: Indices) -> Mask:
        return np.ones(places.shape, np.bool_)

    def _check_target_copies(self, places: Indices, threads: Indices, what: str) -> None:
        if not self._target_copies:
            return
        wrong = self._target_site[places] >= 0
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            site = int(self._target_site[places[row, column]])
            raise self.scene.error(
                "asynchronous",
                f"thread {threads[row]}: {what} shared memory that an asynchronous copy{self.scene.describe(site)} "
                "has not been waited for",
                thread=int(threads[row]),
                other=site,
                remedy="wait for the copy, then pass a barrier",
            )

    def _check_source_copies(self, places: Indices, threads: Indices, what: str) -> None:
        if not self._source_copies:
            return
        wrong = self._source_site[places] >= 0
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            site = int(self._source_site[places[row, column]])
            raise self.scene.error(
                "asynchronous",
                f"thread {threads[row]}: {what} shared memory that an asynchronous copy{self.scene.describe(site)} reads, "
                "which has not been waited for",
                thread=int(threads[row]),
                other=site,
                remedy="wait for the copy, then pass a barrier",
            )

    def _check_fences(self, places: Indices, threads: Indices) -> None:
        """Ordinary code's writes are followed by a fence of the thread that wrote."""
        writers = self._writer[places]
        wrong = self._ordinary[places] & (self._write_time[places] > self._fenced[writers])
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            site = int(self._write_site[places[row, column]])
            raise self.scene.error(
                "asynchronous",
                f"thread {threads[row]}: what reads shared memory on its own may not see what thread "
                f"{writers[row, column]} wrote{self.scene.describe(site)}: no fence is between them",
                thread=int(threads[row]),
                other=site,
                remedy="the writing threads execute a proxy fence, then pass a barrier",
            )

    def _check_taken(self, places: Indices, threads: Indices) -> None:
        """Ordinary code's reads are followed by a fence of those who read: a block copy overtakes loads under way."""
        for reads in self._reads.values():
            takers = reads.takers[places]
            if not takers.any():
                continue
            late = self._unfenced(reads, takers, reads.taken[places])
            if late.any():
                row, column = np.argwhere(late)[0]
                site = int(reads.site[places[row, column]])
                warp = int(late[row, column]).bit_length() - 1
                raise self.scene.error(
                    "asynchronous",
                    f"thread {threads[row]}: a block copy to shared memory may overtake loads of warp "
                    f"{reads.first // self._lanes + warp}{self.scene.describe(site)}: no fence is between them",
                    thread=int(threads[row]),
                    other=site,
                    remedy="the reading threads execute a proxy fence, then pass or arrive at a barrier",
                )
            reads.takers[places] = 0

    def _unfenced(self, reads: _Reads, takers: Array, stamps: Indices) -> Array:
        """Those of ``takers``, bits of warps, of which a thread has executed no fence since ``stamps``."""
        first = reads.first // self._lanes
        count = -(-self._cta_threads // self._lanes)
        fenced = np.minimum.reduceat(self._fenced, np.arange(0, len(self._fenced), self._lanes))
        late = np.zeros_like(takers)
        for warp, time in enumerate(fenced[first : first + count]):
            late |= np.where(stamps > time, takers & np.uint64(1 << warp), np.uint64(0))
        return late

    def _remember_taken(self, reads: _Reads, places: Indices, threads: Indices) -> None:
        again = reads.takers[places]
        if again.any():
            # of those who read before, whoever has fenced since is done with it
            reads.takers[places] = self._unfenced(reads, again, reads.taken[places])
        reads.add_warps(reads.takers, places, threads, self._lanes)
        reads.taken[places] = self.clocks.now

    def _check_writers(self, places: Indices, threads: Indices, matters: Mask, verb: str) -> None:
        stamps = self._write_time[places]
        late = matters & (stamps > self.clocks.floor)
        if not late.any():
            return
        writers = self._writer[places]
        own = threads[:, None]
        wrong = late & (writers != own) & ~self.clocks.ordered(own, writers, stamps)
        if wrong.any():
            raise self._race(wrong, places, threads, writers, self._write_site, verb, "wrote")

    def _check_readers(self, places: Indices, threads: Indices, matters: Mask) -> None:
        for reads in self._reads.values():
            self._check_reads(reads, places, threads, matters)

    def _check_reads(self, reads: _Reads, places: Indices, threads: Indices, matters: Mask) -> None:
        stamps = reads.time[places]
        late = matters & (stamps > self.clocks.floor)
        if not late.any():
            return
        readers, own = reads.reader[places], threads[:, None]
        several = readers == _SEVERAL
        one = ~several & (readers != own) & ~self.clocks.ordered(own, readers, stamps)
        wrong = late & (one | (several & self._unordered_warps(reads, places, own, stamps)))
        if wrong.any():
            raise self._race(wrong, places, threads, readers, reads.site, "overwrites", "reads")

    def _unordered_warps(self, reads: _Reads, places: Indices, own: Indices, stamps: Indices) -> Mask:
        """Mask: true if a warp among several readers is not known to have read before now."""
        found = np.zeros(places.shape, np.bool_)
        warps = reads.warps[places]
        for warp in range(-(-self._cta_threads // self._lanes)):
            had = (warps >> np.uint64(warp)) & np.uint64(1) > 0
            if had.any():
                first = np.full(places.shape, reads.first + warp * self._lanes)
                found |= had & ~self.clocks.ordered(own, first, stamps)
        return found

    def _remember_read(self, places: Indices, threads: Indices) -> _Reads:
        now, own = self.clocks.now, threads[:, None]
        rank = int(threads[0]) // self._cta_threads
        reads = self._reads.get(rank)
        if reads is None:
            reads = self._reads[rank] = _Reads(self._size, rank * self._cta_threads)
        again = reads.time[places] > self.clocks.floor
        several = again & (reads.reader[places] != own)
        reads.warps[places[~again]] = 0
        reads.reader[places] = own
        # two threads of this very access may share a byte: the last one would hide the others
        several |= reads.reader[places] != own
        reads.reader[places[several]] = _SEVERAL
        reads.add_warps(reads.warps, places, threads, self._lanes)
        reads.time[places] = now
        reads.site[places] = self.scene.site
        return reads

    def _race(
        self,
        wrong: Mask,
        places: Indices,
        threads: Indices,
        others: Array,
        sites: Array,
        verb: str,
        other_verb: str,
    ) -> SimulationError:
        row, column = np.argwhere(wrong)[0]
        other, site = int(others[row, column]), int(sites[places[row, column]])
        who = f"thread {other}" if other >= 0 else "another thread"
        return self.scene.error(
            "race",
            f"race in shared memory: thread {threads[row]} {verb} what {who} {other_verb}"
            f"{self.scene.describe(site)}",
            thread=int(threads[row]),
            other=site,
            remedy="a barrier is missing between them",
        )
