"""Simulated memory: buffers at addresses, with bounds, and races between barriers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tri_core.errors import DeviceError

__all__ = ["Memory", "RaceChecker"]

Array = npt.NDArray[Any]
Bytes = npt.NDArray[np.uint8]
Indices = npt.NDArray[np.int64]

_GAP = 4096


class Memory:
    """One address space; addresses are int64 byte addresses, one per thread.

    Buffers are ``_GAP`` bytes apart, so that an access past the end of one hits nothing.  What has not been
    written reads as 0xA5 bytes.
    """

    def __init__(self, name: str, base: int = 1 << 16, checker: RaceChecker | None = None) -> None:
        self.name = name
        self.checker = checker
        self._next = base
        self._starts: list[int] = []
        self._buffers: list[Bytes] = []

    def allocate(self, contents: Bytes | int) -> int:
        """A buffer holding a copy of ``contents`` (or of so many bytes); gives its address."""
        data = np.full(contents, 0xA5, np.uint8) if isinstance(contents, int) else contents.copy()
        start = self._next
        self._starts.append(start)
        self._buffers.append(data)
        self._next = -(-(start + data.size + _GAP) // 256) * 256
        return start

    def contents(self, address: int) -> Bytes:
        """The bytes of the buffer at ``address``."""
        return self._buffers[self._starts.index(address)]

    def load(self, addresses: Array, dtype: np.dtype[np.generic], active: Array, count: int = 1) -> Array:
        """``count`` adjacent values per thread where ``active``; zero elsewhere.

        The result has shape ``(threads,)`` for a count of 1, else ``(threads, count)``.
        """
        nbytes = dtype.itemsize * count
        threads = np.flatnonzero(active)
        raw = np.zeros((len(addresses), nbytes), np.uint8)
        for buffer, start, chosen in self._places(addresses.astype(np.int64), threads, nbytes, "load"):
            offsets = addresses[chosen].astype(np.int64) - start
            raw[chosen] = buffer[offsets[:, None] + np.arange(nbytes)]
        if self.checker is not None:
            self.checker.read(addresses.astype(np.int64), threads, nbytes)
        values: Array = raw.view(dtype)
        return values[:, 0] if count == 1 else values

    def store(self, addresses: Array, values: Array, active: Array) -> None:
        """Write one value, or one row of values, per thread where ``active``; the last thread wins."""
        raw = np.ascontiguousarray(values).view(np.uint8).reshape(len(addresses), -1)
        threads = np.flatnonzero(active)
        nbytes = raw.shape[1]
        for buffer, start, chosen in self._places(addresses.astype(np.int64), threads, nbytes, "store"):
            offsets = addresses[chosen].astype(np.int64) - start
            places = offsets[:, None] + np.arange(nbytes)
            if self.checker is not None:
                same = buffer[places] == raw[chosen]
                self.checker.write(addresses[chosen].astype(np.int64), chosen, nbytes, same)
            buffer[places] = raw[chosen]

    def _places(
        self, addresses: Indices, threads: Indices, nbytes: int, what: str
    ) -> list[tuple[Bytes, int, Indices]]:
        """The buffers that the threads access: (bytes, start address, the threads)."""
        if not len(threads):
            return []
        which = np.searchsorted(self._starts, addresses[threads], "right") - 1
        found = []
        for index in np.unique(which):
            chosen = threads[which == index]
            start = self._starts[index] if index >= 0 else 0
            size = self._buffers[index].size if index >= 0 else 0
            offsets = addresses[chosen] - start
            bad = (offsets < 0) | (offsets + nbytes > size)
            if bad.any():
                thread = int(chosen[bad][0])
                raise DeviceError(
                    f"thread {thread}: {what} of {nbytes} bytes at {addresses[thread]:#x} is outside of any "
                    f"buffer of {self.name} memory (nearest: {size} bytes at {start:#x})",
                    remedy="mask the access",
                )
            found.append((self._buffers[index], start, chosen))
        return found


class RaceChecker:
    """Finds accesses of two threads to one byte, at least one a write, with no barrier between them.

    Writes of the value that is there already are allowed: copies of a tensor's elements do that.
    """

    def __init__(self, size: int, base: int = 1 << 16) -> None:
        self.base = base
        self.epoch = 1
        self._writer = np.full(size, -1, np.int64)
        self._write_epoch = np.zeros(size, np.int64)
        self._reader = np.full(size, -1, np.int64)
        self._read_epoch = np.zeros(size, np.int64)

    def barrier(self) -> None:
        """All earlier accesses are ordered before all later ones."""
        self.epoch += 1

    def read(self, addresses: Indices, threads: Indices, nbytes: int) -> None:
        """``threads`` read ``nbytes`` at their addresses."""
        places = (addresses[threads] - self.base)[:, None] + np.arange(nbytes)
        writer, fresh = self._writer[places], self._write_epoch[places] == self.epoch
        self._complain(fresh & (writer != threads[:, None]), threads, writer, "reads what thread {} wrote")
        again = self._read_epoch[places] == self.epoch
        several = again & (self._reader[places] != threads[:, None])
        self._reader[places] = np.where(several, -2, threads[:, None])
        # two threads of this very access may share a byte: the last one would hide the others
        flat = places.ravel()
        order, counts = np.unique(flat, return_counts=True)
        self._reader[order[counts > 1]] = -2
        self._read_epoch[places] = self.epoch

    def write(self, addresses: Indices, threads: Indices, nbytes: int, same: npt.NDArray[np.bool_]) -> None:
        """``threads`` write ``nbytes`` at their ``addresses``; ``same`` where the value is there already."""
        places = (addresses - self.base)[:, None] + np.arange(nbytes)
        own = threads[:, None]
        reader, read = self._reader[places], self._read_epoch[places] == self.epoch
        self._complain(~same & read & (reader != own), threads, reader, "overwrites what thread {} reads")
        writer, written = self._writer[places], self._write_epoch[places] == self.epoch
        self._complain(~same & written & (writer != own), threads, writer, "overwrites what thread {} wrote")
        fresh = ~(same & written)
        self._writer[places[fresh]] = np.broadcast_to(own, places.shape)[fresh]
        self._write_epoch[places] = self.epoch

    def _complain(self, wrong: npt.NDArray[np.bool_], threads: Indices, others: Indices, how: str) -> None:
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            other = int(others[row, column])
            raise DeviceError(
                f"race in shared memory: thread {threads[row]} {how.format(other if other >= 0 else 'another')}",
                remedy="a barrier is missing between them",
            )
