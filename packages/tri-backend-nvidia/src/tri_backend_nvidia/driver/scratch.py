"""Global memory that launches bring to their kernels, from a pool of the device, in the order of the stream.

What a launch has given back may be another's at once if that comes after it: no launch waits, and launches on different streams never
share memory.  A captured launch has memory of the graph's own.  CUDA Driver API, "Stream Ordered Memory Allocator".
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

from tri_backend_nvidia.driver.driver import call, driver

__all__ = ["brought"]

#: bytes that a pool keeps for later launches when nobody uses them: all
_KEPT = (1 << 64) - 1


def brought(start: Callable[[], int], place: int, nbytes: int, stream: int, index: int) -> Callable[[], int]:
    """``start``, which launches a kernel on ``stream``, with the address of ``nbytes`` of its own, aligned to 256, at ``place``.

    Called with the context of device ``index`` current.
    """

    def go() -> int:
        handle = driver().CUstream(stream)
        address = call("cuMemAllocFromPoolAsync", nbytes, _pool(index), handle)
        ctypes.c_uint64.from_address(place).value = int(address)
        try:
            return start()
        finally:
            call("cuMemFreeAsync", address, handle)

    return go


@functools.cache
def _pool(index: int) -> Any:
    """The pool of device ``index``; it is there for as long as the process is."""
    bindings = driver()
    wanted = bindings.CUmemPoolProps()
    wanted.allocType = bindings.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    wanted.location.type = bindings.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    wanted.location.id = index
    pool = call("cuMemPoolCreate", wanted)
    threshold = bindings.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
    call("cuMemPoolSetAttribute", pool, threshold, bindings.cuuint64_t(_KEPT))
    return pool
