"""Values for things that a driver owns: devices, streams, events and buffers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field
from typing import TYPE_CHECKING, Protocol, Self

from tri_core.api import ArrayArgument, DeviceInfo, LaunchError
from tri_core.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from tri_core.api import Runtime

__all__ = ["Buffer", "Device", "DeviceMemory", "Event", "Stream"]


class DeviceMemory(Protocol):
    """A device's memory as plain functions: addresses are integers, sizes are bytes.

    ``copy_in`` and ``copy_out`` are ordered with the launches of the current stream; ``copy_out`` returns
    when the bytes have arrived.
    """

    def alloc(self, nbytes: int) -> int:
        """The address of ``nbytes`` new bytes, aligned to at least 256; OutOfResources when full."""
        ...

    def free(self, address: int) -> None:
        """Give ``address`` back once the work that uses it is done."""
        ...

    def copy_in(self, destination: int, source: int, nbytes: int) -> None:
        """Copy host bytes at ``source`` to device bytes at ``destination``."""
        ...

    def copy_out(self, destination: int, source: int, nbytes: int) -> None:
        """Copy device bytes at ``source`` to host bytes at ``destination``."""
        ...


class Event(Protocol):
    """A point in a stream's work."""

    def record(self, stream: int) -> None:
        """Mark the work enqueued on ``stream`` so far."""
        ...

    def synchronize(self) -> None:
        """Wait until the marked work is done."""
        ...

    def seconds_since(self, earlier: Self) -> float:
        """Seconds between ``earlier`` and this event; both are recorded and done."""
        ...


@dataclass(frozen=True)
class Stream:
    """A queue of work: the driver's ``handle`` (0 is the default stream) on ``device``."""

    device: DeviceInfo
    handle: int = 0


@dataclass(frozen=True)
class Device:
    """A device, ``info``, together with its ``runtime``."""

    runtime: Runtime
    info: DeviceInfo

    @contextmanager
    def current(self) -> Iterator[Self]:
        """Make the device current for this thread inside a ``with`` block."""
        before = self.runtime.current_device()
        self.runtime.set_device(self.info.index)
        try:
            yield self
        finally:
            self.runtime.set_device(before.index)

    def stream(self) -> Stream:
        """The stream that launches on the device would use now."""
        return Stream(self.info, self.runtime.current_stream(self.info))

    def synchronize(self) -> None:
        """Wait for all work of the device."""
        with self.current():
            self.runtime.synchronize()


@dataclass
class Buffer:
    """``nbytes`` of the ``memory`` of ``device``, at ``address``; freed when closed, at the end of ``with`` or by the collector."""

    memory: DeviceMemory
    nbytes: int
    device: DeviceInfo
    address: int = field(init=False)
    _free: Callable[[int], None] | None = field(init=False, default=None, repr=False)

    def __post_init__(self) -> None:
        self.address = self.memory.alloc(self.nbytes)
        self._free = self.memory.free

    def copy_from(self, host: int, nbytes: int | None = None) -> None:
        """Fill from host address ``host``."""
        self.memory.copy_in(self._checked(), host, self._span(nbytes))

    def copy_to(self, host: int, nbytes: int | None = None) -> None:
        """Copy to host address ``host``; returns when the bytes are there."""
        self.memory.copy_out(host, self._checked(), self._span(nbytes))

    def argument(self, dtype: str) -> ArrayArgument:
        """The buffer as a kernel argument of ``dtype`` (Triton's name)."""
        return ArrayArgument(self._checked(), dtype, self.nbytes, self.device, owner=self)

    def close(self) -> None:
        """Give the memory back; closing twice is harmless."""
        free, self._free = self._free, None
        if free is not None:
            free(self.address)

    def _checked(self) -> int:
        if self._free is None:
            raise LaunchError("the buffer is closed", remedy="use it inside its with block")
        return self.address

    def _span(self, nbytes: int | None) -> int:
        wanted = self.nbytes if nbytes is None else nbytes
        if not 0 <= wanted <= self.nbytes:
            raise LaunchError(f"{wanted} bytes do not fit a buffer of {self.nbytes}")
        return wanted

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()
