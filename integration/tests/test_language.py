"""The language on the CPU target, against NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tri
import tri.language as tl

N = 64


@pytest.fixture(autouse=True)
def _cpu(mode):
    return mode


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


# --- elementwise ----------------------------------------------------------------------------------------


@tri.jit
def unary(x_ptr, y_ptr, F: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y_ptr + i, F(tl.load(x_ptr + i)))


UNARY = [
    (tl.exp, np.exp), (tl.exp2, np.exp2), (tl.log, np.log), (tl.log2, np.log2), (tl.sin, np.sin), (tl.cos, np.cos),
    (tl.sqrt, np.sqrt), (tl.sqrt_rn, np.sqrt), (tl.rsqrt, lambda x: 1 / np.sqrt(x)), (tl.abs, np.abs),
    (tl.floor, np.floor), (tl.ceil, np.ceil), (tl.erf, np.vectorize(math.erf)), (tl.sigmoid, lambda x: 1 / (1 + np.exp(-x))),
]  # fmt: skip


@pytest.mark.parametrize(("function", "oracle"), UNARY, ids=[f.__name__ for f, _ in UNARY])
def test_unary(rng, function, oracle):
    x = rng.uniform(0.1, 5, N).astype(np.float32)
    y = np.full(N, np.nan, np.float32)
    unary[(1,)](x, y, F=function, N=N)
    np.testing.assert_allclose(y, oracle(x.astype(np.float64)), rtol=3e-6, atol=1e-6)


BINARY = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "//": lambda x, y: np.trunc(x / y), "%": np.fmod,
    "&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor, "<": np.less, ">=": np.greater_equal,
}  # fmt: skip


@tri.jit
def binary(x_ptr, y_ptr, out_ptr, OP: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    x, y = tl.load(x_ptr + i), tl.load(y_ptr + i)
    if OP == "+":
        r = x + y
    elif OP == "-":
        r = x - y
    elif OP == "*":
        r = x * y
    elif OP == "//":
        r = x // y
    elif OP == "%":
        r = x % y
    elif OP == "&":
        r = x & y
    elif OP == "|":
        r = x | y
    elif OP == "^":
        r = x ^ y
    elif OP == "<":
        r = x < y
    else:
        r = x >= y
    tl.store(out_ptr + i, r)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint32, np.int64])
@pytest.mark.parametrize("sign", BINARY)
def test_integer_operators(rng, sign, dtype):
    info = np.iinfo(dtype)
    x = rng.integers(info.min, info.max, N, dtype=dtype, endpoint=True)
    y = rng.integers(1, 100, N, dtype=dtype)
    out = np.zeros(N, np.int64 if np.dtype(dtype).kind == "i" else np.uint64)
    binary[(1,)](x, y, out, OP=sign, N=N)
    with np.errstate(over="ignore"):
        expected = [int(v) for v in BINARY[sign](x.astype(object) if sign == "//" else x, y)] if sign != "//" else [
            int(abs(int(a)) // int(b)) * (1 if a >= 0 else -1) for a, b in zip(x, y, strict=True)
        ]  # fmt: skip
    np.testing.assert_array_equal(out, np.array(expected).astype(out.dtype))


@tri.jit
def cast(x_ptr, y_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y_ptr + i, tl.load(x_ptr + i).to(y_ptr.dtype.element_ty))


@pytest.mark.parametrize(
    "target", [np.float16, np.float32, np.float64, np.int8, np.int32, np.uint8, np.int64, np.bool_]
)
@pytest.mark.parametrize(
    "source", [np.float16, np.float32, np.float64, np.int16, np.int32, np.uint16, np.bool_]
)
def test_casts(rng, source, target):
    x = (
        rng.integers(0, 100, N).astype(source)
        if source is not np.bool_
        else rng.integers(0, 2, N).astype(bool)
    )
    y = np.zeros(N, target)
    cast[(1,)](x, y, N=N)
    np.testing.assert_array_equal(y, x.astype(target))


# --- shapes ---------------------------------------------------------------------------------------------


@tri.jit
def rearrange(x_ptr, out_ptr, HOW: tl.constexpr):  # noqa: C901  one case per line of the table below
    i = tl.arange(0, 8)[:, None] * 16 + tl.arange(0, 16)[None, :]
    x = tl.load(x_ptr + i)
    if HOW == "trans":
        r = tl.trans(x)
    elif HOW == "reshape":
        r = tl.reshape(x, [2, 4, 16])
    elif HOW == "permute":
        r = tl.permute(tl.reshape(x, [2, 4, 16]), (2, 0, 1))
    elif HOW == "flip":
        r = tl.flip(x, 1)
    elif HOW == "flip0":
        r = tl.flip(x, 0)
    elif HOW == "interleave":
        r = tl.interleave(x, -x)
    elif HOW == "join":
        r = tl.join(x, -x)
    elif HOW == "split":
        a, b = tl.split(tl.reshape(x, [8, 8, 2]))
        r = a - b
    elif HOW == "cat":
        r = tl.cat(x, -x, dim=0)
    elif HOW == "gather":
        r = tl.gather(x, (i * 7) % 16, 1)
    elif HOW == "ravel":
        r = x.ravel()
    elif HOW == "cumsum":
        r = tl.cumsum(x, 1)
    elif HOW == "cumsum_reverse":
        r = tl.cumsum(x, 0, reverse=True)
    elif HOW == "cumprod":
        r = tl.cumprod(x, 1)
    elif HOW == "softmax":
        r = tl.softmax(x, 1)
    elif HOW == "sum":
        r = tl.sum(x, 0)
    elif HOW == "sum_keep":
        r = tl.sum(x, 1, keep_dims=True) * 1.0
    elif HOW == "sum_all":
        r = tl.sum(x)[None]
    elif HOW == "max":
        r = tl.max(x, 1)
    elif HOW == "min":
        r = x.min(0)
    elif HOW == "argmax":
        r = tl.argmax(x, 1)
    elif HOW == "argmin":
        r = tl.argmin(x, 0)
    elif HOW == "clamp":
        r = tl.clamp(x, -0.5, 0.5)
    elif HOW == "xor_sum":
        r = tl.xor_sum(x.to(tl.int32, bitcast=True), 1)
    else:
        r = tl.where(x > 0, x, 2 * x)
    count: tl.constexpr = r.numel
    tl.store(out_ptr + tl.arange(0, count), tl.reshape(r, [count]))


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


REARRANGEMENTS = {
    "trans": lambda x: x.T,
    "reshape": lambda x: x,
    "permute": lambda x: x.reshape(2, 4, 16).transpose(2, 0, 1),
    "flip": lambda x: x[:, ::-1],
    "flip0": lambda x: x[::-1],
    "interleave": lambda x: np.stack([x, -x], -1).reshape(8, 32),
    "join": lambda x: np.stack([x, -x], -1),
    "split": lambda x: x.reshape(8, 8, 2)[..., 0] - x.reshape(8, 8, 2)[..., 1],
    "cat": lambda x: np.concatenate([x, -x]),
    "gather": lambda x: np.take_along_axis(x, (np.arange(128).reshape(8, 16) * 7) % 16, 1),
    "ravel": lambda x: x,
    "cumsum": lambda x: x.cumsum(1),
    "cumsum_reverse": lambda x: x[::-1].cumsum(0)[::-1],
    "cumprod": lambda x: x.cumprod(1),
    "softmax": softmax,
    "sum": lambda x: x.sum(0),
    "sum_keep": lambda x: x.sum(1),
    "sum_all": lambda x: x.sum(),
    "max": lambda x: x.max(1),
    "min": lambda x: x.min(0),
    "argmax": lambda x: x.argmax(1),
    "argmin": lambda x: x.argmin(0),
    "clamp": lambda x: x.clip(-0.5, 0.5),
    "where": lambda x: np.where(x > 0, x, 2 * x),
}


@pytest.mark.parametrize("how", REARRANGEMENTS)
def test_shapes_and_reductions(rng, how):
    x = rng.standard_normal((8, 16)).astype(np.float32)
    expected = np.ravel(REARRANGEMENTS[how](x.astype(np.float64)))
    out = np.full(expected.size, np.nan, np.float32)
    rearrange[(1,)](x, out, HOW=how)
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-6)


def test_xor_sum(rng):
    x = rng.standard_normal((8, 16)).astype(np.float32)
    out = np.zeros(8, np.int32)
    rearrange[(1,)](x, out, HOW="xor_sum")
    np.testing.assert_array_equal(out, np.bitwise_xor.reduce(x.view(np.int32), axis=1))


@tri.jit
def welford_combine(mean1, m2_1, n1, mean2, m2_2, n2):
    delta = mean2 - mean1
    n = n1 + n2
    ratio = n2 / n
    return mean1 + delta * ratio, m2_1 + m2_2 + delta * delta * n1 * ratio, n


@tri.jit
def welford(x_ptr, out_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    mean, m2, n = tl.reduce((x, tl.zeros_like(x), tl.full([N], 1.0, tl.float32)), 0, welford_combine)
    tl.store(out_ptr, mean)
    tl.store(out_ptr + 1, m2 / n)


def test_a_reduction_of_three_values(rng):
    x = rng.standard_normal(N).astype(np.float32)
    out = np.full(2, np.nan, np.float32)
    welford[(1,)](x, out, N=N)
    np.testing.assert_allclose(out, [x.mean(dtype=np.float64), x.var(dtype=np.float64)], rtol=1e-5)


# --- memory ---------------------------------------------------------------------------------------------


@tri.jit
def atomics(sums_ptr, tops_ptr, x_ptr, bins_ptr, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.atomic_add(sums_ptr + i % 4, x)
    tl.atomic_max(tops_ptr + i % 4, x)
    tl.atomic_add(bins_ptr + tl.arange(0, 8), tl.histogram(i % 8, 8))


def test_atomics_and_histogram(rng):
    x = rng.standard_normal(8 * N).astype(np.float32)
    sums, tops, bins = np.zeros(4, np.float32), np.full(4, -np.inf, np.float32), np.zeros(8, np.int32)
    atomics[(8,)](sums, tops, x, bins, N=N)
    np.testing.assert_allclose(sums, x.reshape(-1, 4).sum(0, dtype=np.float64), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(tops, x.reshape(-1, 4).max(0))
    np.testing.assert_array_equal(bins, np.full(8, N))


# --- random numbers -------------------------------------------------------------------------------------


@tri.jit
def random(out_ptr, u_ptr, n_ptr, seed, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out_ptr + i, tl.randint(seed, i))
    tl.store(u_ptr + i, tl.rand(seed, i))
    tl.store(n_ptr + i, tl.randn(seed, i))


def philox(counter: int, seed: int) -> list[int]:
    """Philox4x32-10 of one counter, by its definition."""
    c, k = [counter, 0, 0, 0], [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        p, q = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [q >> 32 ^ c[1] ^ k[0], q & 0xFFFFFFFF, p >> 32 ^ c[3] ^ k[1], p & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def test_random_numbers_are_philox_s():
    seed = 0x1234567890ABCDE
    bits, uniform, normal = (
        np.zeros(4 * N, np.uint32),
        np.zeros(4 * N, np.float32),
        np.zeros(4 * N, np.float32),
    )
    random[(1,)](bits, uniform, normal, seed, N=4 * N)
    expected = np.array([philox(i, seed)[0] for i in range(4 * N)], np.uint32)
    np.testing.assert_array_equal(bits, expected)
    signed = expected.view(np.int32).astype(np.float64)
    np.testing.assert_allclose(
        uniform, np.where(signed < 0, -signed - 1, signed) * 4.6566127342e-10, rtol=1e-6
    )
    assert abs(normal.mean()) < 0.2
    assert 0.8 < normal.std() < 1.2


# --- the rest -------------------------------------------------------------------------------------------


@tri.jit
def swizzle(out_ptr, N: tl.constexpr, M: tl.constexpr):
    i, j = tl.swizzle2d(tl.program_id(0), tl.program_id(1), N, M, 2)
    tl.store(out_ptr + i * M + j, tl.program_id(0) * M + tl.program_id(1))


def test_swizzle2d_visits_every_tile_once():
    out = np.full((5, 3), -1, np.int32)
    swizzle[(5, 3)](out, N=5, M=3)
    # groups of two rows, column by column within
    np.testing.assert_array_equal(out, [[0, 2, 4], [1, 3, 5], [6, 8, 10], [7, 9, 11], [12, 13, 14]])
