from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tri_gpu_dialect.encodings import Blocked
from tri_gpu_dialect.lowering.formats import FORMATS, encode_constant
from tri_gpu_dialect.testing import TensorSpec, kernel, make_target, run

Array = npt.NDArray[Any]
RNG = np.random.default_rng(5)
SIZE = 1 << 14
ENCODING = Blocked((4,), (32,), (4,), (0,))
#: no small float is native: all are emulated
TARGET = make_target(dtypes=())


def oracle_decode(bits: Array, name: str) -> Array:
    """By the definition of the format, one pattern at a time."""
    f = FORMATS[name]
    result = np.empty(len(bits), np.float64)
    for i, pattern in enumerate(map(int, bits)):
        size, sign = pattern & (f.sign - 1), -1.0 if pattern & f.sign else 1.0
        if not f.negative_zero and pattern == f.sign:
            result[i] = np.nan
        elif f.negative_zero and size > f.largest:
            result[i] = sign * np.inf if size == f.infinity else np.nan
        else:
            result[i] = sign * f.value(size)
    return result


def cast(x: Array, source: str, target: str, out: Array, rounding: int | None = None) -> Array:
    types = [TensorSpec(t, (SIZE,), ENCODING) for t in (source, target)]
    narrower = (source, target) == ("f64", "f32") or target not in ("f32", "f64")
    if rounding is None and narrower:
        rounding = 1
    given = "" if rounding is None else f" {{rounding = {rounding} : i32}}"
    body = f'%out0 = "tt.fp_to_fp"(%in0){given} : ({types[0].type}) -> {types[1].type}'
    run(kernel(types[:1], types[1:], body, warps=4, lanes=32), [x, out], target=TARGET)
    return out


@pytest.mark.parametrize("name", list(FORMATS))
def test_every_pattern_decodes_exactly(name: str) -> None:
    width = FORMATS[name].width
    kind = np.uint8 if width == 8 else np.uint16
    bits = (
        np.resize(np.arange(1 << width), SIZE).astype(kind)
        if width == 8
        else RNG.integers(0, 1 << 16, SIZE).astype(kind)
    )
    found = cast(bits, name, "f32", np.zeros(SIZE, np.float32))
    exact = oracle_decode(bits, name)
    np.testing.assert_array_equal(found, exact.astype(np.float32))


def interesting(name: str) -> Array:
    """f32 values: random ones of every size, all patterns, and the midpoints between neighbours."""
    f = FORMATS[name]
    patterns = np.arange(min(f.largest + 1, 4096), dtype=np.int64)
    exact = np.array([f.value(int(p)) for p in patterns])
    middles = (exact[1:] + exact[:-1]) / 2
    edges = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, f.value(f.largest) * 1.01, 1e-45, 3e38])
    exponents = RNG.uniform(-f.bias - f.mantissa - 3, f.bias + 2, SIZE)
    scattered = np.exp2(exponents) * RNG.choice([-1, 1], SIZE)
    with np.errstate(over="ignore"):
        values = np.concatenate(
            [edges, exact, middles, np.nextafter(middles.astype(np.float32), 0), scattered]
        )
        return np.ascontiguousarray(values[:SIZE].astype(np.float32))


@pytest.mark.parametrize("name", list(FORMATS))
def test_encoding_rounds_to_nearest_even(name: str) -> None:
    x = interesting(name)
    f = FORMATS[name]
    kind = np.uint8 if f.width == 8 else np.uint16
    found = cast(x, "f32", name, np.zeros(SIZE, kind))
    expected = np.array([encode_constant(float(v), f) for v in x], kind)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", ["f8E5M2", "f8E4M3FN", "bf16", "f16"])
def test_truncation_goes_toward_zero(name: str) -> None:
    x = interesting(name)
    x = x[np.isfinite(x) & (np.abs(x) <= FORMATS[name].value(FORMATS[name].largest))]
    x = np.resize(x, SIZE)
    kind = np.uint8 if FORMATS[name].width == 8 else np.uint16
    back = oracle_decode(cast(x, "f32", name, np.zeros(SIZE, kind), rounding=0), name)
    assert (np.abs(back) <= np.abs(x)).all()
    nearest = oracle_decode(cast(x, "f32", name, np.zeros(SIZE, kind)), name)
    ulp = np.maximum(
        np.exp2(np.floor(np.log2(np.maximum(np.abs(x), 1e-45))) - FORMATS[name].mantissa),
        FORMATS[name].ulp_of_denormals,
    )
    assert (np.abs(back - x) < ulp).all()
    assert (back != nearest).any()


@pytest.mark.parametrize("name", ["f16", "bf16"])
def test_encode_constant_agrees_with_numpy(name: str) -> None:
    x = RNG.standard_normal(2000).astype(np.float32) * np.exp2(RNG.integers(-30, 16, 2000)).astype(np.float32)
    if name == "f16":
        with np.errstate(over="ignore"):
            expected = x.astype(np.float16).view(np.uint16)
    else:
        wide = x.view(np.uint32)
        expected = ((wide + 0x7FFF + ((wide >> 16) & 1)) >> 16).astype(np.uint16)
    assert [encode_constant(float(v), FORMATS[name]) for v in x] == expected.tolist()


def test_a_double_is_rounded_once() -> None:
    # halfway between two bf16 in f32, but above it in f64
    x = np.full(SIZE, 1 + 2.0**-8 + 2.0**-40)
    found = cast(x, "f64", "bf16", np.zeros(SIZE, np.uint16))
    assert (found == 0x3F81).all()


def test_arithmetic_on_an_emulated_type_goes_through_f32() -> None:
    spec = TensorSpec("bf16", (SIZE,), ENCODING)
    body = f"""%s = arith.addf %in0, %in1 : {spec.type}
      %c = arith.constant dense<1.5> : {spec.type}
      %out0 = arith.mulf %s, %c : {spec.type}"""
    x, y = ((RNG.standard_normal(SIZE) * 8).astype(np.float32).view(np.uint32) >> 16 for _ in range(2))
    x, y = x.astype(np.uint16), y.astype(np.uint16)
    out = np.zeros(SIZE, np.uint16)
    run(kernel([spec, spec], [spec], body, warps=4, lanes=32), [x, y, out], target=TARGET)

    def bf16(values: Array) -> Array:
        wide = values.astype(np.float32).view(np.uint32)
        return (((wide + 0x7FFF + ((wide >> 16) & 1)) >> 16) << 16).astype(np.uint32).view(np.float32)

    a, b = ((v.astype(np.uint32) << 16).view(np.float32) for v in (x, y))
    expected = bf16(bf16(a + b) * np.float32(1.5))
    np.testing.assert_array_equal((out.astype(np.uint32) << 16).view(np.float32), expected)
