"""Streams that a launch names: what says that it is a stream is one, and of the launch's device."""

from __future__ import annotations

from typing import Any

from tri_core.api import DeviceInfo, LaunchError

__all__ = ["check_stream_device", "stream_handle_in_range"]

#: attributes with the device's index: PyTorch's, CuPy's
_DEVICES = ("device_index", "device_id")


def stream_handle_in_range(handle: Any, stream: Any, expected: str) -> int:
    """``handle``, which was found in ``stream``; LaunchError with ``expected`` as the remedy where it is no address."""
    if type(handle) is not int or not 0 <= handle < 1 << 64:
        raise LaunchError(f"stream= is {stream!r}, which is no stream", remedy=expected)
    return handle


def check_stream_device(stream: Any, device: DeviceInfo | None) -> None:
    """LaunchError for a stream that says that it is another device's; a driver's status for such a launch does not say why."""
    provided = getattr(stream, "device", None)
    if isinstance(provided, DeviceInfo):
        index: Any = provided.index
    else:
        index = next((getattr(stream, name) for name in _DEVICES if hasattr(stream, name)), None)
    if device is not None and type(index) is int and index >= 0 and index != device.index:
        raise LaunchError(
            f"stream= is of {device.kind}:{index}, the arguments are on {device.kind}:{device.index}",
            remedy=f"make the stream on {device.kind}:{device.index}",
        )
