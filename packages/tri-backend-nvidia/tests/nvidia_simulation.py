"""A CTA in lock step over byte memory: what machine ops need of a simulator."""

from __future__ import annotations

import numpy as np


class Memory:
    def __init__(self, nbytes: int = 4096) -> None:
        self.bytes = np.zeros(nbytes, np.uint8)

    def load(self, addresses, dtype, active):
        values = np.zeros(len(addresses), dtype)
        for thread in np.flatnonzero(active):
            at = int(addresses[thread])
            values[thread] = self.bytes[at : at + dtype.itemsize].view(dtype)[0]
        return values

    def store(self, addresses, values, active):
        for thread in np.flatnonzero(active):
            at = int(addresses[thread])
            self.bytes[at : at + values.dtype.itemsize] = values[thread : thread + 1].view(np.uint8)


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
