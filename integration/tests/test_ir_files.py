"""Kernels from text: what the original compiler printed runs here; what is dumped can be edited and compiled again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tri
from tri_core.errors import LaunchError

ORIGINAL = Path(__file__).parents[2] / "packages/tri-core/tests/text/original"
generator = np.random.default_rng(3)


def aligned(count: int, dtype: type = np.float32) -> np.ndarray:
    """Random numbers (or zeros for integers) at an address that 64 divides."""
    room = np.zeros(count * np.dtype(dtype).itemsize + 64, np.uint8)
    start = -room.ctypes.data % 64
    made: np.ndarray = room[start : start + count * np.dtype(dtype).itemsize].view(dtype)
    made[:] = generator.normal(size=count) if np.issubdtype(dtype, np.floating) else 0
    return made


def test_scale() -> None:
    kernel = tri.compile(ORIGINAL / "scale.ttir", target="cpu")
    x, y = aligned(1000), aligned(1000, np.float16)
    kernel[2](x, y, 1000, 1.5)
    np.testing.assert_array_equal(y, (x * np.float32(1.5)).astype(np.float16))


def test_rows() -> None:
    kernel = tri.compile(ORIGINAL / "rows.ttir", target="cpu")
    x = aligned(3 * 208).reshape(3, 208)
    y, best = np.zeros_like(x), np.zeros(3, np.int32)
    kernel[3](x, y, best, 208, 208)
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(y, np.cumsum(e, axis=1) / e.sum(axis=1, keepdims=True), rtol=1e-5)
    np.testing.assert_array_equal(best, x.argmax(axis=1))


def test_matmul_from_layouts_of_the_original(tmp_path: Path) -> None:
    kernel = tri.compile(ORIGINAL / "matmul.ttir", target="cpu")
    a, b = aligned(32 * 48), aligned(48 * 64)
    c = np.zeros((32, 64), np.float32)
    kernel[1](a, b, c, 48)
    expected = a.reshape(32, 48).astype(np.float64) @ b.reshape(48, 64).astype(np.float64)
    np.testing.assert_allclose(c, expected, rtol=1e-4, atol=1e-4)


def test_wrong_arguments() -> None:
    kernel = tri.compile(ORIGINAL / "scale.ttir", target="cpu")
    with pytest.raises(LaunchError, match="scale takes 4 arguments, 2 were given"):
        kernel[1](aligned(4), aligned(4))
    x = aligned(16)[1:]
    with pytest.raises(LaunchError, match="aligned to 16 bytes"):
        kernel[1](x, x.astype(np.float16), 4, 1.0)
