"""``tl.extra.libdevice`` on the CPU target: exact results exactly, functions against mpmath at 40 digits."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import tri
import tri.language as tl
from tri.language.extra import libdevice
from tri.language.libdevice.table import SIGNATURES
from tri_core import plugins

N = 128
NUMPY = {
    "fp32": np.float32, "fp64": np.float64, "int32": np.int32, "uint32": np.uint32, "int64": np.int64, "uint64": np.uint64,
}  # fmt: skip


@pytest.fixture(autouse=True, params=["cpu", pytest.param("intel", marks=pytest.mark.slow)])
def target(request):
    """The CPU target, and by night a device whose elementary functions are OpenCL's."""
    if not plugins.manager().probe(request.param):
        pytest.skip(f"no device of {request.param}")
    with tri.target(request.param), mpmath.workdps(40):
        yield request.param


@tri.jit
def of_one(a, out, F: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, F(tl.load(a + i)))


@tri.jit
def of_two(a, b, out, F: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, F(tl.load(a + i), tl.load(b + i)))


@tri.jit
def of_three(a, b, c, out, F: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, F(tl.load(a + i), tl.load(b + i), tl.load(c + i)))


@tri.jit
def of_four(a, b, c, d, out, F: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, F(tl.load(a + i), tl.load(b + i), tl.load(c + i), tl.load(d + i)))


KERNELS = [of_one, of_two, of_three, of_four]


def computed(name: str, *args: np.ndarray) -> np.ndarray:
    """Result of libdevice function ``name`` for arrays of N."""
    wanted = [a.dtype for a in args]
    result = next(r for o, r in SIGNATURES[name] if [np.dtype(NUMPY[d.name]) for d in o] == wanted)
    out = np.full(len(args[0]), 77, NUMPY[result.name])
    KERNELS[len(args) - 1][(1,)](*args, out, F=getattr(libdevice, name), N=len(args[0]))
    return out


def floats(dtype: Any, seed: int, *, spread: int | None = None) -> np.ndarray:
    """Random floats of all magnitudes (or 2**-spread to 2**spread), both signs, and some special ones."""
    rng = np.random.default_rng(seed)
    limit = spread or (140 if dtype == np.float32 else 1060)
    with np.errstate(all="ignore"):
        x = np.ldexp(
            rng.uniform(1, 2, N), rng.integers(-limit, min(limit, 120 if dtype == np.float32 else 1020), N)
        )
    x = (x * rng.choice([-1, 1], N)).astype(dtype)
    x[:6] = [0.0, -0.0, 1.0, -1.0, 3.0, 0.5]
    return x


# --- rounding modes -------------------------------------------------------------------------------------


def exact(x: Any) -> Fraction:
    return Fraction(float(x))


def rounded(value: Fraction, mode: str, dtype: Any) -> Any:
    """``value`` in ``dtype``: to nearest even by integers, then the neighbour if that is on the wrong side."""
    bits, least = (24, -149) if dtype == np.float32 else (53, -1074)
    largest = (2 - Fraction(1, 2 ** (bits - 1))) * Fraction(2) ** (127 if dtype == np.float32 else 1023)
    if value == 0:
        return dtype(0)
    size = abs(value)
    e = size.numerator.bit_length() - size.denominator.bit_length()
    e -= size < Fraction(2) ** e
    unit = Fraction(2) ** max(e - bits + 1, least)
    down = size // unit * unit
    negative = value < 0
    up = down if down == size else down + unit
    away = {"rz": False, "rd": negative, "ru": not negative}.get(mode)
    if away is None:
        middle = (down + up) / 2
        away = size > middle or (size == middle and down != up and (down / unit) % 2 == 1)
    result = up if away else down
    if result > largest:
        return dtype((-1 if negative else 1) * (math.inf if away or mode == "rn" else float(largest)))
    return dtype(-float(result) if negative else float(result))


ARITHMETIC: dict[str, tuple[int, Callable[..., Fraction]]] = {
    "add": (2, lambda x, y: x + y), "sub": (2, lambda x, y: x - y), "mul": (2, lambda x, y: x * y),
    "div": (2, lambda x, y: x / y), "rcp": (1, lambda x: 1 / x), "fma": (3, lambda x, y, z: x * y + z),
}  # fmt: skip


