"""The example kernels on every executing target: sizes off the block, several dtypes, against float64."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

import tri
from integration.kernels.layernorm import layernorm
from integration.kernels.matmul import matmul
from integration.kernels.softmax import softmax
from integration.kernels.vector_add import vector_add

TARGETS = ("cpu", "intel", "interpreter")
FLOATS = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}
#: relative rounding error of one operation
EPSILON = {"f16": 2**-11, "bf16": 2**-8, "f32": 2**-24, "f64": 2**-53}


def on(target: str) -> AbstractContextManager[Any]:
    """Launches on ``target``, or in the interpreter."""
    interpreted: AbstractContextManager[Any] = tri.interpret()
    return interpreted if target == "interpreter" else tri.target(target)


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def random(shape: tuple[int, ...], dtype: str, seed: int = 0) -> npt.NDArray[Any]:
    values = np.random.default_rng(seed).standard_normal(shape)
    return values.astype(FLOATS[dtype])


def poisoned(shape: tuple[int, ...], dtype: str) -> npt.NDArray[Any]:
    return np.full(shape, np.nan, dtype=FLOATS[dtype])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", [1, 1023, 1024, 5000])
def test_vector_add(target: str, dtype: str, n: int) -> None:
    x, y, out = random((n,), dtype, 1), random((n,), dtype, 2), poisoned((n,), dtype)
    with on(target):
        vector_add[(tri.cdiv(n, 512),)](x, y, out, n, BLOCK=512)
    exact = x.astype(np.float64) + y.astype(np.float64)
    # one correctly rounded addition: the same bits as rounding the exact sum
    np.testing.assert_array_equal(out.astype(np.float64), exact.astype(FLOATS[dtype]).astype(np.float64))


@pytest.mark.parametrize("num_warps", [1, 4, 8])
@pytest.mark.parametrize(("rows", "columns"), [(3, 1), (5, 100), (2, 1024), (1, 4000)])
def test_softmax(target: str, rows: int, columns: int, num_warps: int) -> None:
    x, out = random((rows, columns), "f32", 3), poisoned((rows, columns), "f32")
    with on(target):
        block = tri.next_power_of_2(columns)
        softmax[(rows,)](out, x, columns, columns, columns, BLOCK=block, num_warps=num_warps)
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(out, e / e.sum(axis=1, keepdims=True), rtol=2e-6, atol=1e-9)


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32"])
@pytest.mark.parametrize(("rows", "columns", "block"), [(4, 1000, 1024), (3, 1000, 128), (2, 17, 32)])
def test_layernorm(target: str, dtype: str, rows: int, columns: int, block: int) -> None:
    x, w, b = random((rows, columns), dtype, 4), random((columns,), dtype, 5), random((columns,), dtype, 6)
    out = poisoned((rows, columns), dtype)
    with on(target):
        layernorm[(rows,)](out, x, w, b, columns, columns, 1e-5, BLOCK=block)
    wide = x.astype(np.float64)
    centred = wide - wide.mean(axis=1, keepdims=True)
    exact = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5)
    exact = exact * w.astype(np.float64) + b.astype(np.float64)
    # f32 arithmetic, then one rounding to the output's type
    bound = 2e-5 + np.abs(exact) * (EPSILON[dtype] + 2e-6)
    assert (np.abs(out.astype(np.float64) - exact) <= bound).all()


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32"])
@pytest.mark.parametrize(("m", "n", "k"), [(64, 64, 64), (50, 70, 33), (1, 128, 16), (130, 31, 200)])
def test_matmul(target: str, dtype: str, m: int, n: int, k: int) -> None:
    a, b, c = random((m, k), dtype, 7), random((k, n), dtype, 8), poisoned((m, n), dtype)
    with on(target):
        grid = (tri.cdiv(m, 32) * tri.cdiv(n, 32),)
        matmul[grid](a, b, c, m, n, k, k, 1, n, 1, n, 1, BLOCK_M=32, BLOCK_N=32, BLOCK_K=16, GROUP_M=4)
    a64, b64 = a.astype(np.float64), b.astype(np.float64)
    exact = a64 @ b64
    # dots of f16 and bf16 are exact in f32; the sum of k terms errs by at most k eps sum |a b|
    bound = k * 2**-23 * (np.abs(a64) @ np.abs(b64)) + np.abs(exact) * EPSILON[dtype] + 1e-30
    assert (np.abs(c.astype(np.float64) - exact) <= bound).all()


def test_matmul_of_transposed_operands(target: str) -> None:
    m, n, k = 40, 48, 56
    a, b, c = random((k, m), "f32", 9), random((n, k), "f32", 10), poisoned((m, n), "f32")
    with on(target):
        grid = (tri.cdiv(m, 32) * tri.cdiv(n, 32),)
        matmul[grid](a, b, c, m, n, k, 1, m, 1, k, n, 1, BLOCK_M=32, BLOCK_N=32, BLOCK_K=16, GROUP_M=1)
    exact = a.T.astype(np.float64) @ b.T.astype(np.float64)
    np.testing.assert_allclose(c, exact, rtol=1e-5, atol=1e-5)


def test_targets_agree() -> None:
    """Elementwise f32 is the same bits everywhere."""
    x, y = random((777,), "f32", 11), random((777,), "f32", 12)
    results = []
    for name in TARGETS:
        out = poisoned((777,), "f32")
        with on(name):
            vector_add[(tri.cdiv(777, 256),)](x, y, out, 777, BLOCK=256)
        results.append(out)
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)
