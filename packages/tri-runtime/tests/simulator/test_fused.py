from __future__ import annotations

import ctypes
import ctypes.util
import math
from fractions import Fraction

import numpy as np
import pytest

from tri_runtime.simulator.fused import fma_f64

RNG = np.random.default_rng(8)
SIZE = 4000


def exact(x: float, y: float, z: float) -> float:
    """The oracle: a fraction, rounded once."""
    if not all(map(math.isfinite, (x, y, z))):
        return x * y + z
    value = Fraction(x) * Fraction(y) + Fraction(z)
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def bits(count: int) -> np.ndarray:
    return RNG.integers(0, 1 << 64, count, dtype=np.uint64).view(np.float64)


@pytest.mark.parametrize("kind", ["like", "cancelling", "bits", "tiny", "huge"])
def test_rounded_once(kind: str) -> None:
    x, y, z = (RNG.standard_normal(SIZE) for _ in range(3))
    if kind == "cancelling":
        z = -x * y * (1 + RNG.integers(-2, 3, SIZE) * 2.0**-52)
    elif kind == "bits":
        x, y, z = bits(SIZE), bits(SIZE), bits(SIZE)
    elif kind == "tiny":
        x, y, z = x * 2.0**-530, y * 2.0**-520, z * 2.0 ** RNG.integers(-1074, -1000, SIZE)
    elif kind == "huge":
        x, y, z = x * 2.0**520, y * 2.0**503, z * 2.0**1020
    expected = np.array([exact(*map(float, t)) for t in zip(x, y, z, strict=True)])
    np.testing.assert_array_equal(fma_f64(x, y, z), expected)


def test_special_values() -> None:
    values = np.array([0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 5e-324, -5e-324, 1.7e308, 2.0])
    x, y, z = (np.ascontiguousarray(g.ravel()) for g in np.meshgrid(values, values, values))
    found = fma_f64(x, y, z)
    libm = ctypes.util.find_library("m")
    if libm is None:
        pytest.skip("no C library with fma")
    fma = ctypes.CDLL(libm).fma
    fma.restype, fma.argtypes = ctypes.c_double, [ctypes.c_double] * 3
    expected = np.array([fma(*map(float, t)) for t in zip(x, y, z, strict=True)])
    np.testing.assert_array_equal(found, expected)
    zero = expected == 0
    np.testing.assert_array_equal(np.signbit(found[zero]), np.signbit(expected[zero]))
