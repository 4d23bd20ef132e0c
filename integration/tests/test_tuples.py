"""Tuples, named tuples and functions as arguments of kernels and helpers, on the CPU target against NumPy."""

from __future__ import annotations

import collections
import typing

import numpy as np
import pytest

import tri
import tri.language as tl

N = 16
Pair = collections.namedtuple("Pair", "x y")  # noqa: PYI024  both kinds are tested


class View(typing.NamedTuple):
    ptr: typing.Any
    n: typing.Any
    scale: typing.Any = 1.0


@pytest.fixture(autouse=True)
def _cpu(mode):
    return mode


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(11)


def data(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal(N).astype(np.float32)


@tri.jit
def load(view, i):
    return tl.load(view.ptr + i, mask=i < view.n, other=0.0) * view.scale


@tri.jit
def times(x, n: tl.constexpr):
    return x * n


@tri.jit
def gather_views(views, out_ptr, extra, fn: tl.constexpr, N: tl.constexpr, *rest):
    i = tl.arange(0, N)
    z = load(views[0], i) + load(views[1], i)
    a, (b, c) = extra
    if b is None:
        z += a + c
    tl.static_assert(extra[1][1] == 1)
    for r in rest:
        z += r
    tl.store(out_ptr + i, fn(z, len(rest)))


@pytest.mark.parametrize("a", [3, 48, 1.5, True])
def test_nested_tuples_as_arguments(rng, a):
    x, y = data(rng), data(rng)
    out = np.empty_like(x)
    gather_views[(1,)]((View(x, 9, 2.0), View(y, 16)), out, (a, (None, 1)), times, N, 4, 2.5)
    part = np.where(np.arange(N) < 9, x, 0) * 2
    np.testing.assert_allclose(out, (part + y + a + 1 + 6.5) * 2, rtol=1e-6)


def test_versions_differ_by_what_is_in_a_tuple(mode):
    if mode == "interpreted":
        pytest.skip("nothing is compiled")

    @tri.jit
    def first(t, out_ptr):
        tl.store(out_ptr, t[0])

    out = np.zeros(1, np.int64)
    versions = set()
    for values in ((1, 2), (2, 2), (3, 2), (16, 2), (2**40, 2), (1,), Pair(1, 2)):
        versions.add(first[(1,)](values, out).metadata.hash)
        assert out[0] == values[0]
    assert len(versions) == 6  # 2 and 3 share one


def test_signatures_with_tuples():
    @tri.jit
    def k(t, p):
        tl.store(p, t.x[1] + t.y)

    source = tri.ASTSource(
        k,
        {"t": Pair(("constexpr", "i32"), "i32"), "p": "*i32"},
        {(0, 0, 0): None},
        {(0, 1): [["tt.divisibility", 16]]},
    )
    assert [(p.name, p.type) for p in source.kernel_signature().parameters] == [
        ("t.x.1", "i32"),
        ("t.y", "i32"),
        ("p", "*i32"),
    ]
    text = tri.compile(source).asm["ttir"]
    assert text.count("tt.divisibility = 16") == 1


@tri.jit
def swap(t):
    a, *middle, b = t
    return (b, *middle, a)


@tri.jit
def fib(x_ptr, out_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    state = Pair(tl.load(x_ptr + i), tl.zeros([N], tl.float32))
    for _ in range(n):
        state = Pair(state.y, state.x + state.y)
    first, second, *_ = swap((state.x, n, state.y))
    state = state._replace(x=first)
    both = [v * 2.0 for v in state if N > 1] + [second]
    tl.static_assert(len(both) == 3)
    tl.static_assert((1, N) == (1, 16))
    tl.static_assert((1, 2) * 2 == (1, 2, 1, 2))
    tl.static_assert(both[1:][1:] != ())
    tl.store(out_ptr + i, both[0] - both[1] + both[-1])


@pytest.mark.parametrize("n", [0, 1, 7])
def test_named_tuples_carried_and_returned(rng, n):
    x = data(rng)
    out = np.empty_like(x)
    fib[(1,)](x, out, n, N)
    a, b = x, np.zeros_like(x)
    for _ in range(n):
        a, b = b, a + b
    np.testing.assert_allclose(out, b * 2 - b * 2 + n, rtol=1e-5)


@tri.jit
def early(x, K: tl.constexpr):
    for i in tl.static_range(K):
        if x > 10 * i:
            return x + i
    return x - 100


@tri.jit
def factorial(n: tl.constexpr):
    if n <= 1:
        return 1
    return n * factorial(n - 1)


@tri.jit
def control(out_ptr, n):
    y: tl.constexpr
    y = 7
    ok = -50 < n < 30 != 0
    w = n
    while tl.condition(w > 0, disable_licm=True):
        w -= 2
    assert n < 1000, "large"
    tl.store(out_ptr, early(n, 3))
    tl.store(out_ptr + 1, factorial(5) + y.value)
    tl.store(out_ptr + 2, ok)
    tl.store(out_ptr + 3, w)


@pytest.mark.parametrize("n", [-60, -7, 0, 5, 10, 30, 31])
def test_control_flow(n):
    out = np.zeros(4, np.int32)
    control[(1,)](out, n)
    expected = next((n + i for i in range(3) if n > 10 * i), n - 100)
    w = n
    while w > 0:
        w -= 2
    assert out.tolist() == [expected, 127, int(-50 < n < 30), w]


@tri.jit
def apply(out_ptr, f: tl.constexpr, n: tl.constexpr):
    tl.store(out_ptr, f(n))


def multiplier(c):
    return lambda v: v * c


def test_python_functions_as_constexprs():
    out = np.zeros(1, np.int32)
    for c in (3, 4):
        apply[(1,)](out, multiplier(c), 5)
        assert out[0] == 5 * c
