"""Ranges hold what operations give: against the operations themselves, on members drawn at random."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tri_gpu_dialect.analysis.integer_range import BINARY, COMPARISONS, IntegerRange

WIDTH = 8
NUMBERS = st.integers(-128, 127)
#: numbers that share bits, too
SETS = st.one_of(
    st.lists(NUMBERS, min_size=1, max_size=4),
    st.builds(
        lambda n, s: [(x << s) % 128 for x in n], st.lists(NUMBERS, min_size=1, max_size=4), st.integers(0, 6)
    ),
)


def wrapped(x: int) -> int:
    return (x + 128) % 256 - 128


def toward_zero(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


U = 0xFF
#: results before wrapping; None where the operation has none
EXACT: dict[str, Callable[[int, int], int | None]] = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.divsi": lambda a, b: toward_zero(a, b) if b else None,
    "arith.remsi": lambda a, b: a - toward_zero(a, b) * b if b else None,
    "arith.divui": lambda a, b: (a & U) // (b & U) if b else None,
    "arith.remui": lambda a, b: (a & U) % (b & U) if b else None,
    "arith.andi": lambda a, b: a & b,
    "arith.ori": lambda a, b: a | b,
    "arith.xori": lambda a, b: a ^ b,
    "arith.shli": lambda a, b: a << b if 0 <= b < 8 else None,
    "arith.shrsi": lambda a, b: a >> b if 0 <= b < 8 else None,
    "arith.shrui": lambda a, b: (a & U) >> b if 0 <= b < 8 else None,
    "arith.minsi": min,
    "arith.maxsi": max,
    "arith.minui": lambda a, b: min(a & U, b & U),
    "arith.maxui": lambda a, b: max(a & U, b & U),
}


def holding(numbers: list[int]) -> IntegerRange:
    """The least range that holds ``numbers``."""
    made = IntegerRange.constant(WIDTH, numbers[0])
    for number in numbers[1:]:
        made = made.join(IntegerRange.constant(WIDTH, number))
    return made.sharpened()


def test_every_operation_is_tested() -> None:
    assert EXACT.keys() == BINARY.keys()
    assert len(COMPARISONS) == 10


@pytest.mark.parametrize("name", BINARY)
@given(xs=SETS, ys=SETS)
def test_results_are_members(name: str, xs: list[int], ys: list[int]) -> None:
    made = BINARY[name](holding(xs), holding(ys), False)
    for a in xs:
        for b in ys:
            result = EXACT[name](a, b)
            assert result is None or wrapped(result) in made, (a, b, made)


@pytest.mark.parametrize("name", BINARY)
@given(xs=SETS, ys=SETS)
def test_results_without_overflow_are_members(name: str, xs: list[int], ys: list[int]) -> None:
    made = BINARY[name](holding(xs), holding(ys), True)
    unsigned = name.endswith("ui")
    for a in xs:
        for b in ys:
            result = EXACT[name](a, b)
            fits = result is not None and (unsigned or -128 <= result <= 127)
            assert not fits or wrapped(result or 0) in made, (a, b, made)


ORDER = [
    lambda a, b: a == b, lambda a, b: a != b, lambda a, b: a < b, lambda a, b: a <= b, lambda a, b: a > b,
    lambda a, b: a >= b, lambda a, b: a & U < b & U, lambda a, b: a & U <= b & U, lambda a, b: a & U > b & U,
    lambda a, b: a & U >= b & U,
]  # fmt: skip


@pytest.mark.parametrize("predicate", range(10))
@given(xs=SETS, ys=SETS)
def test_answers_hold_for_all_members(predicate: int, xs: list[int], ys: list[int]) -> None:
    answer = COMPARISONS[predicate](holding(xs), holding(ys))
    assert answer is None or all(ORDER[predicate](a, b) == answer for a in xs for b in ys)


@given(xs=SETS, width=st.sampled_from([4, 6, 8, 16]), signed=st.booleans())
def test_other_widths(xs: list[int], width: int, signed: bool) -> None:
    made = holding(xs).resized(width, signed=signed)
    for x in xs:
        bits = (x if signed else x & U) & ((1 << width) - 1)
        assert (bits - (1 << width) if bits >> (width - 1) else bits) in made


@given(xs=SETS, ys=SETS, common=NUMBERS)
def test_lattice(xs: list[int], ys: list[int], common: int) -> None:
    left, right = holding([*xs, common]), holding([*ys, common])
    both = left.join(right)
    assert all(x in both for x in (*xs, *ys))
    assert both.join(left) == both
    assert all(x in left.within(right) for x in range(-128, 128) if x in left and x in right)


def test_what_is_known() -> None:
    x = IntegerRange.between(32, 0, 63)
    assert BINARY["arith.andi"](x, IntegerRange.constant(32, 7), False).high == 7
    assert BINARY["arith.ori"](x, IntegerRange.constant(32, 64), False).low == 64
    scaled = BINARY["arith.muli"](IntegerRange.top(32), IntegerRange.constant(32, 16), False)
    assert scaled.zeros == 15  # even if it wraps
    assert COMPARISONS[0](scaled, IntegerRange.constant(32, 3)) is False
    assert COMPARISONS[2](x, IntegerRange.constant(32, 64)) is True
    assert COMPARISONS[2](x, IntegerRange.constant(32, 63)) is None
    assert IntegerRange.between(32, -4, -1).ones == 0xFFFFFFFC
