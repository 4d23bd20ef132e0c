"""Functions of the language that rearrange, synchronize or map: on the CPU target, against NumPy."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

import tri
import tri.language as tl
from tri_core.errors import CompilationError

ROWS, N = 4, 32


@pytest.fixture(autouse=True, params=["compiled", "interpreted"])
def _cpu(request):
    with tri.target("cpu"), tri.interpret() if request.param == "interpreted" else nullcontext():
        yield


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(11)


def numbers(rng, dtype, shape):
    if np.dtype(dtype).kind == "f":
        return rng.standard_normal(shape).astype(dtype)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)


@tri.jit
def grid_of(ROWS: tl.constexpr, N: tl.constexpr):
    return tl.arange(0, ROWS)[:, None] * N + tl.arange(0, N)[None, :]


DTYPES = ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64"]


@tri.jit
def sorts(x_ptr, y_ptr, ROWS: tl.constexpr, N: tl.constexpr, DOWN: tl.constexpr):
    i = grid_of(ROWS, N)
    tl.store(y_ptr + i, tl.sort(tl.load(x_ptr + i), descending=DOWN))


@pytest.mark.parametrize("descending", [0, 1])
@pytest.mark.parametrize("dtype", DTYPES)
def test_sort(rng, dtype, descending):
    x = numbers(rng, dtype, (ROWS, N))
    y = np.zeros_like(x)
    sorts[(1,)](x, y, ROWS=ROWS, N=N, DOWN=descending)
    expected = np.sort(x, axis=-1)
    np.testing.assert_array_equal(y, expected[:, ::-1] if descending else expected)


@tri.jit
def chooses(x_ptr, y_ptr, K: tl.constexpr, DOWN: tl.constexpr, ROWS: tl.constexpr, N: tl.constexpr):
    chosen = tl.topk(tl.load(x_ptr + grid_of(ROWS, N)), K, descending=DOWN)
    tl.store(y_ptr + grid_of(ROWS, K), chosen)


@pytest.mark.parametrize("descending", [True, False])
@pytest.mark.parametrize("k", [1, 2, 8, N])
def test_topk(rng, k, descending):
    x = numbers(rng, "float32", (ROWS, N))
    y = np.zeros((ROWS, k), np.float32)
    chooses[(1,)](x, y, K=k, DOWN=descending, ROWS=ROWS, N=N)
    expected = np.sort(x, axis=-1)
    np.testing.assert_array_equal(y, expected[:, ::-1][:, :k] if descending else expected[:, :k])


@tri.jit
def merges(x_ptr, y_ptr, ROWS: tl.constexpr, N: tl.constexpr):
    i = grid_of(ROWS, N)
    tl.store(y_ptr + i, tl.bitonic_merge(tl.load(x_ptr + i)))


def test_bitonic_merge(rng):
    x = np.sort(numbers(rng, "float32", (ROWS, N)), axis=-1)
    x[:, N // 2 :] = x[:, N // 2 :][:, ::-1]
    y = np.zeros_like(x)
    merges[(1,)](x, y, ROWS=ROWS, N=N)
    np.testing.assert_array_equal(y, np.sort(x, axis=-1))


# --- atomics --------------------------------------------------------------------------------------------


@tri.jit
def moves(x_ptr, y_ptr, n, SEM: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.atomic_load(x_ptr + i, mask=i < n, sem=None if SEM else "relaxed", scope="sys")
    tl.atomic_store(y_ptr + i, x, mask=i < n, sem="release" if SEM else "relaxed", scope="cta")


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize(
    "dtype", ["int8", "int16", "float16", "int32", "float32", "int64", "float64", "bool"]
)
def test_atomic_load_and_store(rng, dtype, ordered):
    x = rng.integers(0, 2, N).astype(bool) if dtype == "bool" else numbers(rng, dtype, N)
    y = np.zeros_like(x)
    moves[(1,)](x, y, N - 5, SEM=ordered, N=N)
    np.testing.assert_array_equal(y[: N - 5], x[: N - 5])
    assert not y[N - 5 :].any()


@tri.jit
def wrong_order(x_ptr, N: tl.constexpr):
    tl.atomic_store(x_ptr + tl.arange(0, N), 1, sem="acquire")


def test_orders_are_checked():
    with pytest.raises(CompilationError, match="'acquire' is unknown"):
        wrong_order[(1,)](np.ones(N, np.int32), N=N)


# --- products of bytes ----------------------------------------------------------------------------------


@tri.jit
def products(x_ptr, y_ptr, o_ptr, N: tl.constexpr):
    i = grid_of(N, N)
    tl.store(o_ptr + i, tl.dot(tl.load(x_ptr + i), tl.load(y_ptr + i)))


def test_dot_of_uint8_is_refused(rng):
    """As Triton does: the matrix units' bytes are signed, and TTIR does not say otherwise."""
    x, y = (numbers(rng, "uint8", (N, N)) for _ in range(2))
    with pytest.raises(CompilationError, match="uint8") as caught:
        products[(1,)](x, y, np.zeros((N, N), np.int32), N=N)
    assert "float16" in str(caught.value)


def test_dot_of_int8(rng):
    x, y = (numbers(rng, "int8", (N, N)) for _ in range(2))
    o = np.zeros((N, N), np.int32)
    products[(1,)](x, y, o, N=N)
    np.testing.assert_array_equal(o, x.astype(np.int32) @ y.astype(np.int32))


# --- small ----------------------------------------------------------------------------------------------


@tri.jit
def expects(x_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(x_ptr + i, tl.expect_zero(x, i > 3) + 1)


def test_expect_zero():
    x = np.zeros(N, np.float32)
    x[:3] = 5
    expected = x + 1
    expects[(1,)](x, N=N)
    np.testing.assert_array_equal(x, expected)


@tl.must_use_result("it only computes")
@tri.jit
def computes(x):
    return x + 1


@tri.jit
def drops(x_ptr):
    computes(tl.load(x_ptr))


def test_must_use_result():
    with pytest.raises(CompilationError, match="the result of computes is not used") as caught:
        drops[(1,)](np.ones(1, np.float32))
    assert "it only computes" in str(caught.value)
