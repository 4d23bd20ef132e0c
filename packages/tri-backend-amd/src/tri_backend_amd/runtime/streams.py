"""Streams: the one that the surrounding framework uses now, and those that a launch names.  A stream is HIP's handle, an integer."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from tri_core.api import DeviceInfo
from tri_runtime import check_stream_device, stream_handle_in_range

__all__ = ["current", "framework_stream", "handle_of"]

#: attributes with the handle: PyTorch's, CuPy's, that of tri itself
_HANDLES = ("cuda_stream", "ptr", "handle")
_EXPECTED = "pass its handle, or a stream of PyTorch or CuPy"


class _Chosen(threading.local):
    """The stream that is current in a block of this thread; None outside of one."""

    stream: int | None = None


_chosen = _Chosen()


def framework_stream(index: int) -> int:
    """HIP's handle of PyTorch's current stream on device ``index``; without PyTorch that of the block, 0, the default one, outside of one."""
    torch = _torch()
    return _chosen.stream or 0 if torch is None else int(torch.cuda.current_stream(index).cuda_stream)


def handle_of(stream: Any, device: DeviceInfo | None) -> int:
    """HIP's handle of ``stream``, for a launch on ``device``; LaunchError for what is no stream, or says that it is another device's."""
    if type(stream) is int:
        return stream_handle_in_range(stream, stream, _EXPECTED)
    check_stream_device(stream, device)
    found = (getattr(stream, name, None) for name in _HANDLES)
    return stream_handle_in_range(
        next((value for value in found if value is not None), None), stream, _EXPECTED
    )


def current(stream: int, index: int) -> AbstractContextManager[Any]:
    """A block in which ``stream`` is the current one of device ``index``, for PyTorch too where it uses HIP."""
    torch = _torch()
    if torch is None:
        return _instead_of(stream)
    made = torch.cuda.ExternalStream(stream, index) if stream else torch.cuda.default_stream(index)
    within: AbstractContextManager[Any] = torch.cuda.stream(made)
    return within


@contextmanager
def _instead_of(stream: int) -> Iterator[None]:
    before, _chosen.stream = _chosen.stream, stream
    try:
        yield
    finally:
        _chosen.stream = before


def _torch() -> Any:
    """PyTorch where it uses HIP; else None."""
    torch: Any = sys.modules.get("torch")
    return None if torch is None or not torch.version.hip or not torch.cuda.is_initialized() else torch
