"""Elementary functions against results of twice the precision, over random bits, ranges and edges."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cpu_support import Kernel

Array = npt.NDArray[Any]
EDGES = [
    0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 4.0, 8.0, math.inf, -math.inf, math.nan, 88.7, 89.5, -87.4, -103.9, -104.5,
    1e-40, -1e-40, 1e30, 127.0, 128.0, -126.5, -149.0, -151.0, 3.1415927, 1e9, -1e12, 709.9, -745.0,
]  # fmt: skip

#: reference in the wider type; error allowed in units of the last place
FUNCTIONS: dict[str, tuple[Callable[[Array], Array], float]] = {
    "exp": (np.exp, 1.2),
    "exp2": (np.exp2, 1.2),
    "log": (np.log, 1.2),
    "log2": (np.log2, 1.7),
    "sin": (np.sin, 1.6),
    "cos": (np.cos, 1.6),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 1.6),
    "tanh": (np.tanh, 2.0),
    "erf": (np.vectorize(math.erf, otypes=[np.float64]), 2.0),
}


def inputs(kind: Any, rng: np.random.Generator) -> Array:
    bits = np.dtype(kind).itemsize * 8
    raw = rng.integers(0, 2**bits, 1 << 14, dtype=np.dtype(f"u{bits // 8}"), endpoint=False).view(kind)
    parts = [raw, *(rng.uniform(-s, s, 1 << 13).astype(kind) for s in (1.0, 20.0, 110.0, 1000.0))]
    with np.errstate(over="ignore"):
        x = np.concatenate([*parts, np.array(EDGES, kind)])
    return np.concatenate([x, np.zeros(-len(x) % 64, kind)])


def evaluate(name: str, x: Array, width: int) -> Array:
    """``math.name`` of ``x``, in blocks of 64 elements (0: element by element, as scalars)."""
    dtype = f"f{x.itemsize * 8}"
    k = Kernel({"x": f"*{dtype}", "o": f"*{dtype}"})
    start = k.program_id()
    if width:
        start = k.mul(start, k.constant(width, "i32"))
        index = k.add(k.splat(start, (width,)), k.range(width))
    else:
        index = start
    k.store(k.offsets("o", index), k.same(f"math.{name}", k.load(k.offsets("x", index))))
    out = np.empty_like(x)
    k.run(x, out, grid=(len(x) // max(width, 1),))
    return out


def errors(got: Array, exact: Array) -> Array:
    """In units in the last place of the result; infinite where one is finite, infinite or NaN and the other is not."""
    kind = got.dtype.type
    with np.errstate(all="ignore"):
        rounded = exact.astype(kind)
        unit = np.spacing(np.maximum(np.abs(rounded), np.finfo(kind).tiny)).astype(exact.dtype)
        error = np.abs(got.astype(exact.dtype) - exact) / unit
    same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    wrong = np.where(np.isfinite(got) & np.isfinite(rounded), error, np.inf)
    return np.where(same, 0, wrong)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("kind", "wider"), [(np.float32, np.float64), (np.float64, np.longdouble)])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_error(name: str, kind: Any, wider: Any, rng: np.random.Generator) -> None:
    reference, allowed = FUNCTIONS[name]
    x = inputs(kind, rng)
    got = evaluate(name, x, 64)
    exact = np.asarray(reference(x.astype(wider))).astype(wider)
    error = errors(got, exact)
    worst = int(np.argmax(error))
    assert error[worst] <= allowed, f"{name}({x[worst]!r}) is {got[worst]!r}, not {exact[worst]!r}"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_scalars_give_what_vectors_give(name: str, rng: np.random.Generator) -> None:
    x = np.concatenate([np.array(EDGES, np.float32), rng.uniform(-5, 5, 64 - len(EDGES)).astype(np.float32)])
    np.testing.assert_array_equal(evaluate(name, x, 0), evaluate(name, x, 64))


@pytest.mark.parametrize("name", ["sin", "tanh", "erf", "exp"])
def test_signs_of_zero(name: str) -> None:
    x = np.array([0.0, -0.0] * 32, np.float32)
    got = evaluate(name, x, 64)
    expected = np.ones_like(x) if name == "exp" else x
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(expected))


@pytest.mark.parametrize("name", ["exp2", "log2"])
def test_powers_of_two_are_exact(name: str) -> None:
    powers = np.arange(-126, 130 - 2, 1).astype(np.float32)[:192]
    x = powers if name == "exp2" else np.exp2(powers)
    expected = np.exp2(powers) if name == "exp2" else powers
    np.testing.assert_array_equal(evaluate(name, x, 64), expected)


LIBRARY = {
    "tan": np.tan, "atan": np.arctan, "asin": np.arcsin, "acos": np.arccos, "sinh": np.sinh, "cosh": np.cosh,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "expm1": np.expm1, "log1p": np.log1p,
    "log10": np.log10, "cbrt": np.cbrt,
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", LIBRARY)
def test_functions_of_the_c_library(name: str, rng: np.random.Generator) -> None:
    x = rng.uniform(-3, 3, 128).astype(np.float32)
    exact = LIBRARY[name](x.astype(np.float64))
    assert errors(evaluate(name, x, 64), exact).max() <= 4


def test_powers(rng: np.random.Generator) -> None:
    x, y = rng.uniform(0.1, 5, 64).astype(np.float32), rng.uniform(-4, 4, 64).astype(np.float32)
    k = Kernel({"x": "*f32", "y": "*f32", "o": "*f32"})
    k.write("o", k.same("math.powf", k.read("x", 64), k.read("y", 64)))
    out = np.empty_like(x)
    k.run(x, y, out)
    assert errors(out, x.astype(np.float64) ** y).max() <= 1


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_division_by_one_number(kind: Any, rng: np.random.Generator) -> None:
    """Divisors that are the same in all lanes go another way than others: exact, but near the smallest numbers."""
    dtype = f"f{np.dtype(kind).itemsize * 8}"
    x = inputs(kind, rng)[: 1 << 14]
    k = Kernel({"x": f"*{dtype}", "d": f"*{dtype}", "o": f"*{dtype}"})
    index = k.add(k.splat(k.mul(k.program_id(), k.constant(64, "i32")), (64,)), k.range(64))
    divisor = k.splat(k.load(k["d"]), (64,))
    k.store(k.offsets("o", index), k.same("arith.divf", k.load(k.offsets("x", index)), divisor))
    launch = k.launch()
    out = np.empty_like(x)
    numbers = [
        3.0,
        -0.7,
        1e-3,
        12345.678,
        1e30,
        1e-38,
        1e-42,
        0.0,
        -0.0,
        np.inf,
        np.nan,
        *rng.uniform(0.5, 2, 20),
    ]
    for number in numbers:
        d = np.full(1, number, kind)
        launch((len(x) // 64, 1, 1), None, [x.ctypes.data, d.ctypes.data, out.ctypes.data])
        exact = x / d[0]
        tiny, places = np.finfo(kind).tiny, 2.0 ** (np.finfo(kind).nmant + 2)
        inexact = (np.abs(exact) < tiny * places) | (np.abs(x) < tiny * places)
        np.testing.assert_array_equal(out[~inexact], exact[~inexact], err_msg=f"divisor {number}")
        np.testing.assert_array_max_ulp(np.nan_to_num(out[inexact]), np.nan_to_num(exact[inexact]), 1)
