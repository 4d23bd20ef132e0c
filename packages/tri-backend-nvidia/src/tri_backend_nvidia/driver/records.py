"""Memory of the host that kernels with assertions write to, and telling them where it is.

CUDA Driver API, "Memory Management" (host memory that is mapped for devices) and "Module Management".
"""

from __future__ import annotations

import ctypes
import functools
import itertools
from collections.abc import Mapping

from tri_backend_nvidia.driver import faults
from tri_backend_nvidia.driver.driver import call, driver
from tri_backend_nvidia.fault_records import RECORD_SYMBOL
from tri_core.fault_records import RECORD_BYTES, sites_of

__all__ = ["connect", "forget_pages"]

_PAGE = 4096
#: CU_MEMHOSTALLOC_PORTABLE and CU_MEMHOSTALLOC_DEVICEMAP: for the contexts of all devices
_FLAGS = 1 | 2

_places = itertools.count()


def connect(module: object, kernel: str, attrs: Mapping[str, object]) -> None:
    """Give the loaded ``module`` of ``kernel`` a record of its own, if ``attrs`` say that it has assertions."""
    sites = sites_of(attrs)
    if not sites:
        return
    page, place = divmod(next(_places), _PAGE // RECORD_BYTES)
    host = _page(page) + place * RECORD_BYTES
    faults.watch(kernel, sites, host)
    variable, _ = call("cuModuleGetGlobal", module, RECORD_SYMBOL.encode())
    address = ctypes.c_uint64(int(call("cuMemHostGetDevicePointer", host, 0)))
    _copy(variable, address)


def _copy(variable: int, address: ctypes.c_uint64) -> None:
    """Write ``address`` to ``variable``, on a stream that is in no order with others: one may be capturing."""
    stream = call("cuStreamCreate", driver().CUstream_flags.CU_STREAM_NON_BLOCKING)
    try:
        call("cuMemcpyHtoDAsync", variable, ctypes.addressof(address), ctypes.sizeof(address), stream)
        call("cuStreamSynchronize", stream)
    finally:
        call("cuStreamDestroy", stream)


@functools.cache
def _page(number: int) -> int:
    """The address of a page of records, zeroed; never freed, since a kernel may still run when its module's users are gone."""
    del number
    address = int(call("cuMemHostAlloc", _PAGE, _FLAGS))
    ctypes.memset(address, 0, _PAGE)
    return address


def forget_pages() -> None:
    """Begin anew, with pages of another driver."""
    global _places
    _places = itertools.count()
    _page.cache_clear()
