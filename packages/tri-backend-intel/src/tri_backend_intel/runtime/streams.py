"""Streams that a launch names: a queue of the caller's, by the address of its ``sycl::queue``, or a driver's own handle."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from tri_core.api import DeviceInfo, Unsupported
from tri_runtime import check_stream_device, stream_handle_in_range

__all__ = ["current", "handle_of"]

#: attributes with the handle: that of PyTorch's streams, dpctl's queues (a method), tri's own
_HANDLES = ("sycl_queue", "addressof_ref", "handle")
_EXPECTED = "pass the address of its sycl::queue, a stream of PyTorch or a queue of dpctl"


def handle_of(stream: Any, device: DeviceInfo | None) -> int:
    """The handle of ``stream``, for a launch on ``device``; LaunchError for what is no stream, or says that it is another device's."""
    if type(stream) is int:
        return stream_handle_in_range(stream, stream, _EXPECTED)
    check_stream_device(stream, device)
    found = (getattr(stream, name, None) for name in _HANDLES)
    given = next((value for value in found if value is not None), None)
    return stream_handle_in_range(given() if callable(given) else given, stream, _EXPECTED)


def current(stream: int, own: int, index: int) -> AbstractContextManager[Any]:
    """A block in which ``stream`` is the current one of device ``index``, whose own queue is ``own``; Unsupported without PyTorch for another."""
    torch: Any = sys.modules.get("torch")
    xpu = getattr(torch, "xpu", None)
    if xpu is not None and xpu.is_initialized():
        if stream in (0, int(xpu.current_stream(index).sycl_queue)):
            return nullcontext()
        if hasattr(xpu, "get_stream_from_external"):
            within: AbstractContextManager[Any] = xpu.stream(xpu.get_stream_from_external(stream, index))
            return within
    elif stream in (0, own):
        return nullcontext()
    raise Unsupported(
        "a queue of the caller's cannot be made the current one here",
        remedy="leave stream= out, or make it PyTorch's current stream before",
    )
