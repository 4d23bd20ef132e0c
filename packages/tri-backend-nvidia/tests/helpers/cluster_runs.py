"""Each kernel of :mod:`cluster_kernels` on random arrays, against NumPy; ``to`` and ``back`` move arrays to the device and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import cluster_kernels as kernels

__all__ = ["RUNS"]

Run = Callable[..., None]
RUNS: dict[str, Run] = {}


def run(function: Run) -> Run:
    """A row of the table."""
    RUNS[function.__name__] = function
    return function


class Arrays:
    """Arrays on a device: those of the host unless told otherwise."""

    def __init__(self, to: Callable[[np.ndarray], Any] = lambda a: a, back=lambda a: a) -> None:
        self.to, self.back = to, back

    def launch(self, kernel, grid, *args, outputs, **options) -> list[np.ndarray]:
        """Launch with ``args`` and (poisoned) ``outputs``, which are given back."""
        moved = [self.to(a) if isinstance(a, np.ndarray) else a for a in args]
        made = [self.to(o) for o in outputs]
        places = iter(made)
        kernel[grid](*[next(places) if a is None else a for a in moved], **options)
        return [self.back(m) for m in made]


def poison(shape, dtype="f4") -> np.ndarray:
    """What a kernel must overwrite."""
    return np.full(shape, 113).astype(dtype)


@run
def added(device: Arrays, rng: np.random.Generator, **options) -> None:
    n = 1000
    x, y = rng.standard_normal((2, n)).astype("f4")
    (z,) = device.launch(kernels.added, (2, 2), x, y, None, n, outputs=[poison(n + 4)], BLOCK=256, **options)
    np.testing.assert_array_equal(z, [*(x + y), 4, 4, 4, 4])


@run
def softmax(device: Arrays, rng: np.random.Generator, **options) -> None:
    for m, n in ((1, 1024), (16, 64), (4, 128), (2, 2)):
        x = rng.standard_normal((m, n)).astype("f4")
        (y,) = device.launch(kernels.softmax, (1,), x, None, outputs=[poison((m, n))], M=m, N=n, **options)
        powers = np.exp(x.astype("f8") - x.max(1, keepdims=True))
        np.testing.assert_allclose(y, powers / powers.sum(1, keepdims=True), rtol=1e-5)


@run
def sums(device: Arrays, rng: np.random.Generator, **options) -> None:
    for m, n in ((64, 32), (8, 4), (32, 256)):
        x = rng.standard_normal((m, n)).astype("f4")
        outputs = [poison(n + 1), poison(n, "i4")]
        y, at = device.launch(kernels.sums, (1,), x, None, None, outputs=outputs, M=m, N=n, **options)
        np.testing.assert_allclose(y, [*x.sum(0, "f8"), x.sum(dtype="f8")], rtol=1e-4, atol=1e-4)
        np.testing.assert_array_equal(at, x.argmax(0))


@run
def transposed(device: Arrays, rng: np.random.Generator, **options) -> None:
    for dtype in ("f8", "f4", "f2", "i1"):
        for m, n in ((64, 32), (16, 256), (4, 4)):
            x = (rng.standard_normal((m, n)) * 30).astype(dtype)
            y = poison((n, m), dtype)
            (y,) = device.launch(kernels.transposed, (1,), x, None, outputs=[y], M=m, N=n, **options)
            np.testing.assert_array_equal(y, x.T)


@run
def ordered(device: Arrays, rng: np.random.Generator, **options) -> None:
    x = rng.integers(-100, 100, 512).astype("i4")
    (y,) = device.launch(kernels.ordered, (1,), x, None, outputs=[poison(1536, "i4")], N=512, **options)
    np.testing.assert_array_equal(y, [*x.cumsum(), *x[::-1].cumsum()[::-1], *np.sort(x)])


@run
def counted(device: Arrays, rng: np.random.Generator, **options) -> None:
    x = rng.integers(0, 32, 512).astype("i4")
    outputs = [poison(544, "i4")]
    (y,) = device.launch(kernels.counted, (1,), x, None, outputs=outputs, N=512, BINS=32, **options)
    np.testing.assert_array_equal(y, [*np.bincount(x, minlength=32), *x[np.arange(512) * 7 % 512]])


@run
def atomics(device: Arrays, rng: np.random.Generator, **options) -> None:
    x, programs = rng.integers(0, 32, 256).astype("i4"), 3
    outputs = [np.zeros(16, "i4"), poison((programs, 256), "i4")]
    y, old = device.launch(kernels.atomics, (programs,), x, None, None, outputs=outputs, N=256, **options)
    expected = programs * x.reshape(-1, 8).sum(0)
    np.testing.assert_array_equal(y[:13], [*expected, programs, *(programs * np.arange(1, 5))])
    assert (old == old[:, :1]).all()  # all CTAs know the same
    tickets, few, swapped = old[:, 0] % 1000, old[:, 0] // 1000 % 100, old[:, 0] // 100000
    np.testing.assert_array_equal(np.sort(tickets), range(programs))
    # of each of the four places a program finds what those before it added, and the places may see them in other orders
    assert few.sum() == sum(range(programs)) * 10
    # programs go in any order: the first one to swap finds 0, the others what it left
    (first,) = np.flatnonzero(swapped == 0)
    np.testing.assert_array_equal(y[13:], [tickets[first] + 1, 0, 0])
    assert (np.delete(swapped, first) == y[13]).all()


@run
def through_memory(device: Arrays, rng: np.random.Generator, **options) -> None:
    x = rng.standard_normal(1024).astype("f4")
    outputs = [poison(1024), poison(1024)]
    _, z = device.launch(kernels.through_memory, (1,), x, None, None, outputs=outputs, N=1024, **options)
    np.testing.assert_array_equal(z, x[::-1])


@run
def looped(device: Arrays, rng: np.random.Generator, **options) -> None:
    x = rng.random((5, 32, 64)).astype("f4")
    (y,) = device.launch(kernels.looped, (1,), x, None, 5, outputs=[poison(32)], M=32, N=64, **options)
    total = x.sum((0, 2), "f8")
    np.testing.assert_allclose(y, total / total.max(), rtol=1e-5)


@run
def matmul(device: Arrays, rng: np.random.Generator, **options) -> None:
    for m, n, k, dtype in ((32, 32, 32, "f2"), (128, 64, 64, "f2"), (64, 32, 32, "f4")):
        a, b = rng.standard_normal((m, k)).astype(dtype), rng.standard_normal((k, n)).astype(dtype)
        (c,) = device.launch(
            kernels.matmul, (1,), a, b, None, outputs=[poison((m, n))], M=m, N=n, K=k, **options
        )
        np.testing.assert_allclose(c, a.astype("f8") @ b.astype("f8"), atol=2e-2)


@run
def gemm(device: Arrays, rng: np.random.Generator, **options) -> None:
    m, n, depth = 200, 248, 128
    for columns in (False, True):
        a = rng.standard_normal((m, depth)).astype("f2")
        b = rng.standard_normal((n, depth) if columns else (depth, n)).astype("f2")
        grid = (-(-m // 128), -(-n // 128))
        given = {"BM": 128, "BN": 128, "BK": 32, "COLUMNS": columns, **options}
        (c,) = device.launch(
            kernels.gemm, grid, a, b, None, m, n, depth, outputs=[poison((m, n), "f2")], **given
        )
        expected = a.astype("f8") @ (b.T if columns else b).astype("f8")
        np.testing.assert_allclose(c, expected, atol=3e-2, rtol=2e-3)


@run
def attention(device: Arrays, rng: np.random.Generator, **options) -> None:
    length = 256
    q, k, v = (rng.standard_normal((length, 64)).astype("f2") for _ in range(3))
    q = (q / 8).astype("f2")
    given = {"D": 64, "BM": 128, "BN": 64, **options}
    outputs = [poison((length, 64), "f2")]
    (o,) = device.launch(kernels.attention, (2,), q, k, v, None, length, outputs=outputs, **given)
    scores = q.astype("f8") @ k.astype("f8").T
    powers = np.exp(scores - scores.max(1, keepdims=True))
    expected = powers / powers.sum(1, keepdims=True) @ v.astype("f8")
    np.testing.assert_allclose(o, expected, atol=2e-3)


@run
def counted_gemm(device: Arrays, rng: np.random.Generator, **options) -> None:
    m, n, depth = 256, 256, 128
    a, b = rng.standard_normal((m, depth)).astype("f2"), rng.standard_normal((depth, n)).astype("f2")
    outputs = [poison((m, n)), np.zeros(1, "i4")]
    given = {"BM": 128, "BN": 128, "BK": 64, **options}
    c, iterations = device.launch(
        kernels.counted_gemm, (2, 2), a, b, None, None, m, n, depth, outputs=outputs, **given
    )
    assert iterations[0] == 4 * depth // 64
    np.testing.assert_allclose(c, a.astype("f8") @ b.astype("f8"), atol=2e-3)


@run
def row_sums(device: Arrays, rng: np.random.Generator, **options) -> None:
    a, b = rng.standard_normal((128, 64)).astype("f2"), rng.standard_normal((64, 256)).astype("f2")
    given = {"BM": 64, "BN": 256, "BK": 32, **options}
    (c,) = device.launch(kernels.row_sums, (2,), a, b, None, 128, 256, 64, outputs=[poison(128)], **given)
    np.testing.assert_allclose(c, (a.astype("f8") @ b.astype("f8")).sum(1), atol=2e-2)
