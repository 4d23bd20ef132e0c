"""Device memory of zeros that the process keeps.  CUDA Driver API, "Memory Management"."""

from __future__ import annotations

from tri_backend_nvidia.driver.driver import call, driver
from tri_backend_nvidia.driver.graphs import outside_of_captures

__all__ = ["zeros"]

_WORD = 4


def zeros(words: int) -> int:
    """The address of ``words`` i32 in the current context, set on a stream that is in no order with others: one may be capturing."""
    with outside_of_captures():
        address = int(call("cuMemAlloc", words * _WORD))
        stream = call("cuStreamCreate", driver().CUstream_flags.CU_STREAM_NON_BLOCKING)
        try:
            call("cuMemsetD32Async", address, 0, words, stream)
            call("cuStreamSynchronize", stream)
        finally:
            call("cuStreamDestroy", stream)
    return address
