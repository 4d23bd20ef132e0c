"""Kernels with results that NumPy knows."""

from __future__ import annotations

import numpy as np

import tri
import tri.language as tl

__all__ = [
    "CHECKS",
    "check_matmul",
    "check_rows",
    "check_sums",
    "endless",
    "right_matmul",
    "right_rows",
    "right_sums",
    "runs_new_code",
]


@tri.jit
def rows(x, o, n, B: tl.constexpr, K: tl.constexpr):
    """A softmax of rows, times K."""
    row = tl.program_id(0)
    at = tl.arange(0, B)
    v = tl.load(x + row * n + at, mask=at < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(o + row * n + at, e / tl.sum(e, 0) * K, mask=at < n)


@tri.jit
def matmul(a, b, c, N: tl.constexpr, K: tl.constexpr):
    """N rows and columns, K deep."""
    i, j = tl.arange(0, N), tl.arange(0, N)
    total = tl.zeros((N, N), tl.float32)
    for start in range(0, K, 16):
        k = start + tl.arange(0, 16)
        total = tl.dot(tl.load(a + i[:, None] * K + k), tl.load(b + k[:, None] * N + j), total)
    tl.store(c + i[:, None] * N + j, total)


@tri.jit
def sums(x, o, n, B: tl.constexpr):
    """Sums of blocks, added up by atomics."""
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.atomic_add(o, tl.sum(tl.load(x + at, mask=at < n, other=0), 0))


@tri.jit
def endless(flag, o):
    """Waits for a flag, then stores."""
    seen = tl.load(flag, volatile=True)
    while seen == 0:
        seen = tl.load(flag, volatile=True)
    tl.store(o + tl.program_id(0), seen)


def check_rows(draw: np.random.Generator, factor: int = 1) -> None:
    """Softmaxes of a few sizes."""
    right_rows(draw, int(draw.integers(1, 400)), int(draw.integers(1, 300)), factor)


def right_rows(draw: np.random.Generator, count: int, width: int, factor: int) -> None:
    """Softmaxes of ``count`` rows of ``width`` elements, times ``factor``."""
    x = draw.random((count, width), np.float32)
    o = np.empty_like(x)
    rows[(count,)](x, o, width, B=tri.next_power_of_2(width), K=factor)
    e = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(o, e / e.sum(1, keepdims=True) * factor, rtol=1e-4)


def check_matmul(draw: np.random.Generator) -> None:
    """A dot with scratch memory."""
    right_matmul(draw, int(draw.choice([16, 32, 64])), int(draw.choice([32, 64])))


def right_matmul(draw: np.random.Generator, n: int, k: int) -> None:
    """A product of n rows and columns, k deep."""
    a, b = draw.random((n, k), np.float32), draw.random((k, n), np.float32)
    c = np.empty((n, n), np.float32)
    matmul[(1,)](a, b, c, N=n, K=k)
    np.testing.assert_allclose(c, a @ b, rtol=1e-2)


def check_sums(draw: np.random.Generator) -> None:
    """Every program counts once."""
    right_sums(draw, int(draw.integers(1, 100_000)), 64)


def right_sums(draw: np.random.Generator, size: int, block: int) -> None:
    """A sum of ``size`` integers by blocks."""
    x = draw.integers(-9, 9, size, dtype=np.int32)
    o = np.zeros(1, np.int32)
    sums[(tri.cdiv(x.size, block),)](x, o, x.size, B=block)
    assert o[0] == x.sum(), (o[0], x.sum())


def runs_new_code(draw: np.random.Generator) -> None:
    """A kernel that nobody has compiled before."""
    check_rows(draw, factor=int(draw.integers(1, 2**30)))


CHECKS = (check_rows, check_matmul, check_sums)
