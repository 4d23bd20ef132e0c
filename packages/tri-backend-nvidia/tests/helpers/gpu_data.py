"""Operands and results of f16 on the GPU, for tests of kernels of dots there."""

from __future__ import annotations

from functools import partial

import pytest

import matrix_data

torch = pytest.importorskip("torch")

__all__ = ["halves", "needs_hopper", "poisoned"]

halves = partial(matrix_data.values, device="cuda")
poisoned = partial(matrix_data.poisoned, dtype=torch.float16, device="cuda")


def needs_hopper() -> None:
    """Skip the test on another GPU."""
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("block copies and dots of warp groups need Hopper")
