"""Sizes and tensors that packages' launchers are called with: nothing runs, so that shapes and types are all that counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

__all__ = [
    "BATCH", "FEATURES", "HALF", "HEADS", "TIME", "Call", "K", "M", "N", "ends", "ones", "random", "repeated", "zeros",
]  # fmt: skip

HALF = torch.bfloat16
M, N, K = 256, 1024, 1024
HEADS, FEATURES, TIME, BATCH = 8, 128, 512, 2
#: a label and a launch
Call = tuple[str, Callable[[], Any]]


def random(*shape: int, dtype: Any = HALF) -> torch.Tensor:
    """Normal floats."""
    return torch.randn(*shape).to(dtype)


def ones(*shape: int) -> torch.Tensor:
    """Ones in f32."""
    return torch.ones(*shape)


def zeros(*shape: int) -> torch.Tensor:
    """Zeros in i32."""
    return torch.zeros(*shape, dtype=torch.int32)


def repeated(count: int, value: int) -> torch.Tensor:
    """``count`` times ``value``, in i32."""
    return torch.full((count,), value, dtype=torch.int32)


def ends(length: int) -> torch.Tensor:
    """Ends of sequences of ``length``, behind a 0, in i32: shape (BATCH + 1,)."""
    return torch.arange(0, BATCH + 1, dtype=torch.int32) * length
