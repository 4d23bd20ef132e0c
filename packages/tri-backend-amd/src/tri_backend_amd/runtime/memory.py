"""Memory of an AMD GPU."""

from __future__ import annotations

from collections.abc import Callable

from tri_backend_amd.runtime.hip import Hip
from tri_core.api import DeviceError, OutOfResources

__all__ = ["HipMemory"]


class HipMemory:
    """Memory of device ``index`` as :class:`tri_runtime.DeviceMemory`; the caller's current device stays what it was."""

    def __init__(self, loaded: Hip, index: int, stream: Callable[[], int]) -> None:
        self._hip = loaded
        self._index = index
        self._stream = stream

    def alloc(self, nbytes: int) -> int:
        """The address of ``nbytes`` new bytes; OutOfResources when there are none."""
        try:
            with self._hip.on_device(self._index):
                return int(self._hip.call("hipMalloc", max(nbytes, 1)))
        except DeviceError as error:
            if "hipErrorOutOfMemory" not in error.message:
                raise
            raise OutOfResources(
                f"the device has no {nbytes} bytes left",
                remedy="free arrays that are not needed",
                resource="memory",
                need=nbytes,
                have=0,
            ) from error

    def free(self, address: int) -> None:
        """Give ``address`` back; HIP waits for the work that uses it."""
        with self._hip.on_device(self._index):
            self._hip.call("hipFree", address)

    def copy_in(self, destination: int, source: int, nbytes: int) -> None:
        """Copy host bytes to the device, in the order of the current stream."""
        with self._hip.on_device(self._index):
            self._copy(destination, source, nbytes)

    def copy_out(self, destination: int, source: int, nbytes: int) -> None:
        """Copy device bytes to the host; returns when they are there."""
        with self._hip.on_device(self._index):
            self._copy(destination, source, nbytes)
            self._hip.call("hipStreamSynchronize", self._stream())

    def _copy(self, destination: int, source: int, nbytes: int) -> None:
        kind = self._hip.api.hipMemcpyKind.hipMemcpyDefault
        self._hip.call("hipMemcpyAsync", destination, source, nbytes, kind, self._stream())
