"""Streams that a launch names: ``kernel[grid](..., stream=s)``.

What a stream is, only the runtime of the device knows; one that has streams gives ``stream_handle(stream, device)``,
the driver's handle, and ``on_stream(handle, device)``, a block in which that stream is the current one.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol

from tri.launch.calls import call_site
from tri_core.errors import LaunchError, TriError, Unsupported

if TYPE_CHECKING:
    from tri.launch.arrays import Place
    from tri_core.runtime import Runtime
    from tri_core.target import DeviceInfo

__all__ = ["handle", "named_stream", "on_stream"]


class _Bound(Protocol):
    """What of a launch decides about its stream."""

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


def on_stream(runtime: Runtime, stream: Any) -> AbstractContextManager[Any]:
    """A block in which ``stream`` is the current one of the current device; None: as it is."""
    if stream is None:
        return nullcontext()
    device = runtime.current_device()
    number = handle(runtime, stream, device)
    within: AbstractContextManager[Any] = runtime.on_stream(number, device)  # type: ignore[attr-defined]
    return within
