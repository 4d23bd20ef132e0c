"""Whole kernels on the device, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import tri

import kernels


@pytest.fixture(autouse=True)
def _target():  # type: ignore[no-untyped-def]
    with tri.target("loops:l1"):
        yield


@pytest.mark.parametrize("n", [1, 128, 1000])
def test_scale(n: int) -> None:
    x = np.random.default_rng(0).random(n, dtype=np.float32)
    out = np.full(n + 8, np.nan, np.float32)
    kernels.scale[(tri.cdiv(n, 128),)](out, x, 3.0, n, BLOCK=128)
    np.testing.assert_array_equal(out[:n], x * np.float32(3))
    assert np.isnan(out[n:]).all()


def test_softmax() -> None:
    x = np.random.default_rng(1).standard_normal((7, 100), dtype=np.float32)
    out = np.full_like(x, np.nan)
    kernels.softmax[(7,)](out, x, 100, BLOCK=128)
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(out, e / e.sum(axis=1, keepdims=True), rtol=1e-5)


def test_matmul() -> None:
    random = np.random.default_rng(2)
    a, b = (random.standard_normal(shape).astype(np.float16) for shape in ((32, 64), (64, 32)))
    out = np.full((32, 32), np.nan, np.float32)
    kernels.matmul[(1,)](out, a, b, 64, BLOCK=32)
    np.testing.assert_allclose(out, a.astype(np.float64) @ b.astype(np.float64), atol=1e-4)


def test_matmul_of_any_size() -> None:
    random = np.random.default_rng(3)
    a, b = (random.standard_normal(shape, dtype=np.float32) for shape in ((37, 50), (50, 21)))
    out = np.full((37, 21), np.nan, np.float32)
    kernels.edges[(2, 1)](out, a, b, 37, 21, 50, BLOCK=32, STEP=16)
    np.testing.assert_allclose(out, a.astype(np.float64) @ b.astype(np.float64), atol=1e-4)


def test_gather_and_scatter() -> None:
    random = np.random.default_rng(4)
    x, places = random.random(100, dtype=np.float32), random.permutation(100).astype(np.int32)
    out = np.full(110, np.nan, np.float32)
    kernels.scatter[(1,)](out, x, places, 100, BLOCK=128)
    np.testing.assert_array_equal(out[places], x)
    assert np.isnan(out[100:]).all()
    places[::7] = -1
    kernels.gather[(1,)](out, x, places, 100, BLOCK=128)
    np.testing.assert_array_equal(out[:100], np.where(places < 0, np.float32(-1), x[places]))
    assert np.isnan(out[100:]).all()


def test_loads_and_stores_keep_their_order() -> None:
    random = np.random.default_rng(5)
    x, y = (random.random(64, dtype=np.float32) for _ in range(2))
    before = x.copy(), y.copy()
    kernels.swap[(1,)](x, y, random.permutation(64).astype(np.int32), BLOCK=64)
    np.testing.assert_array_equal(x, before[1])
    np.testing.assert_array_equal(y, before[0])


def test_loops_and_branches() -> None:
    n = np.arange(1, 28, dtype=np.int32)
    out = np.full_like(n, -1)
    kernels.collatz[n.shape](out, n)

    def steps(value: int) -> int:
        return 0 if value == 1 else 1 + steps(value // 2 if value % 2 == 0 else 3 * value + 1)

    assert out.tolist() == [steps(int(value)) for value in n]


def test_inline_assembly_is_refused_with_the_line_of_the_kernel() -> None:
    with pytest.raises(tri.errors.Unsupported) as refused:
        kernels.assembly[(1,)](np.zeros(1, np.int32))
    location = refused.value.location
    assert location is not None
    assert "inline_asm_elementwise" in str(location.source_line)
    assert refused.value.remedy
