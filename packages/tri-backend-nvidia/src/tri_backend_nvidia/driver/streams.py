"""Streams: the one that the surrounding framework uses now, and those that a launch names.

A stream is a driver's handle, an integer.  Libraries wrap it: cuda-python's ``__cuda_stream__`` protocol gives
``(0, handle)``, older libraries have an attribute of their own.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from tri_core.api import DeviceInfo, LaunchError
from tri_runtime import check_stream_device, stream_handle_in_range

__all__ = ["current", "framework_stream", "handle_of", "instead_of"]

#: attributes with the handle: PyTorch's, CuPy's, that of PyCUDA, Numba and tri itself
_HANDLES = ("cuda_stream", "ptr", "handle")
_EXPECTED = "pass its handle, a stream of PyTorch, CuPy or cuda-python, or anything with __cuda_stream__"

_lookup: Callable[[int], int] | None = None


def framework_stream(index: int) -> int:
    """The driver handle of PyTorch's current stream on device ``index``; 0, the default one, without PyTorch."""
    if _lookup is not None:
        return _lookup(index)
    torch = sys.modules.get("torch")
    return 0 if torch is None else _bind(torch)(index)


def _bind(torch: Any) -> Callable[[int], int]:
    """PyTorch's own lookup, remembered once PyTorch uses CUDA; until then its stream is the default one."""
    global _lookup
    cuda = getattr(torch, "cuda", None)
    if cuda is None or not cuda.is_initialized():
        return lambda index: 0
    # where PyTorch tells the handle, no object is made for the stream: an eighth of the time, in each launch
    raw = getattr(getattr(torch, "_C", None), "_cuda_getCurrentRawStream", None)
    _lookup = raw or (lambda index: int(cuda.current_stream(index).cuda_stream))
    return _lookup


@contextmanager
def instead_of(stream: int) -> Iterator[None]:
    """Make ``stream`` the current one for this thread, in place of the default stream.

    For the time without PyTorch: a lookup of its own costs launches nothing outside of the block.
    """
    global _lookup
    before, owner = _lookup, threading.get_ident()
    _lookup = lambda index: stream if threading.get_ident() == owner else (before or _default)(index)  # noqa: E731
    try:
        yield
    finally:
        _lookup = before


def _default(index: int) -> int:
    del index
    return 0


# --- streams that a launch names ------------------------------------------------------------------------


def handle_of(stream: Any, device: DeviceInfo | None) -> int:
    """The driver's handle of ``stream``, for a launch on ``device``.

    LaunchError for what is no stream, and for a stream that says that it is another device's.
    """
    if type(stream) is int:
        return stream_handle_in_range(stream, stream, _EXPECTED)
    check_stream_device(stream, device)
    return stream_handle_in_range(_handle(stream), stream, _EXPECTED)


def _handle(stream: Any) -> Any:
    """Handle of ``stream`` by the protocol or an attribute; ``stream`` itself otherwise."""
    provided = getattr(stream, "__cuda_stream__", None)
    if provided is not None:
        version, handle = provided() if callable(provided) else provided
        if version != 0:
            raise LaunchError(
                f"{stream!r} speaks version {version} of the stream protocol; 0 is known",
                remedy="pass its handle, an integer",
            )
        return handle
    for name in _HANDLES:
        found = getattr(stream, name, None)
        if found is not None:
            return getattr(found, "value", found) or 0  # Numba's is a pointer of ctypes, None for the default
    if type(stream).__module__.partition(".")[0] == "cuda":
        return int(stream)
    return stream


def current(stream: int, index: int) -> AbstractContextManager[Any]:
    """A block in which ``stream`` is the current one of device ``index``, for PyTorch too where it uses CUDA."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return instead_of(stream)
    made = torch.cuda.ExternalStream(stream, index) if stream else torch.cuda.default_stream(index)
    within: AbstractContextManager[Any] = torch.cuda.stream(made)
    return within
