"""Whole kernels on the device, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import tri

import kernels

pytestmark = pytest.mark.usefixtures("emulated")


@pytest.fixture(autouse=True)
def _target():  # type: ignore[no-untyped-def]
    with tri.target("riscv"):
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
