"""A CTA in lock step over byte memory: what machine ops need of a simulator."""

from __future__ import annotations

import numpy as np


class Memory:
    def __init__(self, nbytes: int = 4096) -> None:
        self.bytes = np.zeros(nbytes, np.uint8)

    def load(self, addresses, dtype, active, count=1, alignment=0):
        values = np.zeros((len(addresses), count), dtype)
        for thread in np.flatnonzero(active):
            at = int(addresses[thread])
            assert at % (alignment or dtype.itemsize) == 0
            values[thread] = self.bytes[at : at + dtype.itemsize * count].view(dtype)
        return values[:, 0] if count == 1 else values

    def store(self, addresses, values, active, alignment=0):
        for thread in np.flatnonzero(active):
            at = int(addresses[thread])
            assert at % (alignment or values.dtype.itemsize) == 0
            row = np.ascontiguousarray(values[thread : thread + 1]).view(np.uint8).ravel()
            self.bytes[at : at + row.size] = row


class CTA:
    threads_per_warp = 32
    program_id = (5, 6, 7)
    num_programs = (8, 9, 10)

    def __init__(self, num_threads: int = 64) -> None:
        self.num_threads = num_threads
        self.active = np.ones(num_threads, bool)
        self.spaces: dict[int, Memory] = {}
        self.barriers = 0

    def memory(self, space: int) -> Memory:
        return self.spaces.setdefault(space, Memory())

    def barrier(self) -> None:
        self.barriers += 1

    def warp_barrier(self) -> None:
        return
