"""Functions of the language that rearrange, synchronize or map: on the CPU target, against NumPy."""

from __future__ import annotations

import platform
import time

import numpy as np
import pytest

import tri
import tri.language as tl
from tri_core.errors import CompilationError

ROWS, N = 4, 32


@pytest.fixture(autouse=True)
def _cpu(mode):
    return mode


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


# --- dots of bytes ----------------------------------------------------------------------------------


@tri.jit
def matmuls(x_ptr, y_ptr, o_ptr, N: tl.constexpr):
    i = grid_of(N, N)
    tl.store(o_ptr + i, tl.dot(tl.load(x_ptr + i), tl.load(y_ptr + i)))


def test_dot_of_uint8_is_refused(rng):
    """As Triton does: the matrix units' bytes are signed, and TTIR does not say otherwise."""
    x, y = (numbers(rng, "uint8", (N, N)) for _ in range(2))
    with pytest.raises(CompilationError, match="uint8") as caught:
        matmuls[(1,)](x, y, np.zeros((N, N), np.int32), N=N)
    assert "float16" in str(caught.value)


def test_dot_of_int8(rng):
    x, y = (numbers(rng, "int8", (N, N)) for _ in range(2))
    o = np.zeros((N, N), np.int32)
    matmuls[(1,)](x, y, o, N=N)
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


# --- functions of elements ------------------------------------------------------------------------------


@tri.jit
def branching(x, y):
    if x > 0:
        r = x * y
        if y > 0:
            r = r + 1
    else:
        r = y - x
    return r, x > y


