"""Laws of polynomials over scalars of the IR."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tri_core.mlir import ir, session
from tri_core.passes.tiles import Polynomial

Terms = list[tuple[int, list[int]]]


@pytest.fixture(scope="module")
def symbols() -> Iterator[list[ir.Value]]:
    with session():
        module = ir.Module.parse("func.func @f(%a: i32, %b: i32, %c: i32) { return }")
        yield list(module.body.operations[0].regions[0].blocks[0].arguments)


TERMS = st.lists(st.tuples(st.integers(-4, 4), st.lists(st.integers(0, 2), max_size=2)), max_size=3)
NUMBERS = st.tuples(*[st.integers(-3, 3)] * 3)
_FEW = settings(max_examples=60, deadline=None)


def made(terms: Terms, symbols: list[ir.Value]) -> Polynomial:
    total = Polynomial()
    for coefficient, factors in terms:
        term = Polynomial.constant(coefficient)
        for factor in factors:
            term = term * Polynomial.symbol(symbols[factor])
        total = total + term
    return total


def value(polynomial: Polynomial, symbols: list[ir.Value], numbers: tuple[int, ...]) -> int:
    known = dict(zip(symbols, numbers, strict=True))
    total = 0
    for monomial, coefficient in polynomial.terms:
        for symbol, power in monomial:
            coefficient *= known[symbol] ** power
        total += coefficient
    return total


@_FEW
@given(TERMS, TERMS, NUMBERS)
def test_arithmetic_is_that_of_the_values(
    symbols: list[ir.Value], left: Terms, right: Terms, numbers: tuple[int, ...]
) -> None:
    a, b = made(left, symbols), made(right, symbols)
    x, y = value(a, symbols, numbers), value(b, symbols, numbers)
    assert value(a + b, symbols, numbers) == x + y
    assert value(a - b, symbols, numbers) == x - y
    assert value(a * b, symbols, numbers) == x * y


@_FEW
@given(TERMS, TERMS)
def test_equal_sums_are_equal(symbols: list[ir.Value], left: Terms, right: Terms) -> None:
    a, b = made(left, symbols), made(right, symbols)
    assert a + b == b + a
    assert a * b == b * a
    assert (a + b) - b == a
    assert (a - a).value == 0


@_FEW
@given(TERMS, st.integers(1, 5), st.lists(st.integers(0, 2), max_size=2))
def test_what_is_divided_comes_back(
    symbols: list[ir.Value], terms: Terms, factor: int, factors: list[int]
) -> None:
    a, stride = made(terms, symbols), made([(factor, factors)], symbols)
    quotient, rest = a.divided(stride)
    assert quotient * stride + rest == a
    assert rest.divided(stride)[0].value == 0


@_FEW
@given(TERMS, NUMBERS)
def test_code_computes_the_value(symbols: list[ir.Value], terms: Terms, numbers: tuple[int, ...]) -> None:
    """Emitted as Python's own arithmetic."""
    known = dict(zip(symbols, numbers, strict=True))
    a = made(terms, symbols)

    def arithmetic(name: str, x: int, y: int) -> int:
        return x * y if name == "arith.muli" else x + y

    emitted = a.emitted(lambda n: n, lambda s: known[s], arithmetic)  # type: ignore[arg-type,return-value,index]
    assert emitted == value(a, symbols, numbers)
