"""Aggregates on the CPU target, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import tri
import tri.language as tl
from tri_core.errors import CompilationError

N = 16


@pytest.fixture(autouse=True)
def _cpu(mode):
    return mode


@pytest.fixture
def x() -> np.ndarray:
    return np.random.default_rng(5).standard_normal(N).astype(np.float32)


@tri.aggregate
class Moments:
    total: tl.tensor
    most: tl.tensor
    size: tl.constexpr

    def __init__(self, total, most, size):
        self.total = total
        self.most = most
        self.size = tl.constexpr(size)

    @tri.jit
    def push(self, x):
        return Moments(self.total + x, tl.maximum(self.most, x), self.size)

    @tri.jit
    def __add__(self, other):
        return Moments(self.total + other.total, tl.maximum(self.most, other.most), self.size)

    @tri.jit
    def __radd__(self, other):
        return Moments(self.total + other, self.most, self.size)

    @tri.jit
    def __getitem__(self, i):
        return self.total if i == 0 else self.most

    @tri.jit
    def __neg__(self):
        return Moments(-self.total, self.most, self.size)

    @tri.jit
    def __lt__(self, other):
        return self.total < other.total

    @tri.constexpr_function
    def doubled(self):
        return self.size * 2

    @staticmethod
    @tri.jit
    def of(x, size: tl.constexpr):
        return Moments(x, x, size)


@tri.aggregate
class Weighted(Moments):
    weight: tl.tensor

    def __init__(self, total, most, size, weight):
        self.total = total
        self.most = most
        self.size = tl.constexpr(size)
        self.weight = weight

    @tri.jit
    def weighted(self):
        return self.push(self.weight).total * self.weight


@tri.aggregate
class Options:
    scale: tl.tensor
    power: tl.constexpr = 2
    inner: tl.constexpr = None


@tri.jit
def carried(x_ptr, out_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    m = Moments(tl.zeros([N], tl.float32), x, N)
    for j in range(n):
        m = m.push(x + j)
    if n > 3:
        m = tl.aggregate_replace(m, total=m.total * 2.0)
    while n > 0:
        m = m + m
        n -= 3
    tl.static_assert(m.size == N)
    tl.store(out_ptr + i, m.total + m.most + m.doubled())


@pytest.mark.parametrize("n", [0, 2, 5])
def test_an_aggregate_is_carried_through_loops_and_branches(x, n):
    out = np.empty_like(x)
    carried[(1,)](x, out, n, N)
    total, most = np.zeros_like(x), x
    for j in range(n):
        total, most = total + (x + j), np.maximum(most, x + j)
    if n > 3:
        total = total * 2
    while n > 0:
        total, n = total + total, n - 3
    np.testing.assert_allclose(out, total + most + 2 * N, rtol=1e-5)


@tri.jit
def operators(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    a = Moments.of(x, N)
    b = 3.0 + a.of(x * 2, N)
    z = (-(a + b))[0] + b[1]
    tl.store(out_ptr + i, tl.where(a < b, z, 0.0))


def test_operators_are_methods(x):
    out = np.empty_like(x)
    operators[(1,)](x, out, N)
    expected = np.where(x < 2 * x + 3, -(x + 2 * x + 3) + 2 * x, 0)
    np.testing.assert_allclose(out, expected, rtol=1e-5)


@tri.jit
def inherited(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    w = Weighted(x, x, N, x + 1)
    options = Options(x)
    other = Options(x * 3.0, 5)
    tl.static_assert(not isinstance(w, Moments))
    tl.static_assert(isinstance(w, Weighted))
    z = w.weighted() + options.power + other.power + other.scale
    tl.store(out_ptr + i, z)


@tri.aggregate
class Nested:
    options: Options
    pair: tl.tuple


@tri.jit
def scaled(nested):
    return nested.options.scale * nested.pair[0] + nested.pair[1]


@tri.jit
def nested(x_ptr, out_ptr, n, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    value = Nested(Options(x), (x + 1, 4))
    for _ in range(n):
        value = Nested(Options(value.options.scale + 1.0), value.pair)
    tl.store(out_ptr + i, scaled(value))


@pytest.mark.parametrize("n", [1, 4])
def test_aggregates_in_aggregates(x, n):
    out = np.empty_like(x)
    nested[(1,)](x, out, n, N)
    np.testing.assert_allclose(out, (x + n) * (x + 1) + 4, rtol=1e-5)


@tri.jit
def wrong_type(p):
    Moments(1, p, 3)


@tri.jit
def missing(p):
    Options()


@tri.jit
def unknown_field(p):
    tl.aggregate_replace(Options(p), powr=3)


@tri.jit
def assigned(p):
    o = Options(p)
    o.scale = p


@tri.jit
def no_operator(p):
    Options(p) + 1


@tri.jit
def changed_in_a_loop(p, n):
    o = Options(p)
    for _i in range(n):
        o = Options(p, power=3)
    tl.store(o.scale, o.power)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (wrong_type, "field 'total' of Moments is a tensor, got constexpr"),
        (missing, "field 'scale' of Options is given no value"),
        (unknown_field, "Options has no field 'powr'"),
        (assigned, "a kernel cannot assign to an attribute: its values are immutable"),
        (
            no_operator,
            (
                "operator + is not defined for Options(scale: pointer<fp32>, power: the constexpr 2, inner: None) "
                "and the constexpr 1"
            ),
        ),
        (
            changed_in_a_loop,
            (
                "Loop-carried variable o has initial type Options(scale: pointer<fp32>, power: the constexpr 2, inner: None) "
                "but is re-assigned to Options(scale: pointer<fp32>, power: the constexpr 3, inner: None) in loop"
            ),
        ),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_wrong_uses(kernel, message, x, mode):
    if mode == "interpreted":
        pytest.skip("errors are Python's own there")
    with pytest.raises(CompilationError) as caught:
        kernel[(1,)](x, *([3] if "n" in kernel.arg_names else []))
    assert caught.value.message == message
    assert caught.value.location.file == __file__


def test_inheritance_copies_fields_and_methods(x):
    out = np.empty_like(x)
    inherited[(1,)](x, out, N)
    np.testing.assert_allclose(out, (x + x + 1) * (x + 1) + 2 + 5 + 3 * x, rtol=1e-5)


def test_only_aggregates_are_bases():
    with pytest.raises(TypeError, match=r"only inherit from other aggregates; .* derives from dict"):

        @tri.aggregate
        class Wrong(dict):
            x: tl.tensor


def test_aggregates_outside_of_kernels():
    options = Options.__tri_fields__
    assert list(options) == ["scale", "power", "inner"]
    with pytest.raises(TypeError, match="'more' is no field of Options"):
        Options(more=3)
