"""Conversions between all number types, against tables made from the formats' definitions."""

from __future__ import annotations

import numpy as np
import pytest

from cpu_support import NUMPY, Kernel
from narrow_floats import FORMATS, Array, bits_of, decoded, nearest

NARROW = list(FORMATS)


def cast(x: Array, source: str, target: str, op: str, attributes: str = "") -> Array:
    n = len(x)
    k = Kernel({"x": f"*{source}", "o": f"*{target}"})
    k.write("o", k.convert(op, k.read("x", n), target, attributes))
    out = np.empty(n, NUMPY[target])
    k.run(x, out)
    return out


@pytest.mark.parametrize("wide", ["f32", "f64"])
@pytest.mark.parametrize("name", NARROW)
def test_every_pattern_widens_exactly(name: str, wide: str) -> None:
    patterns = np.arange(len(decoded(name))).astype(bits_of(name))
    got = cast(patterns.view(NUMPY[name]), name, wide, "tt.fp_to_fp")
    np.testing.assert_array_equal(got, decoded(name).astype(NUMPY[wide]))
    numbers = ~np.isnan(got)
    np.testing.assert_array_equal(np.signbit(got[numbers]), np.signbit(decoded(name)[numbers]))


def candidates(name: str, dtype: str, rng: np.random.Generator) -> Array:
    """Numbers of ``name``, their midpoints, both nudged, and random ones: as ``dtype``, 4096 of them."""
    kind = NUMPY[dtype]
    with np.errstate(invalid="ignore"):
        table = decoded(name)
        numbers = np.sort(table[np.isfinite(table)])
        middles = (numbers[1:] + numbers[:-1]) / 2
        exact = rng.choice(
            np.concatenate([numbers, middles, numbers[-3:] * 1.0625, numbers[-1:] * 2]), 1024
        ).astype(kind)
        random = (rng.standard_normal(1020) * 2.0 ** rng.integers(-30, 20, 1020)).astype(kind)
        edges = np.array([np.inf, -np.inf, np.finfo(kind).max, np.finfo(kind).smallest_subnormal], kind)
        up, down = np.nextafter(exact, kind(np.inf)), np.nextafter(exact, kind(-np.inf))
    return np.concatenate([exact, up, down, random, edges])


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("toward_zero", [False, True])
@pytest.mark.parametrize("wide", ["f32", "f64"])
@pytest.mark.parametrize("name", NARROW)
def test_narrowing_rounds_correctly(
    name: str, wide: str, toward_zero: bool, rng: np.random.Generator
) -> None:
    x = candidates(name, wide, rng)
    attributes = f"rounding = {0 if toward_zero else 1} : i32"
    got = cast(x, wide, name, "tt.fp_to_fp", attributes).view(bits_of(name))
    width = 1 + sum(FORMATS[name][:2])
    expected = nearest(x.astype(np.float64), name, toward_zero)
    signed = expected | (np.signbit(x).astype(np.int64) << (width - 1))
    if FORMATS[name][3] == "fnuz":
        signed = np.where(expected == 0, 0, signed)  # there is no -0
    np.testing.assert_array_equal(got, signed.astype(bits_of(name)))


@pytest.mark.parametrize("wide", ["f32", "f64"])
@pytest.mark.parametrize("name", NARROW)
def test_nan_stays_nan(name: str, wide: str) -> None:
    x = np.full(64, np.nan, NUMPY[wide])
    x[::2] *= -1
    got = cast(x, wide, name, "tt.fp_to_fp", "rounding = 1 : i32").view(bits_of(name))
    assert np.isnan(decoded(name)[got]).all()


@pytest.mark.parametrize("dtype", ["i8", "i16", "i32", "i64"])
@pytest.mark.parametrize("source", ["f16", "f32", "f64"])
@pytest.mark.parametrize("signed", [True, False])
def test_float_to_integer_saturates(source: str, dtype: str, signed: bool, rng: np.random.Generator) -> None:
    kind = NUMPY[source]
    with np.errstate(over="ignore"):
        x = (rng.standard_normal(256) * 2.0 ** rng.integers(-3, 70, 256)).astype(kind)
    x[:6] = [np.inf, -np.inf, np.nan, 0.99, -0.99, -1.0]
    info = np.iinfo(NUMPY[dtype] if signed else np.dtype(NUMPY[dtype]).str.replace("i", "u"))
    exact = [
        0 if np.isnan(v) else info.max if v == np.inf else info.min if v == -np.inf else int(v)
        for v in x.astype(float)
    ]
    expected = np.array([min(max(v, info.min), info.max) for v in exact], info.dtype)
    got = cast(x, source, dtype, "arith.fptosi" if signed else "arith.fptoui")
    np.testing.assert_array_equal(got.view(info.dtype), expected)


@pytest.mark.parametrize("dtype", ["i8", "i32", "i64"])
@pytest.mark.parametrize("target", ["f32", "f64"])
def test_integer_to_float(dtype: str, target: str, rng: np.random.Generator) -> None:
    info = np.iinfo(NUMPY[dtype])
    x = rng.integers(info.min, info.max, 64, dtype=info.dtype, endpoint=True)
    np.testing.assert_array_equal(cast(x, dtype, target, "arith.sitofp"), x.astype(NUMPY[target]))
    unsigned = x.view(np.dtype(info.dtype.str.replace("i", "u")))
    np.testing.assert_array_equal(cast(x, dtype, target, "arith.uitofp"), unsigned.astype(NUMPY[target]))


def test_integer_widths(rng: np.random.Generator) -> None:
    x = rng.integers(-128, 127, 64, dtype=np.int8, endpoint=True)
    np.testing.assert_array_equal(cast(x, "i8", "i64", "arith.extsi"), x.astype(np.int64))
    np.testing.assert_array_equal(cast(x, "i8", "i32", "arith.extui"), x.view(np.uint8).astype(np.int32))
    wide = rng.integers(-(2**63), 2**63 - 1, 64)
    np.testing.assert_array_equal(cast(wide, "i64", "i16", "arith.trunci"), wide.astype(np.int16))


@pytest.mark.parametrize(
    ("source", "target"), [("f32", "i32"), ("i16", "f16"), ("bf16", "i16"), ("i8", "f8E5M2"), ("f64", "i64")]
)
def test_bitcast(source: str, target: str, rng: np.random.Generator) -> None:
    size = np.dtype(NUMPY[source]).itemsize
    raw = rng.integers(0, 256, 64 * size, dtype=np.uint8)
    got = cast(raw.view(NUMPY[source]), source, target, "tt.bitcast")
    np.testing.assert_array_equal(got.view(np.uint8), raw)


@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_narrow_arithmetic_rounds_after_every_op(name: str, rng: np.random.Generator) -> None:
    """``(x + y) * x``, each op rounded to the narrow type."""
    x, y = (rng.integers(0x3000, 0x4600, 128).astype(bits_of(name)) for _ in range(2))
    k = Kernel({"x": f"*{name}", "y": f"*{name}", "o": f"*{name}"})
    a, b = k.read("x", 128), k.read("y", 128)
    k.write("o", k.mul(k.add(a, b), a))
    out = np.empty(128, bits_of(name))
    k.run(x, y, out)
    wide = [decoded(name)[v] for v in (x, y)]
    total = decoded(name)[nearest(wide[0] + wide[1], name)]
    np.testing.assert_array_equal(out, nearest(total * wide[0], name).astype(out.dtype))