def same(got: np.ndarray, expected: np.ndarray, *args: np.ndarray) -> None:
    """Equal, zeros by value (their sign is tested apart)."""
    wrong = [i for i in range(len(got)) if got[i] != expected[i]]
    assert not wrong, [(*(a[wrong[0]] for a in args), got[wrong[0]], expected[wrong[0]])]


@pytest.mark.parametrize("mode", ["rn", "rd", "ru", "rz"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ARITHMETIC)
@pytest.mark.parametrize("near", [True, False])
def test_rounding(name, dtype, mode, near):
    count, oracle = ARITHMETIC[name]
    args = [floats(dtype, seed, spread=4 if near else None) for seed in range(count)]
    if name in ("div", "rcp"):
        args[-1] = np.where(args[-1] == 0, dtype(7), args[-1])
    got = computed(f"{name}_{mode}", *args)
    expected = [rounded(oracle(*(exact(a[i]) for a in args)), mode, dtype) for i in range(N)]
    same(got, np.array(expected), *args)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("mode", ["rn", "rd", "ru", "rz"])
def test_square_roots(dtype, mode):
    x = np.abs(floats(dtype, 5))
    got = computed(f"sqrt_{mode}", x)
    for value, root in zip(x, got, strict=True):
        below, above = (exact(np.nextafter(root, dtype(d))) if root else exact(root) for d in (0, np.inf))
        square, r = exact(value), exact(root)
        if mode in ("rd", "rz"):
            assert r * r <= square < above * above or square == 0
        elif mode == "ru":
            assert below * below < square <= r * r or square == 0
        else:
            assert ((below + r) / 2) ** 2 <= square <= ((above + r) / 2) ** 2


def test_zeros_and_infinities_of_sums():
    x = np.array([1.0, 0.0, -0.0, 0.0, np.inf, np.inf, -np.inf, np.nan] * 16, np.float32)
    y = np.array([-1.0, 0.0, -0.0, -0.0, 1.0, -np.inf, 2.0, 1.0] * 16, np.float32)
    for dtype in (np.float32, np.float64):
        down, up = (
            computed("add_rd", x.astype(dtype), y.astype(dtype)),
            computed("add_ru", x.astype(dtype), y.astype(dtype)),
        )
        assert np.signbit(down[:4]).tolist() == [True, False, True, True]
        assert np.signbit(up[:4]).tolist() == [False, False, True, False]
        np.testing.assert_array_equal(down[4:8], [np.inf, np.nan, -np.inf, np.nan])


# --- conversions ----------------------------------------------------------------------------------------

INTEGERS = {"int": np.int32, "uint": np.uint32, "ll": np.int64, "ull": np.uint64}
ROUND = {"rn": round, "rd": math.floor, "ru": math.ceil, "rz": math.trunc}


@pytest.mark.parametrize("mode", ROUND)
@pytest.mark.parametrize("source", ["float", "double"])
@pytest.mark.parametrize("integer", INTEGERS)
def test_to_integers(source, integer, mode):
    dtype = np.float32 if source == "float" else np.float64
    rng = np.random.default_rng(3)
    x = (rng.uniform(-1, 1, N) * 2.0 ** rng.integers(0, 70, N)).astype(dtype)
    x[:8] = [0.5, 1.5, 2.5, -0.5, -1.5, np.inf, -np.inf, np.nan]
    got = computed(f"{source}2{integer}_{mode}", x)
    kind = INTEGERS[integer]
    info = np.iinfo(kind)
    highest = 1 << (info.bits - 1)
    nan = 0 if info.bits == 32 and source == "float" else (-highest if info.min else highest)
    for value, result in zip(x, got.view(kind), strict=True):
        if np.isnan(value):
            assert int(result) == nan
        elif np.isinf(value):
            assert int(result) == (info.max if value > 0 else info.min)
        else:
            assert int(result) == min(max(ROUND[mode](Fraction(float(value))), info.min), info.max)


@pytest.mark.parametrize("mode", ["rn", "rd", "ru", "rz"])
@pytest.mark.parametrize("integer", INTEGERS)
def test_from_integers(integer, mode):
    kind = INTEGERS[integer]
    info = np.iinfo(kind)
    rng = np.random.default_rng(4)
    x = rng.integers(info.min, info.max, N, dtype=kind, endpoint=True) >> kind(rng.integers(0, 20))
    x[:4] = [0, 1, info.max, info.min]
    for target, dtype in (("float", np.float32), ("double", np.float64)):
        name = f"{integer}2{target}_{mode}"
        if name in SIGNATURES:
            expected = [rounded(Fraction(int(v)), mode, dtype) for v in x]
            same(computed(name, x), np.array(expected), x)


@pytest.mark.parametrize("mode", ["rn", "rd", "ru", "rz"])
def test_double_to_float(mode):
    x = floats(np.float64, 9, spread=160)
    expected = np.array([rounded(exact(v), mode, np.float32) for v in x])
    same(computed(f"double2float_{mode}", x), expected, x)


# --- integers and bits ----------------------------------------------------------------------------------


def whole(dtype: Any, seed: int) -> np.ndarray:
    info = np.iinfo(dtype)
    x = np.random.default_rng(seed).integers(info.min, info.max, N, dtype=dtype, endpoint=True)
    x[:4] = [0, 1, info.max, info.min]
    x[4:12] >>= dtype(20)
    return x


def unsigned(value: Any) -> int:
    return int(value) % (1 << (8 * value.itemsize))


def low_24(value: Any) -> int:
    low = int(value) & 0xFFFFFF
    return low - (1 << 24) if value.dtype.kind == "i" and low >> 23 else low


def permuted(x: Any, y: Any, s: Any) -> int:
    both = (unsigned(x)).to_bytes(4, "little") + unsigned(y).to_bytes(4, "little")
    return int.from_bytes(bytes(both[unsigned(s) >> (4 * i) & 7] for i in range(4)), "little")


INTEGER_ORACLES: dict[str, Callable[..., int]] = {
    "abs": lambda x: abs(int(x)),
    "brev": lambda x: int(format(unsigned(x), f"0{8 * x.itemsize}b")[::-1], 2),
    "byte_perm": permuted,
    "clz": lambda x: 8 * x.itemsize - unsigned(x).bit_length(),
    "ffs": lambda x: (unsigned(x) & -unsigned(x)).bit_length(),
    "hadd": lambda x, y: (int(x) + int(y)) >> 1,
    "mul24": lambda x, y: low_24(x) * low_24(y),
    "mulhi": lambda x, y: (int(x) * int(y)) >> (8 * x.itemsize),
    "popc": lambda x: unsigned(x).bit_count(),
    "rhadd": lambda x, y: (int(x) + int(y) + 1) >> 1,
    "sad": lambda x, y, z: abs(int(x) - int(y)) + int(z),
}


@pytest.mark.parametrize("name", INTEGER_ORACLES)
def test_integers(name):
    for operands, _ in SIGNATURES[name]:
        kinds = [NUMPY[o.name] for o in operands]
        if any(np.dtype(k).kind == "f" for k in kinds):
            continue
        args = [whole(k, seed) for seed, k in enumerate(kinds)]
        got = computed(name, *args)
        bits = 8 * got.itemsize
        expected = [INTEGER_ORACLES[name](*(a[i] for a in args)) % (1 << bits) for i in range(N)]
        assert [unsigned(g) for g in got] == expected


def test_bits_of_floats():
    x, d, i = floats(np.float32, 1), floats(np.float64, 2), whole(np.int32, 3)
    np.testing.assert_array_equal(computed("float_as_int", x), x.view(np.int32))
    np.testing.assert_array_equal(computed("float_as_uint", x), x.view(np.int32))
    np.testing.assert_array_equal(computed("int_as_float", i).view(np.int32), i)
    np.testing.assert_array_equal(computed("uint_as_float", i.view(np.uint32)).view(np.int32), i)
    words = d.view(np.int32).reshape(-1, 2)
    np.testing.assert_array_equal(computed("double2loint", d), words[:, 0])
    np.testing.assert_array_equal(computed("double2hiint", d), words[:, 1])
    np.testing.assert_array_equal(computed("hiloint2double", words[:, 1].copy(), words[:, 0].copy()), d)
    np.testing.assert_array_equal(computed("double_as_longlong", d), d.view(np.int64))
    np.testing.assert_array_equal(computed("longlong_as_double", d.view(np.int64)), d)


# --- exact functions of floats --------------------------------------------------------------------------


def with_specials(dtype: Any, seed: int) -> np.ndarray:
    x = floats(dtype, seed, spread=30)
    x[6:14] = [np.inf, -np.inf, np.nan, 1.5, 2.5, -0.5, -2.5, 1e-40]
    return x


def scaled(x: np.ndarray, n: np.ndarray) -> np.ndarray:
    return np.array(
        [rounded(exact(v) * Fraction(2) ** int(k), "rn", type(v)) for v, k in zip(x, n, strict=True)]
    )


EXACT: dict[str, Callable[..., Any]] = {
    "abs": np.abs, "ceil": np.ceil, "floor": np.floor, "trunc": np.trunc, "rint": np.rint, "nearbyint": np.rint,
    "copysign": np.copysign, "nextafter": np.nextafter, "fmod": np.fmod, "sqrt": np.sqrt, "fdim": lambda x, y: np.where(x > y, x - y, np.where(np.isnan(x - y) & (x != y), np.nan, 0)),
    "round": lambda x: np.copysign(np.floor(np.abs(x.astype(np.float64)) + 0.5), x), "isnan": np.isnan, "isinf": np.isinf,
    "signbit": np.signbit, "finitef": np.isfinite, "isfinited": np.isfinite,
    "saturatef": lambda x: np.nan_to_num(np.clip(x, 0, 1), nan=0),
    "remainder": np.vectorize(lambda x, y: math.remainder(x, y) if np.isfinite(x) and y != 0 and y == y else math.nan),
}  # fmt: skip


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exact(name, dtype):
    kinds = next(
        ([NUMPY[o.name] for o in ops] for ops, _ in SIGNATURES[name] if NUMPY[ops[0].name] is dtype), None
    )
    if kinds is None:
        return
    args = [with_specials(dtype, seed + 7) for seed in range(len(kinds))]
    if len(args) == 2:
        args[1] = np.roll(args[1], 3)
    if name == "sqrt":
        args[0] = np.abs(args[0])
    with np.errstate(all="ignore"):
        expected = np.asarray(EXACT[name](*args))
    got = computed(name, *args)
    np.testing.assert_array_equal(got, expected.astype(got.dtype))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["ldexp", "scalbn"])