@tri.jit
def maps(x_ptr, y_ptr, r_ptr, b_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    r, b = tl.map_elementwise(branching, tl.load(x_ptr + i), tl.load(y_ptr + i))
    tl.store(r_ptr + i, r)
    tl.store(b_ptr + i, b)


def test_map_elementwise_branches(rng):
    x, y = (numbers(rng, "float32", N) for _ in range(2))
    r, b = np.zeros_like(x), np.zeros(N, bool)
    maps[(1,)](x, y, r, b, N=N)
    np.testing.assert_array_equal(r, np.where(x > 0, np.where(y > 0, x * y + 1, x * y), y - x))
    np.testing.assert_array_equal(b, x > y)


@tri.jit
def loops(x):
    n = 0
    while x > 1:
        x = tl.where(x % 2 == 0, x // 2, 3 * x + 1)
        n += 1
    return n


@tri.jit
def maps_loops(x_ptr, n_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(n_ptr + i, tl.map_elementwise(loops, tl.load(x_ptr + i)))


def test_map_elementwise_loops(rng):
    x = rng.integers(1, 1000, N).astype(np.int32)
    n = np.zeros_like(x)
    maps_loops[(1,)](x, n, N=N)

    def steps(value: int) -> int:
        count = 0
        while value > 1:
            value, count = (value // 2 if value % 2 == 0 else 3 * value + 1), count + 1
        return count

    assert n.tolist() == [steps(int(v)) for v in x]


@tri.jit
def exchanged(x0, x1, y0, y1):
    return x1 + y0, x0 + y1


@tri.jit
def maps_pairs(x_ptr, y_ptr, o_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    made = tl.map_elementwise(exchanged, tl.load(x_ptr + i), tl.load(y_ptr + i), pack=2)
    tl.store(o_ptr + i, made[0])


def test_map_elementwise_pack(rng):
    """On this target a pack is neighbours along the last dimension."""
    x, y = (numbers(rng, "int32", N) for _ in range(2))
    o = np.zeros_like(x)
    maps_pairs[(1,)](x, y, o, N=N)
    np.testing.assert_array_equal(o, x.reshape(-1, 2)[:, ::-1].ravel() + y)


@tri.jit
def maps_fours(x_ptr, o_ptr, ROWS: tl.constexpr, N: tl.constexpr):
    i = grid_of(ROWS, N)
    tl.store(o_ptr + i, tl.map_elementwise(reversed_four, tl.load(x_ptr + i), pack=4)[0])


@tri.jit
def reversed_four(a, b, c, d):
    return d, c, b, a


def test_map_elementwise_pack_of_four(rng):
    x = numbers(rng, "float64", (ROWS, N))
    o = np.zeros_like(x)
    maps_fours[(1,)](x, o, ROWS=ROWS, N=N)
    np.testing.assert_array_equal(o, x.reshape(-1, 4)[:, ::-1].reshape(ROWS, N))


# --- assembly of this machine ---------------------------------------------------------------------------


@pytest.fixture
def compiled(request):
    """Only where kernels are compiled: the interpreter has no assembler."""
    if "interpreted" in request.node.callspec.id:
        pytest.skip("the interpreter refuses assembly")


x86 = pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="x86 assembly")


@tri.jit
def assembles(x_ptr, y_ptr, s_ptr, d_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    total, difference = tl.inline_asm_elementwise(
        "leal ($2,$3), $0; movl $2, $1; subl $3, $1",
        "=&r,=&r,r,r",
        [tl.load(x_ptr + i), tl.load(y_ptr + i)],
        dtype=(tl.int32, tl.int32),
        is_pure=True,
        pack=1,
    )
    tl.store(s_ptr + i, total)
    tl.store(d_ptr + i, difference)


@x86
def test_assembly_with_two_results(compiled, rng):
    x, y = (numbers(rng, "int32", N) >> 2 for _ in range(2))
    s, d = np.zeros_like(x), np.zeros_like(x)
    assembles[(1,)](x, y, s, d, N=N)
    np.testing.assert_array_equal(s, x + y)
    np.testing.assert_array_equal(d, x - y)


@tri.jit
def swaps_bytes(x_ptr, o_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(o_ptr + i, tl.inline_asm_elementwise("bswap $0", "=r,0", [x], x.dtype, False, 4))


@x86
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_assembly_of_packs(compiled, rng, dtype):
    """Four bytes in one register, reversed."""
    x = numbers(rng, dtype, N)
    o = np.zeros_like(x)
    swaps_bytes[(1,)](x, o, N=N)
    np.testing.assert_array_equal(o, x.reshape(-1, 4)[:, ::-1].ravel())


@tri.jit
def assembles_scalars(x_ptr, o_ptr):
    tl.store(o_ptr, tl.inline_asm_elementwise("notl $0", "=r,0", [tl.load(x_ptr)], tl.int32, True, 1))


@x86
def test_assembly_of_scalars(compiled, rng):
    x = numbers(rng, "int32", 4)
    o = np.zeros_like(x)
    assembles_scalars[(1,)](x, o)
    assert o[0] == ~x[0]


@tri.jit
def no_results(x_ptr):
    tl.inline_asm_elementwise("nop", "", [tl.load(x_ptr)], (), False, 1)


def test_assembly_gives_something():
    with pytest.raises(CompilationError, match="at least one"):
        no_results[(1,)](np.ones(1, np.int32))


# --- waiting --------------------------------------------------------------------------------------------


@tri.jit
def polls(x_ptr, o_ptr, timeout, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o_ptr + i, tl.atomic_poll(x_ptr + i, 7, timeout_ns=timeout))


@pytest.mark.parametrize("dtype", ["int16", "int32", "uint64"])
def test_poll_ends_at_its_timeout(rng, dtype):
    x = np.where(rng.integers(0, 2, N) == 1, 7, 3).astype(dtype)
    o = np.zeros(N, bool)
    start = time.monotonic()
    polls[(1,)](x, o, 100_000, N=N)
    assert time.monotonic() - start < 30
    np.testing.assert_array_equal(o, x == 7)


@tri.jit
def signals(flag_ptr, o_ptr):
    if tl.program_id(0) == 0:
        tl.store(o_ptr, 41)
        tl.atomic_store(flag_ptr, 1)
    else:
        tl.atomic_poll(flag_ptr, 1)
        tl.store(o_ptr + 1, tl.load(o_ptr) + 1)


def test_poll_waits_for_another_program():  # the first program comes first in the interpreter too
    flag, o = np.zeros(1, np.int32), np.zeros(2, np.int32)
    signals[(2,)](flag, o)
    assert o.tolist() == [41, 42]


# --- reductions and scans over the dtypes that they take ------------------------------------------------


@tri.jit
def reduces(x_ptr, o_ptr, F: tl.constexpr, ROWS: tl.constexpr, N: tl.constexpr):
    x = tl.load(x_ptr + grid_of(ROWS, N))
    tl.store(o_ptr + tl.arange(0, ROWS), F(x, 1))


def wrapping(function):
    """Sums and dots as the language has them: in 32 bits at least, modulo a power of two."""

    def oracle(x):
        if x.dtype.kind == "f":
            return function(x.astype(np.float64), 1)
        wide = np.dtype(f"{x.dtype.kind}{max(4, x.itemsize)}")
        return function(x, 1, dtype=wide)

    return oracle


REDUCTIONS = {
    "sum": (tl.sum, wrapping(np.sum)), "max": (tl.max, lambda x: x.max(1)), "min": (tl.min, lambda x: x.min(1)),
    "xor_sum": (tl.xor_sum, lambda x: np.bitwise_xor.reduce(x, 1)), "reduce_or": (tl.reduce_or, lambda x: np.bitwise_or.reduce(x, 1)),
    "argmax": (tl.argmax, lambda x: x.argmax(1)), "argmin": (tl.argmin, lambda x: x.argmin(1)),
}  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reduction(rng, name, dtype):
    function, oracle = REDUCTIONS[name]
    x = numbers(rng, dtype, (ROWS, N))
    if name in ("xor_sum", "reduce_or") and x.dtype.kind == "f":
        return
    expected = np.asarray(oracle(x))
    if x.dtype == np.float16:
        o = np.zeros(ROWS, np.float32 if name != "sum" else np.float16)
    else:
        o = np.zeros(ROWS, expected.dtype if name in ("sum", "argmax", "argmin") else x.dtype)
    reduces[(1,)](x, o, F=function, ROWS=ROWS, N=N)
    tolerance = {2: 4e-2, 4: 1e-5, 8: 1e-12}[x.itemsize] if x.dtype.kind == "f" else 0
    np.testing.assert_allclose(o.astype(expected.dtype), expected, atol=tolerance)


@tri.jit
def scans(x_ptr, o_ptr, F: tl.constexpr, BACK: tl.constexpr, ROWS: tl.constexpr, N: tl.constexpr):
    i = grid_of(ROWS, N)
    tl.store(o_ptr + i, F(tl.load(x_ptr + i), 1, reverse=BACK))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "float32", "float64"])
@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_scan(rng, name, dtype, reverse):
    x = numbers(rng, dtype, (ROWS, N))
    o = np.zeros_like(x)
    scans[(1,)](x, o, F=getattr(tl, name), BACK=reverse, ROWS=ROWS, N=N)
    wide = (x[:, ::-1] if reverse else x).astype(np.float64 if x.dtype.kind == "f" else x.dtype)
    expected = getattr(np, name)(wide, axis=1, dtype=wide.dtype)
    np.testing.assert_allclose(
        o, expected[:, ::-1] if reverse else expected, rtol=2e-4 if dtype == "float32" else 1e-9, atol=1e-5
    )


@tri.jit
def flips(x_ptr, o_ptr, ROWS: tl.constexpr, N: tl.constexpr, DIM: tl.constexpr):
    i = grid_of(ROWS, N)
    tl.store(o_ptr + i, tl.flip(tl.load(x_ptr + i), DIM))


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("dtype", DTYPES)
def test_flip(rng, dtype, dim):
    x = numbers(rng, dtype, (ROWS, N))
    o = np.zeros_like(x)
    flips[(1,)](x, o, ROWS=ROWS, N=N, DIM=dim)
    np.testing.assert_array_equal(o, np.flip(x, dim))
