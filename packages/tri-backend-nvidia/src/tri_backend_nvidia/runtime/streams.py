"""The stream that the surrounding framework uses now."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["framework_stream", "instead_of"]

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
    _lookup = lambda index: int(cuda.current_stream(index).cuda_stream)  # noqa: E731
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