def test_scaling(name, dtype):
    x = floats(dtype, 3)
    n = np.random.default_rng(1).integers(-2300, 2300, N).astype(np.int32)
    n[:60] %= 200
    same(computed(name, x, n), scaled(x, n), x, n)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exponents(dtype):
    x = floats(dtype, 4)
    x[6:9] = [np.inf, -np.inf, np.nan]
    e = [math.frexp(v)[1] - 1 for v in x]
    logb, ilogb = computed("logb", x), computed("ilogb", x)
    assert logb[0] == -np.inf
    assert logb[6] == logb[7] == np.inf
    assert np.isnan(logb[8])
    assert ilogb[0] == ilogb[8] == -(2**31)
    assert ilogb[6] == ilogb[7] == 2**31 - 1
    assert logb[9:].tolist() == e[9:]
    assert ilogb[9:].tolist() == e[9:]


@pytest.mark.parametrize("name", ["llrint", "llround"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_to_long(name, dtype):
    x = floats(dtype, 6, spread=60)
    x[6:10] = [0.5, -2.5, 1.5, -0.5]
    half = Fraction(1, 2)
    oracle = round if name == "llrint" else lambda v: math.floor(v + half) if v >= 0 else math.ceil(v - half)
    assert computed(name, x).tolist() == [oracle(exact(v)) for v in x]


# --- functions ------------------------------------------------------------------------------------------


def ulps(got: Any, expected: Any, dtype: Any) -> float:
    """The distance in units of the last place of ``expected``."""
    nearest = dtype(float(expected)) if abs(expected) < np.finfo(dtype).max else dtype(np.inf)
    if not np.isfinite(nearest) or not np.isfinite(got):
        return 0.0 if got == nearest else math.inf
    return float(abs(mpmath.mpf(float(got)) - expected) / mpmath.mpf(float(np.spacing(abs(nearest)))))


#: name -> oracle, domain (two ends per operand; "log": magnitudes spread evenly), bound in ulp of fp64 and of fp32
m = mpmath
FUNCTIONS: dict[str, tuple[Callable[..., Any], list[tuple[float, float]], float, float]] = {
    "acos": (m.acos, [(-1, 1)], 2, 2), "acosh": (m.acosh, [(1, 50)], 3, 3), "asin": (m.asin, [(-1, 1)], 2, 2),
    "asinh": (m.asinh, [(-50, 50)], 3, 3), "atan": (m.atan, [(-50, 50)], 2, 2), "atanh": (m.atanh, [(-1, 1)], 3, 3),
    "atan2": (m.atan2, [(-3, 3), (-3, 3)], 2, 2), "cbrt": (m.cbrt, [(0.01, 99)], 3, 3), "cos": (m.cos, [(-9, 9)], 2, 3),
    "cosh": (m.cosh, [(-9, 9)], 3, 3), "cospi": (m.cospi, [(-9, 9)], 3, 1), "sinpi": (m.sinpi, [(-9, 9)], 3, 1),
    "erf": (m.erf, [(-4, 4)], 3, 3), "erfc": (m.erfc, [(-4, 20)], 6, 6), "exp": (m.exp, [(-80, 80)], 2, 2),
    "exp10": (lambda x: m.mpf(10) ** x, [(-30, 30)], 2, 1), "exp2": (lambda x: m.mpf(2) ** x, [(-99, 99)], 2, 2),
    "expm1": (m.expm1, [(-3, 3)], 3, 3), "log": (m.log, [(0.01, 50)], 2, 2), "log10": (m.log10, [(0.01, 50)], 3, 3),
    "log1p": (m.log1p, [(-0.9, 50)], 3, 3), "log2": (lambda x: m.log(x, 2), [(0.01, 50)], 2, 2),
    "pow": (m.power, [(0.01, 50), (-20, 20)], 2, 2), "rsqrt": (lambda x: 1 / m.sqrt(x), [(0.01, 50)], 2, 2),
    "sin": (m.sin, [(-9, 9)], 2, 3), "sinh": (m.sinh, [(-9, 9)], 3, 3), "tan": (m.tan, [(-1.5, 1.5)], 3, 3),
    "tanh": (m.tanh, [(-5, 5)], 3, 4), "rcbrt": (lambda x: 1 / m.cbrt(x), [(0.01, 99)], 3, 1),
    "hypot": (m.hypot, [(-9, 9), (-9, 9)], 2, 1), "rhypot": (lambda x, y: 1 / m.hypot(x, y), [(-9, 9), (-9, 9)], 3, 1),
    "norm3d": (lambda *v: m.sqrt(m.fsum(x * x for x in v)), [(-9, 9)] * 3, 3, 1),
    "norm4d": (lambda *v: m.sqrt(m.fsum(x * x for x in v)), [(-9, 9)] * 4, 3, 1),
    "rnorm3d": (lambda *v: 1 / m.sqrt(m.fsum(x * x for x in v)), [(-9, 9)] * 3, 3, 1),
    "rnorm4d": (lambda *v: 1 / m.sqrt(m.fsum(x * x for x in v)), [(-9, 9)] * 4, 3, 1),
    "fma": (lambda x, y, z: x * y + z, [(-9, 9)] * 3, 1, 1), "rsqrt_rn": (lambda x: 1 / m.sqrt(x), [(1e-9, 1e9)], 0.5, 0.5),
    "erfcx": (lambda x: m.exp(x * x) * m.erfc(x), [(-5, 40)], 8, 1), "erfinv": (m.erfinv, [(-1, 1)], 8, 1),
    "erfcinv": (lambda q: m.erfinv(1 - q), [(0.001, 1.999)], 8, 1), "normcdf": (m.ncdf, [(-30, 5)], 8, 1),
    "normcdfinv": (lambda p: -m.sqrt(2) * m.erfinv(1 - 2 * p), [(1e-9, 0.4)], 8, 1),
    "tgamma": (m.gamma, [(-15.9, 30)], 48, 1), "lgamma": (lambda x: m.log(abs(m.gamma(x))), [(0.001, 60)], 8, 1),
    "cyl_bessel_i0": (lambda x: m.besseli(0, x), [(-50, 50)], 8, 1), "cyl_bessel_i1": (lambda x: m.besseli(1, x), [(-50, 50)], 8, 1),
    "fast_cosf": (m.cos, [(-3, 3)], 1e9, 64), "fast_sinf": (m.sin, [(-3, 3)], 1e9, 64), "fast_tanf": (m.tan, [(-1.2, 1.2)], 1e9, 64),
    "fast_expf": (m.exp, [(-9, 9)], 1e9, 64), "fast_exp10f": (lambda x: m.mpf(10) ** x, [(-9, 9)], 1e9, 64),
    "fast_logf": (m.log, [(1.1, 9)], 1e9, 64), "fast_log2f": (lambda x: m.log(x, 2), [(1.1, 9)], 1e9, 64),
    "fast_log10f": (m.log10, [(1.1, 9)], 1e9, 64), "fast_powf": (m.power, [(0.5, 9), (-5, 5)], 1e9, 64),
    "fast_tanhf": (m.tanh, [(-3, 3)], 1e9, 64), "fast_dividef": (lambda x, y: x / y, [(-9, 9), (1, 9)], 1e9, 3),
}  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(target, name, dtype):
    oracle, domain, wide, narrow = FUNCTIONS[name]
    if not any(NUMPY[ops[0].name] is dtype and ops[-1].is_floating() for ops, _ in SIGNATURES[name]):
        return
    rng = np.random.default_rng(21)
    args = [rng.uniform(*ends, N).astype(dtype) for ends in domain]
    args = [np.where(np.abs(a) == 1, dtype(0.5), a) for a in args]
    got = computed(name, *args)
    worst = max(
        (ulps(g, oracle(*(m.mpf(float(a[i])) for a in args)), dtype), *(float(a[i]) for a in args), float(g))
        for i, g in enumerate(got)
    )
    bound = wide if dtype is np.float64 else narrow
    assert worst[0] <= bound * (1 if target == "cpu" else 2), worst


BESSEL = {
    "j0": lambda x: m.besselj(0, x), "j1": lambda x: m.besselj(1, x), "y0": lambda x: m.bessely(0, x), "y1": lambda x: m.bessely(1, x),
}  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", BESSEL)
def test_bessel(name, dtype):
    rng = np.random.default_rng(22)
    x = np.concatenate(
        [rng.uniform(0.01, 30, N // 2), rng.uniform(0, 1, N // 4) * 3, 2.0 ** rng.uniform(4, 13, N // 4)]
    )
    x = x.astype(dtype)
    for value, got in zip(x, computed(name, x), strict=True):
        expected = BESSEL[name](m.mpf(float(value)))
        bound = (4e-15 if dtype is np.float64 else 6e-8) * max(1, abs(expected))
        assert abs(m.mpf(float(got)) - expected) <= bound, (value, got, expected)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", ["jn", "yn"])
def test_bessel_of_order(name, dtype):
    rng = np.random.default_rng(23)
    x = rng.uniform(0.05, 60, N).astype(dtype)
    n = rng.integers(0, 40, N).astype(np.int32)
    x[:3] = [1e-9, 3.0, 25.0]
    oracle = m.besselj if name == "jn" else m.bessely
    for order, value, got in zip(n, x, computed(name, n, x), strict=True):
        expected = oracle(int(order), m.mpf(float(value)))
        if abs(expected) > np.finfo(dtype).max:
            assert np.isinf(got)
            continue
        bound = (1e-13 if dtype is np.float64 else 1e-7) * max(1, abs(expected))
        assert abs(m.mpf(float(got)) - expected) <= bound, (order, value, got, expected)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_power_with_integer(dtype):
    rng = np.random.default_rng(24)
    x, n = rng.uniform(-3, 3, N).astype(dtype), rng.integers(-9, 9, N).astype(np.int32)
    for value, k, got in zip(x, n, computed("pow", x, n), strict=True):
        assert ulps(got, m.mpf(float(value)) ** int(k), dtype) <= 2


ENDS: dict[str, list[tuple[float, float]]] = {
    "erfinv": [(1, np.inf), (-1, -np.inf), (0, 0), (1.5, np.nan), (np.nan, np.nan)],
    "erfcinv": [(0, np.inf), (2, -np.inf), (1, 0), (-1, np.nan), (3, np.nan)],
    "erfcx": [(np.inf, 0), (-np.inf, np.inf), (0, 1), (np.nan, np.nan)],
    "normcdf": [(np.inf, 1), (-np.inf, 0), (0, 0.5)],
    "normcdfinv": [(0, -np.inf), (1, np.inf), (0.5, 0)],
    "tgamma": [(0, np.inf), (1, 1), (2, 1), (5, 24), (-1, np.nan), (172, np.inf), (np.inf, np.inf)],
    "lgamma": [(0, np.inf), (1, 0), (2, 0), (-1, np.inf), (np.inf, np.inf), (-np.inf, np.inf)],
    "j0": [(0, 1), (np.inf, 0), (np.nan, np.nan)],
    "j1": [(0, 0), (np.inf, 0)],
    "y0": [(0, -np.inf), (-1, np.nan), (np.inf, 0)],
    "y1": [(0, -np.inf), (-1, np.nan), (np.inf, 0)],
    "cyl_bessel_i0": [(0, 1), (np.inf, np.inf), (-np.inf, np.inf)],
    "cyl_bessel_i1": [(0, 0), (np.inf, np.inf), (-np.inf, -np.inf)],
    "sinpi": [(1, 0), (0.5, 1), (-0.5, -1), (1e15, 0), (np.inf, np.nan)],
    "cospi": [(1, -1), (0.5, 0), (2, 1), (1e15, 1), (np.inf, np.nan)],
    "rcp64h": [(2, 0.5), (-4, -0.25), (0, np.inf), (np.inf, 0)],
}


@pytest.mark.parametrize("name", ENDS)
def test_ends(name):
    x = np.array([v for v, _ in ENDS[name]] * N, np.float64)[:N]
    got = computed(name, x)
    np.testing.assert_allclose(got[: len(ENDS[name])], [v for _, v in ENDS[name]], rtol=1e-15, atol=0)


def test_lengths_at_the_ends():
    x = np.array([1e300, 5e-324, np.inf, np.nan] * 32)
    y = np.array([1e300, 5e-324, np.nan, 1.0] * 32)
    np.testing.assert_allclose(computed("hypot", x, y)[:4], np.hypot(x, y)[:4], rtol=1e-15)


def test_rcp64h():
    x = floats(np.float64, 8, spread=900)
    x = np.where(x == 0, 3.0, x)
    got = computed("rcp64h", x)
    assert not (got.view(np.int64) & 0xFFFFFFFF).any()
    np.testing.assert_allclose(got, 1 / x, rtol=2.0**-20)


def test_every_name_is_tested():
    tested = {
        *FUNCTIONS,
        *BESSEL,
        *EXACT,
        *INTEGER_ORACLES,
        *ENDS,
        "jn",
        "yn",
        "ldexp",
        "scalbn",
        "logb",
        "ilogb",
    }
    tested |= {"llrint", "llround", "rcp64h", "hiloint2double", "longlong_as_double", "double_as_longlong"}
    tested |= {n for n in SIGNATURES if n.endswith(("_rn", "_rd", "_ru", "_rz"))}
    tested |= {
        "float_as_int",
        "float_as_uint",
        "int_as_float",
        "uint_as_float",
        "double2hiint",
        "double2loint",
    }
    assert tested >= set(SIGNATURES)


@tri.jit
def wrong(x):
    tl.store(x, libdevice.j0(tl.load(x)))


def test_wrong_type():
    from tri_core.errors import CompilationError

    with pytest.raises(
        CompilationError, match=r"libdevice.j0 takes \(fp32\) or \(fp64\), got \(fp16\)"
    ) as caught:
        wrong[(1,)](np.ones(1, np.float16))
    assert "cast" in str(caught.value)
    assert "test_libdevice.py" in str(caught.value)
