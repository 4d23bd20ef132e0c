"""Counters of launches: a word of a device's memory that is 0 when a kernel begins and again when it has ended.

Launches of one stream come one after the other and share a counter; streams have each its own, by an id that no other stream of the process
ever has (handles are given out again, and those of default streams mean another stream in each context or thread).  A launch that is
recorded into a graph has a counter for itself: the graph may run on any stream, beside launches on the one it was recorded from.
Counters are never given back, 4 bytes each.

CUDA Driver API, ``cuStreamGetId``, ``cuStreamIsCapturing``.
"""

from __future__ import annotations

import itertools
from dataclasses import field

from tri_backend_nvidia.driver.driver import call, driver
from tri_backend_nvidia.driver.zeros import zeros
from tri_core import forks
from tri_core.lazy_dataclasses import dataclass

__all__ = ["Counters", "forget_counters", "of_device"]

#: counters that are made together, and their bytes
_TOGETHER, _BYTES = 4096, 4
#: CU_STREAM_CAPTURE_STATUS_ACTIVE
_CAPTURING = 1


@dataclass(eq=False)
class Counters:
    """Those of one device, whose context is current whenever they are asked for."""

    _of_stream: dict[int, int] = field(default_factory=dict)
    _made: itertools.count[int] = field(default_factory=itertools.count)
    _pages: list[int] = field(default_factory=list)
    _lock: forks.Lock = field(default_factory=forks.Lock)

    def prepare(self) -> None:
        """Have some ready, so that launches allocate nothing."""
        with self._lock:
            self._page(0)

    def of(self, stream: int) -> int:
        """The address of the counter for a launch on ``stream``, now."""
        handle = driver().CUstream(stream)
        if int(call("cuStreamIsCapturing", handle)) == _CAPTURING:
            return self._new()
        key = int(call("cuStreamGetId", handle))
        found = self._of_stream.get(key)
        return self._of_stream.setdefault(key, self._new()) if found is None else found

    def _new(self) -> int:
        with self._lock:
            page, place = divmod(next(self._made), _TOGETHER)
            return self._page(page) + place * _BYTES

    def _page(self, number: int) -> int:
        while len(self._pages) <= number:
            self._pages.append(zeros(_TOGETHER))
        return self._pages[number]


_devices: dict[int, Counters] = {}


def of_device(index: int) -> Counters:
    """The counters of device ``index``."""
    return _devices.setdefault(index, Counters())


def forget_counters() -> None:
    """Begin anew, with memory of another driver."""
    _devices.clear()
