"""``cvt`` against fractions and the formats' own tables."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from ptx_text import evaluate

_SPECIAL = [
    0.0,
    -0.0,
    0.5,
    1.5,
    2.5,
    -0.5,
    -1.5,
    65504.0,
    65520.0,
    1e30,
    -1e30,
    math.inf,
    -math.inf,
    math.nan,
    2.0**-24,
    2.0**-25,
    3.4e38,
]


def _floats(count: int = 64) -> np.ndarray:
    drawn = np.random.default_rng(1).standard_normal(count) * 10.0 ** np.random.default_rng(2).integers(
        -6, 6, count
    )
    return np.array([*_SPECIAL, *drawn], np.float32)


@pytest.mark.parametrize(
    ("mode", "rounds"), [("rni", round), ("rzi", math.trunc), ("rmi", math.floor), ("rpi", math.ceil)]
)
@pytest.mark.parametrize("type_", ["s32", "u32", "s16", "u8"])
def test_floats_become_the_nearest_integers(mode: str, rounds: Callable[[Fraction], int], type_: str) -> None:
    x = _floats()
    bits, signed = int(type_[1:]), type_[0] == "s"
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    found = evaluate(f"cvt.{mode}.{type_}.f32 %r15, {{0}};", [x], "%r15", 32)
    for value, made in zip(x.tolist(), found.tolist(), strict=True):
        whole = (
            0
            if math.isnan(value)
            else (high if value > 0 else low)
            if math.isinf(value)
            else rounds(Fraction(value))
        )
        assert made == max(low, min(high, whole)) & 0xFFFFFFFF, value


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize("type_", ["s64", "u64", "s32"])
def test_integers_become_floats_in_each_rounding_mode(mode: str, type_: str) -> None:
    bits = int(type_[1:])
    edges = [
        0,
        1,
        (1 << 24) + 1,
        (1 << bits) - 1,
        1 << bits - 1,
        (1 << bits - 1) - 1,
        (1 << 30) + 65,
        (1 << 31) - 64,
    ]
    words = [
        *edges,
        *(int(v) & (1 << bits) - 1 for v in np.random.default_rng(3).integers(-(2**62), 2**62, 56)),
    ]
    x = np.array(words, f"u{bits // 8}")
    found = evaluate(f"cvt.{mode}.f32.{type_} %r15, {{0}};", [x], "%r15", 32).view(np.float32)
    for word, made in zip(words, found.tolist(), strict=True):
        value = word - (1 << bits) if type_[0] == "s" and word >> bits - 1 else word
        near = np.float32(value)
        candidates = sorted(
            {
                float(near),
                float(np.nextafter(near, np.float32(-np.inf))),
                float(np.nextafter(near, np.float32(np.inf))),
            }
        )
        below = max((c for c in candidates if c <= value), default=candidates[0])
        above = min((c for c in candidates if c >= value), default=candidates[-1])
        nearest = min(
            (below, above), key=lambda c: (abs(Fraction(c) - value), int(np.float32(c).view(np.uint32)) & 1)
        )
        assert (
            made == {"rz": below if value >= 0 else above, "rm": below, "rp": above, "rn": nearest}[mode]
        ), value


@pytest.mark.parametrize(("to", "kind"), [("f16", np.float16), ("bf16", ml_dtypes.bfloat16)])
def test_floats_become_smaller_ones(to: str, kind: type) -> None:
    x = _floats()
    found = evaluate(f"cvt.rn.{to}.f32 %h15, {{0}};", [x], "%h15", 16)
    with np.errstate(all="ignore"):
        expected = x.astype(kind).view(np.uint16)
    expected = np.where(np.isnan(x), 0x7FFF, expected)
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("to", "kind"), [("e4m3x2", ml_dtypes.float8_e4m3fn), ("e5m2x2", ml_dtypes.float8_e5m2)]
)
def test_two_floats_become_bytes_that_saturate(to: str, kind: type) -> None:
    x = _floats()
    y = x[::-1].copy()
    found = evaluate(f"cvt.rn.satfinite.{to}.f32 %h15, {{0}}, {{1}};", [x, y], "%h15", 16)
    largest = {ml_dtypes.float8_e4m3fn: 448.0, ml_dtypes.float8_e5m2: 57344.0}[kind]
    for high, low, made in zip(x, y, found.tolist(), strict=True):
        for value, byte in ((high, made >> 8), (low, made & 255)):
            expected = (
                0x7F
                if np.isnan(value)
                else int(np.float32(np.clip(value, -largest, largest)).astype(kind).view(np.uint8))
            )
            assert byte == expected, value


def test_bytes_become_halves() -> None:
    words = np.arange(256, dtype=np.uint16) * 257
    found = evaluate("cvt.rn.f16x2.e4m3x2 %r15, {0};", [words], "%r15", 32)
    expected = np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e4m3fn).astype(np.float16)
    for half, made in zip(expected, found.tolist(), strict=True):
        if np.isnan(half):
            assert made & 0x7FFF == 0x7FFF
        else:
            assert made == int(half.view(np.uint16)) * 0x10001


def test_floats_in_tf32_are_rounded_away_from_zero() -> None:
    x = np.array([0x3F801000, 0x3F800FFF, 0xBF801000], np.uint32)
    assert evaluate("cvt.rna.tf32.f32 %r15, {0};", [x], "%r15", 32).tolist() == [
        0x3F802000,
        0x3F800000,
        0xBF802000,
    ]


def test_integers_are_extended_cut_and_saturated() -> None:
    x = np.array([0x80, 0x7F, 0xFF80, 0x1234], np.uint16)
    assert evaluate("cvt.s32.s8 %r15, {0};", [x], "%r15", 32).tolist() == [0xFFFFFF80, 0x7F, 0xFFFFFF80, 0x34]
    assert evaluate("cvt.u32.u16 %r15, {0};", [x], "%r15", 32).tolist() == x.tolist()
    assert evaluate("cvt.sat.s8.s16 %h15, {0};", [x], "%h15", 16).tolist() == [0x7F, 0x7F, 0xFF80, 0x7F]
    assert evaluate("cvt.s16.s8 %h15, {0};", [x], "%h15", 16).tolist() == [0xFF80, 0x7F, 0xFF80, 0x34]
