"""The stream that the surrounding framework uses now."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

__all__ = ["framework_stream"]

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
