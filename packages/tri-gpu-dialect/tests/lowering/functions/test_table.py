"""Every function of every format keeps to its bound, on wavefronts of both sizes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tri_gpu_dialect.encodings import Blocked
from tri_gpu_dialect.lowering.functions import BOUNDS, function
from tri_gpu_dialect.testing import TensorSpec, kernel, run
from tri_gpu_dialect.testing.math_oracle import KINDS, arguments, exact, special_arguments, ulp_errors

Array = npt.NDArray[Any]
RNG = np.random.default_rng(12)
SIZE = 512
#: those of f32 that are not here have their tests in test_math_expansions
F32 = ("asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "erfc", "cbrt", "round")
UNARY = [(n, w) for n, w in BOUNDS if n not in ("powf", "atan2") and (w == 64 or n in F32)]
ODD = (
    "sin",
    "tan",
    "asin",
    "atan",
    "sinh",
    "tanh",
    "asinh",
    "atanh",
    "erf",
    "cbrt",
    "round",
    "expm1",
    "log1p",
)


def evaluate(name: str, *columns: Array, lanes: int = 32) -> Array:
    width = columns[0].dtype.itemsize * 8
    spec = TensorSpec(f"f{width}", columns[0].shape, Blocked((1,), (lanes,), (4,), (0,)))
    names = ", ".join(f"%in{i}" for i in range(len(columns)))
    made = np.zeros_like(columns[0])
    body = f"%out0 = math.{name} {names} : {spec.type}"
    run(kernel([spec] * len(columns), [spec], body, warps=4, lanes=lanes), [*columns, made])
    return made


def check(name: str, *columns: Array, lanes: int = 32) -> None:
    found = evaluate(name, *columns, lanes=lanes)
    errors = ulp_errors(found, exact(name, *columns))
    worst = int(errors.argmax())
    shown = ", ".join(repr(c[worst]) for c in columns)
    bound = BOUNDS[name, found.dtype.itemsize * 8]
    assert errors[worst] <= bound, f"{name}({shown}) is {found[worst]!r}, off by {errors[worst]} ulp"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "width"), UNARY)
def test_bounds(name: str, width: int, kind: str) -> None:
    check(name, arguments(RNG, name, width, kind, SIZE), lanes=64 if width == 64 else 32)


def test_every_function_has_both_formats_and_a_bound() -> None:
    names = {name for name, _ in BOUNDS}
    assert all(function(name, width) for name in names for width in (32, 64))
    assert function("exp", 16) is None
    assert function("gamma", 64) is None


#: doubles nearest to multiples of pi / 2 (the first as found by Kahan's program), and those around the reductions' ends
HARD_ANGLES = [
    5.319372648326541e255,
    6381956970095103 * 2.0**797,
    2.0**20,
    np.nextafter(2.0**20, 0),
    2.0**1023,
    1.7976931348623157e308,
    math.pi,
    math.pi / 2,
    355.0,
    1e22,
    9343.096551776045,
    382017.66667651886,
]


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_hard_angles(name: str) -> None:
    multiples = np.arange(1, SIZE + 1) * (math.pi / 2) * 2.0 ** RNG.integers(0, 1000, SIZE)
    multiples[: len(HARD_ANGLES)] = HARD_ANGLES
    check(name, multiples)


@pytest.mark.parametrize("kind", ["moderate", "bits", "near one", "edge"])
def test_powers(kind: str) -> None:
    x, y = (arguments(RNG, "powf", 64, "bits", SIZE) for _ in range(2))
    if kind == "moderate":
        x, y = np.exp(RNG.uniform(-30, 30, SIZE)), RNG.uniform(-24, 24, SIZE)
    elif kind == "near one":
        x, y = 1 + RNG.standard_normal(SIZE) * 1e-3, RNG.standard_normal(SIZE) * 3e5
    elif kind == "edge":  # results that are subnormal, or nearly overflow
        x = np.exp(RNG.uniform(1, 30, SIZE))
        y = RNG.choice([-1073.0, -1030.0, 1023.9], SIZE) / np.log2(x)
    check("powf", np.abs(x), y)


@pytest.mark.parametrize("width", [32, 64])
@pytest.mark.parametrize("kind", ["bits", "unit", "alike"])
def test_angles_of_points(width: int, kind: str) -> None:
    y, x = (arguments(RNG, "atan2", width, "unit" if kind == "alike" else kind, SIZE) for _ in range(2))
    if kind == "alike":
        y = (x * (1 + 0.3 * RNG.standard_normal(SIZE))).astype(x.dtype)
    check("atan2", y, x)


@pytest.mark.parametrize("width", [32, 64])
@pytest.mark.parametrize("name", ["powf", "atan2"])
def test_special_pairs(name: str, width: int) -> None:
    values = special_arguments(width)
    x, y = (np.ascontiguousarray(np.resize(g.ravel(), SIZE)) for g in np.meshgrid(values, values))
    found = evaluate(name, x, y)
    with np.errstate(all="ignore"):
        expected = (np.power if name == "powf" else np.arctan2)(x, y)
    np.testing.assert_allclose(found, expected, rtol=4 * np.finfo(x.dtype).eps)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(expected[numbers]))


#: results at 0, infinity, -infinity
LIMITS: dict[str, tuple[float, float, float]] = {
    "exp": (1, math.inf, 0),
    "exp2": (1, math.inf, 0),
    "expm1": (0, math.inf, -1),
    "log": (-math.inf, math.inf, math.nan),
    "log2": (-math.inf, math.inf, math.nan),
    "log10": (-math.inf, math.inf, math.nan),
    "log1p": (0, math.inf, math.nan),
    "rsqrt": (math.inf, 0, math.nan),
    "sin": (0, math.nan, math.nan),
    "cos": (1, math.nan, math.nan),
    "tan": (0, math.nan, math.nan),
    "asin": (0, math.nan, math.nan),
    "acos": (math.pi / 2, math.nan, math.nan),
    "atan": (0, math.pi / 2, -math.pi / 2),
    "sinh": (0, math.inf, -math.inf),
    "cosh": (1, math.inf, math.inf),
    "tanh": (0, 1, -1),
    "asinh": (0, math.inf, -math.inf),
    "acosh": (math.nan, math.inf, math.nan),
    "atanh": (0, math.nan, math.nan),
    "erf": (0, 1, -1),
    "erfc": (1, 0, 2),
    "cbrt": (0, math.inf, -math.inf),
    "round": (0, math.inf, -math.inf),
}


@pytest.mark.parametrize(("name", "width"), UNARY)
def test_special_values(name: str, width: int) -> None:
    dtype = np.float32 if width == 32 else np.float64
    x = np.resize(np.array([0.0, math.inf, -math.inf, math.nan, -0.0], dtype), SIZE)
    found = evaluate(name, x)
    expected = np.array([*LIMITS[name], math.nan]).astype(dtype)
    np.testing.assert_array_equal(found[:4], expected)
    if name in ODD:
        assert not np.signbit(found[0])
        assert np.signbit(found[4])


@pytest.mark.parametrize("width", [32, 64])
def test_ends_of_domains(width: int) -> None:
    dtype = np.float32 if width == 32 else np.float64
    x = np.resize(np.array([1, -1, np.nextafter(dtype(1), dtype(2)), -1.5, 0.5], dtype), SIZE)
    inf, nan = math.inf, math.nan
    np.testing.assert_array_equal(evaluate("atanh", x)[:4], [inf, -inf, nan, nan])
    np.testing.assert_array_equal(np.isnan(evaluate("asin", x)[:5]), [False, False, True, True, False])
    np.testing.assert_array_equal(np.isnan(evaluate("acos", x)[:5]), [False, False, True, True, False])
    np.testing.assert_array_equal(np.isnan(evaluate("acosh", x)[:5]), [False, True, False, True, True])
    assert evaluate("acos", x)[0] == 0
    assert evaluate("acosh", x)[0] == 0
