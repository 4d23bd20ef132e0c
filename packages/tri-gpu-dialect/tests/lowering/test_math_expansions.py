from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tri_gpu_dialect.encodings import Blocked
from tri_gpu_dialect.testing import TensorSpec, kernel, run

Array = npt.NDArray[Any]
RNG = np.random.default_rng(3)
SIZE = 1 << 13
ENCODING = Blocked((1,), (32,), (4,), (0,))
SPECIAL = [
    0.0,
    -0.0,
    math.inf,
    -math.inf,
    math.nan,
    1.0,
    -1.0,
    1e-45,
    -1e-45,
    1.1754944e-38,
    3.4028235e38,
    -3.4028235e38,
    0.5,
    2.0,
]

#: function, float64 oracle, bound in ulp
UNARY: list[tuple[str, Callable[[Array], Array], float]] = [
    ("exp", np.exp, 2),
    ("exp2", np.exp2, 2),
    ("expm1", np.expm1, 2),
    ("log", np.log, 2),
    ("log2", np.log2, 2),
    ("log10", np.log10, 2),
    ("log1p", np.log1p, 2),
    ("sin", np.sin, 2),
    ("cos", np.cos, 2),
    ("tan", np.tan, 4),
    ("tanh", np.tanh, 2),
    ("erf", np.vectorize(math.erf), 2),
    ("rsqrt", lambda x: 1 / np.sqrt(x), 2),
]


def evaluate(name: str, *arguments: Array) -> Array:
    spec = TensorSpec("f32", (SIZE,), ENCODING)
    names = ", ".join(f"%in{i}" for i in range(len(arguments)))
    body = f"%out0 = math.{name} {names} : {spec.type}"
    result = np.zeros(SIZE, np.float32)
    run(kernel([spec] * len(arguments), [spec], body, warps=4, lanes=32), [*arguments, result])
    return result


def ulp_errors(found: Array, exact: Array) -> Array:
    """Distances in units of the last place of the exact result; 0 where both are the same special value."""
    with np.errstate(all="ignore"):
        rounded = exact.astype(np.float32)
        size = np.abs(np.where(np.isfinite(rounded), rounded, np.float32(3.4028235e38)))
        unit = np.maximum(np.spacing(size), np.float32(1e-45)).astype(np.float64)
        error = np.abs(found.astype(np.float64) - exact) / unit
    same = (np.isnan(found) & np.isnan(exact)) | (found == rounded)
    return np.where(
        same,
        np.where(np.isfinite(error), np.minimum(error, 0.5), 0),
        np.where(np.isnan(error), np.inf, error),
    )


def samples(scale: str) -> Array:
    match scale:
        case "bits":  # every exponent
            x = RNG.integers(0, 1 << 32, SIZE, dtype=np.uint32).view(np.float32)
        case "unit":
            x = RNG.uniform(-2, 2, SIZE).astype(np.float32)
        case "near one":
            x = (1 + RNG.standard_normal(SIZE) * 1e-3).astype(np.float32)
        case _:
            x = RNG.uniform(-110, 110, SIZE).astype(np.float32)
    x[: len(SPECIAL)] = SPECIAL
    return np.ascontiguousarray(x)


@pytest.mark.parametrize("scale", ["bits", "unit", "near one", "wide"])
@pytest.mark.parametrize(("name", "oracle", "bound"), UNARY, ids=[u[0] for u in UNARY])
def test_functions_of_one_argument(
    name: str, oracle: Callable[[Array], Array], bound: float, scale: str
) -> None:
    x = samples(scale)
    with np.errstate(all="ignore"):
        exact = oracle(x.astype(np.float64))
    errors = ulp_errors(evaluate(name, x), exact)
    worst = int(errors.argmax())
    assert errors[worst] <= bound, f"{name}({x[worst]!r}) is off by {errors[worst]} ulp"


def test_sines_of_multiples_of_pi() -> None:
    x = (np.arange(SIZE) * (math.pi / 2) * np.exp2(RNG.integers(0, 90, SIZE))).astype(np.float32)
    for name, oracle in (("sin", np.sin), ("cos", np.cos)):
        assert ulp_errors(evaluate(name, x), oracle(x.astype(np.float64))).max() <= 2


@pytest.mark.parametrize("kind", ["moderate", "bits", "special", "near one"])
def test_powers(kind: str) -> None:
    x, y = samples("bits"), samples("bits")
    if kind == "moderate":
        x = np.exp(RNG.uniform(-10, 10, SIZE)).astype(np.float32)
        y = RNG.uniform(-15, 15, SIZE).astype(np.float32)
    elif kind == "near one":
        x = samples("near one")
        y = (RNG.standard_normal(SIZE) * 3e4).astype(np.float32)
    elif kind == "special":
        values = np.array([*SPECIAL, 3.0, -3.0, -2.0, -0.5, 16777216.0, 1e10, 0.75], np.float32)
        pairs = np.stack(np.meshgrid(values, values), -1).reshape(-1, 2)
        x, y = (np.resize(pairs[:, i], SIZE) for i in (0, 1))
        x, y = np.ascontiguousarray(x), np.ascontiguousarray(y)
    with np.errstate(all="ignore"):
        exact = np.power(x.astype(np.float64), y.astype(np.float64))
    errors = ulp_errors(evaluate("powf", x, y), exact)
    worst = int(errors.argmax())
    assert errors[worst] <= 2, f"pow({x[worst]!r}, {y[worst]!r}) is off by {errors[worst]} ulp"


def test_zeros_keep_their_sign() -> None:
    x = np.full(SIZE, -0.0, np.float32)
    for name in ("sin", "tan", "tanh", "erf", "expm1", "log1p"):
        assert np.signbit(evaluate(name, x)).all(), name
