"""Device memory, for staging and buffers."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from tri_backend_nvidia.driver.driver import call, driver
from tri_core.api import DeviceError, OutOfResources
from tri_core.lazy_dataclasses import dataclass

__all__ = ["CudaMemory"]


@dataclass(frozen=True)
class CudaMemory:
    """The memory of one device: ``within`` is a block in its context, ``stream`` gives the stream to copy on."""

    within: Callable[[], AbstractContextManager[None]]
    stream: Callable[[], int]

    def alloc(self, nbytes: int) -> int:
        """The address of ``nbytes`` new bytes, aligned to 256; OutOfResources when there are not as many."""
        with self.within():
            try:
                return int(call("cuMemAlloc", max(nbytes, 1)))
            except DeviceError as error:
                if "OUT_OF_MEMORY" not in error.message:
                    raise
                free, _ = call("cuMemGetInfo")
                raise OutOfResources(
                    f"{nbytes} bytes of device memory are asked for, {free} are free",
                    remedy=error.remedy,
                    resource="memory",
                    need=nbytes,
                    have=int(free),
                ) from error

    def free(self, address: int) -> None:
        """Give ``address`` back; waits for the work that may use it."""
        with self.within():
            call("cuMemFree", address)

    def copy_in(self, destination: int, source: int, nbytes: int) -> None:
        """Copy from host to device, in the order of the stream."""
        with self.within():
            call("cuMemcpyHtoDAsync", destination, source, nbytes, driver().CUstream(self.stream()))

    def copy_out(self, destination: int, source: int, nbytes: int) -> None:
        """Copy from device to host; the bytes are there when this returns."""
        with self.within():
            stream = driver().CUstream(self.stream())
            call("cuMemcpyDtoHAsync", destination, source, nbytes, stream)
            call("cuStreamSynchronize", stream)
