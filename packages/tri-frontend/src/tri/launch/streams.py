"""Streams that a launch names: ``kernel[grid](..., stream=s)``.

What a stream is, only the runtime of the device knows; one that has streams gives ``stream_handle(stream, device)``,
the driver's handle, and ``on_stream(handle, device)``, a block in which that stream is the current one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from tri.launch.calls import call_site
from tri_core.errors import LaunchError, TriError, Unsupported

if TYPE_CHECKING:
    from tri.launch.arrays import Place
    from tri_core.runtime import Runtime
    from tri_core.target import DeviceInfo

__all__ = ["handle", "named_stream", "where"]


class _Bound(Protocol):
    """Properties of a launch that determine its stream."""

    @property
    def runtime(self) -> Runtime: ...

    @property
    def place(self) -> Place | None: ...

    @property
    def staged(self) -> tuple[int, ...]: ...


def named_stream(launch: _Bound, stream: Any) -> int:
    """The driver's handle of ``stream`` for ``launch``; Unsupported where its device has no streams to name."""
    try:
        found = handle(launch.runtime, stream, launch.place.device if launch.place is not None else None)
    except TriError as error:
        error.location = error.location or call_site()
        raise
    if launch.staged:
        raise LaunchError(
            "stream= was given for arrays in host memory, which are copied around the launch on the current stream",
            remedy="move the arrays to the device first",
            location=call_site(),
        )
    return found


def handle(runtime: Runtime, stream: Any, device: DeviceInfo | None) -> int:
    """The driver's handle of ``stream`` on ``device`` (None: the arguments name none)."""
    read = getattr(runtime, "stream_handle", None)
    if read is None:
        raise Unsupported(
            f"stream= was given for a launch on a {runtime.device_kind!r} device, whose runtime takes no stream",
            remedy="leave stream= out: launches are in order with the work of the framework around them",
        )
    found: int = read(stream, device)
    return found


@contextmanager
def where(runtime: Runtime, device: DeviceInfo | None, stream: Any) -> Iterator[None]:
    """A block in which ``device`` is the current one and ``stream`` its current one; None: as it is."""
    from tri_runtime import Device

    with ExitStack() as stack:
        if device is not None and device.kind == runtime.device_kind and device != runtime.current_device():
            stack.enter_context(Device(runtime, device).current())
        if stream is not None:
            here = runtime.current_device()
            number = handle(runtime, stream, here)
            stack.enter_context(runtime.on_stream(number, here))  # type: ignore[attr-defined]
        yield
