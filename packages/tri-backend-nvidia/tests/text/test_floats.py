"""Floating-point instructions against fractions, rounded by a rule written here once more."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from ptx_text import evaluate

_MANTISSA = {"f16": (10, -14, 15), "bf16": (7, -126, 127), "f32": (23, -126, 127)}


def exact(value: Fraction, type_: str, mode: str) -> Fraction | float:
    """``value`` rounded to ``type_``; zero and beyond the largest by the mode."""
    mantissa, least, most = _MANTISSA[type_]
    if value == 0:
        return Fraction(0)
    exponent = least
    while abs(value) >= Fraction(2) ** (exponent + 1):
        exponent += 1
    unit = Fraction(2) ** (exponent - mantissa)
    scaled = value / unit
    down = math.floor(scaled)
    rest = scaled - down
    up = {"rz": value < 0, "rm": False, "rp": True}.get(
        mode, rest > Fraction(1, 2) or (rest == Fraction(1, 2) and down % 2 == 1)
    )
    made = (down + (1 if up and rest else 0)) * unit
    largest = (2 - Fraction(2) ** -mantissa) * Fraction(2) ** most
    if abs(made) > largest:
        inward = mode == "rz" or (mode == "rm" and made > 0) or (mode == "rp" and made < 0)
        return largest * (1 if made > 0 else -1) if inward else math.copysign(math.inf, made)
    return made


def numbers(type_: str, words: np.ndarray) -> np.ndarray:
    """Words of ``type_`` as doubles."""
    if type_ == "bf16":
        return (words.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return words.view({"f16": np.float16, "f32": np.float32}[type_]).astype(np.float64)


def _words(type_: str, seed: str, count: int = 96) -> np.ndarray:
    chosen = random.Random(seed)
    bits = 32 if type_ == "f32" else 16
    edges = {"f16": [0, 0x8000, 1, 0x3FF, 0x400, 0x7BFF, 0x3C00, 0x3C01, 0xBC00],
             "bf16": [0, 0x8000, 1, 0x7F, 0x80, 0x7F7F, 0x3F80, 0x3F81, 0xBF80],
             "f32": [0, 0x80000000, 1, 0x7FFFFF, 0x800000, 0x7F7FFFFF, 0x3F800000, 0x3F800001, 0xBF800001]}[type_]  # fmt: skip
    found = [chosen.choice(edges) for _ in range(count // 3)]
    middle = {"f16": 15 << 10, "bf16": 127 << 7, "f32": 127 << 23}[type_]
    spread = {"f16": 1 << 12, "bf16": 1 << 10, "f32": 1 << 26}[type_]
    found += [
        (middle + chosen.randrange(-spread, spread)) | chosen.getrandbits(1) << bits - 1
        for _ in range(count - len(found))
    ]
    return np.array(found, f"u{bits // 8}")


_BINARY: dict[str, tuple[int, Callable[..., Fraction]]] = {
    "add": (2, lambda a, b: a + b),
    "sub": (2, lambda a, b: a - b),
    "mul": (2, lambda a, b: a * b),
    "fma": (3, lambda a, b, c: a * b + c),
}


@pytest.mark.parametrize("type_", ["f16", "bf16", "f32"])
@pytest.mark.parametrize("name", _BINARY)
@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
def test_arithmetic_is_rounded_once(name: str, type_: str, mode: str) -> None:
    count, meaning = _BINARY[name]
    if mode != "rn" and type_ != "f32":
        return  # PTX has no such instruction
    given = [_words(type_, f"{name} {type_} {i}") for i in range(count)]
    bits = 8 * given[0].itemsize
    result = "%r15" if bits == 32 else "%h15"
    operands = ", ".join(f"{{{i}}}" for i in range(count))
    found = numbers(type_, evaluate(f"{name}.{mode}.{type_} {result}, {operands};", given, result, bits))
    values = [numbers(type_, words) for words in given]
    for i, made in enumerate(found):
        expected = exact(meaning(*(Fraction(float(v[i])) for v in values)), type_, mode)
        assert made == float(expected), [float(v[i]) for v in values]


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
def test_quotients_and_roots_are_rounded_once(mode: str) -> None:
    a, b = _words("f32", "quotients"), _words("f32", "divisors")
    b = np.where(b & 0x7FFFFFFF == 0, 0x3F800003, b).astype(np.uint32)
    found = numbers("f32", evaluate(f"div.{mode}.f32 %r15, {{0}}, {{1}};", [a, b], "%r15", 32))
    for x, y, made in zip(numbers("f32", a), numbers("f32", b), found, strict=True):
        assert made == float(exact(Fraction(float(x)) / Fraction(float(y)), "f32", mode)), (x, y)
    positive = a & 0x7FFFFFFF
    roots = numbers("f32", evaluate(f"sqrt.{mode}.f32 %r15, {{0}};", [positive], "%r15", 32))
    for x, made in zip(numbers("f32", positive), roots, strict=True):
        wide = Fraction(math.isqrt(int(Fraction(float(x)) * 2**400)), 2**200)
        more = wide if wide * wide == Fraction(float(x)) else wide + Fraction(1, 2**201)
        assert made == float(exact(more, "f32", mode)), x


def test_packed_halves_are_two_numbers() -> None:
    low, high = _words("f16", "low"), _words("f16", "high")
    words = low.astype(np.uint32) | high.astype(np.uint32) << 16
    found = evaluate("mul.rn.f16x2 %r15, {0}, {0};", [words], "%r15", 32)
    with np.errstate(all="ignore"):
        expected = [
            (h.view(np.float16) * h.view(np.float16)).view(np.uint16).astype(np.uint32) for h in (low, high)
        ]
    assert (found == (expected[0] | expected[1] << 16)).all()


def test_minima_and_maxima_leave_nan_out_unless_asked() -> None:
    nan, one, minus = 0x7FC00000, 0x3F800000, 0x80000000
    a, b = np.array([nan, one, 0, nan], np.uint32), np.array([one, nan, minus, nan], np.uint32)
    assert evaluate("max.f32 %r15, {0}, {1};", [a, b], "%r15", 32).tolist() == [one, one, 0, 0x7FFFFFFF]
    assert evaluate("min.f32 %r15, {0}, {1};", [a, b], "%r15", 32).tolist() == [one, one, minus, 0x7FFFFFFF]
    assert evaluate("max.NaN.f32 %r15, {0}, {1};", [a, b], "%r15", 32).tolist() == [
        0x7FFFFFFF,
        0x7FFFFFFF,
        0,
        0x7FFFFFFF,
    ]


def test_subnormal_numbers_are_flushed_where_the_instruction_says_so() -> None:
    a = np.array([1, 0x007FFFFF, 0x80000001, 0x00800000], np.uint32)
    one = np.full(4, 0x3F800000, np.uint32)
    assert evaluate("mul.f32 %r15, {0}, {1};", [a, one], "%r15", 32).tolist() == a.tolist()
    flushed = evaluate("mul.ftz.f32 %r15, {0}, {1};", [a, one], "%r15", 32)
    assert flushed.tolist() == [0, 0, 0x80000000, 0x00800000]


def test_approximations_are_within_their_tolerance() -> None:
    x = np.linspace(0.25, 8, 64, dtype=np.float32)
    for name, function in {
        "ex2": np.exp2,
        "lg2": np.log2,
        "rcp": np.reciprocal,
        "sqrt": np.sqrt,
        "sin": np.sin,
    }.items():
        found = evaluate(f"{name}.approx.f32 %r15, {{0}};", [x], "%r15", 32).view(np.float32)
        np.testing.assert_allclose(found, function(x.astype(np.float64)), rtol=1e-7, atol=1e-7)


def test_comparisons_with_nan_hold_for_unordered_forms_alone() -> None:
    a = np.array([1, np.nan, 2], np.float32)
    b = np.array([2, 1, 2], np.float32)
    for how, expected in {
        "lt": [1, 0, 0],
        "ltu": [1, 1, 0],
        "ne": [1, 0, 0],
        "neu": [1, 1, 0],
        "num": [1, 0, 1],
        "nan": [0, 1, 0],
    }.items():
        code = f"setp.{how}.f32 %p1, {{0}}, {{1}}; selp.b32 %r15, 1, 0, %p1;"
        assert evaluate(code, [a, b], "%r15", 32).tolist() == expected, how


def test_signs_are_bits() -> None:
    a = np.array([0, 0x8000, 0x7E00, 0x3C00], np.uint16)
    assert evaluate("neg.f16 %h15, {0};", [a], "%h15", 16).tolist() == (a ^ 0x8000).tolist()
    assert evaluate("abs.bf16 %h15, {0};", [a], "%h15", 16).tolist() == (a & 0x7FFF).tolist()
