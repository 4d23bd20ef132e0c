"""Polynomials with integer coefficients over scalars of the IR."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir

__all__ = ["MOST_TERMS", "Monomial", "Polynomial", "Symbol", "Trip"]


@dataclass(frozen=True)
class Trip:
    """Number of completed iterations of ``loop``, a counted loop."""

    loop: ir.Operation


Symbol: TypeAlias = "ir.Value | Trip"
#: symbols with their powers; the empty one is the constant
Monomial: TypeAlias = "frozenset[tuple[Symbol, int]]"

_ONE: Monomial = frozenset()
#: longer products are taken as they are
MOST_TERMS = 24


@dataclass(frozen=True)
class Polynomial:
    """A sum of ``coefficient * monomial``; no coefficient is zero.  Values are compared as polynomials."""

    terms: frozenset[tuple[Monomial, int]] = frozenset()

    @classmethod
    def of(cls, terms: Mapping[Monomial, int]) -> Polynomial:
        """From coefficients by monomial."""
        return cls(frozenset((m, c) for m, c in terms.items() if c))

    @classmethod
    def constant(cls, value: int) -> Polynomial:
        """A number."""
        return cls.of({_ONE: value})

    @classmethod
    def symbol(cls, symbol: Symbol) -> Polynomial:
        """One scalar."""
        return cls.of({frozenset({(symbol, 1)}): 1})

    def __add__(self, other: Polynomial) -> Polynomial:
        found = dict(self.terms)
        for monomial, coefficient in other.terms:
            found[monomial] = found.get(monomial, 0) + coefficient
        return Polynomial.of(found)

    def __neg__(self) -> Polynomial:
        return Polynomial(frozenset((m, -c) for m, c in self.terms))

    def __sub__(self, other: Polynomial) -> Polynomial:
        return self + -other

    def __mul__(self, other: Polynomial) -> Polynomial:
        found: dict[Monomial, int] = {}
        for left, a in self.terms:
            for right, b in other.terms:
                monomial = _product(left, right)
                found[monomial] = found.get(monomial, 0) + a * b
        return Polynomial.of(found)

    @property
    def value(self) -> int | None:
        """The number that a constant polynomial is; None for others."""
        if not self.terms:
            return 0
        (monomial, coefficient), *rest = self.terms
        return coefficient if not rest and monomial == _ONE else None

    @property
    def known_nonnegative(self) -> bool:
        """True if no coefficient is negative: symbols are taken to be sizes, indices and counts."""
        return all(c > 0 for _, c in self.terms)

    def symbols(self) -> Iterator[Symbol]:
        """All symbols, some more than once."""
        for monomial, _ in self.terms:
            for symbol, _ in monomial:
                yield symbol

    def divided(self, stride: Polynomial) -> tuple[Polynomial, Polynomial]:
        """(quotient, rest) by a single term ``stride``: of the terms that it divides, and the others."""
        ((monomial, coefficient),) = stride.terms
        quotient, rest = {}, {}
        for term, c in self.terms:
            divided = _quotient(term, monomial)
            if divided is None or c % coefficient:
                rest[term] = c
            else:
                quotient[divided] = c // coefficient
        return Polynomial.of(quotient), Polynomial.of(rest)

    def emitted(
        self,
        number: Callable[[int], ir.Value],
        scalar: Callable[[Symbol], ir.Value],
        arithmetic: Callable[[str, ir.Value, ir.Value], ir.Value],
    ) -> ir.Value:
        """The polynomial as arithmetic; terms in an order that does not depend on the run."""
        names = _names(self)
        total: ir.Value | None = None
        for monomial, coefficient in sorted(self.terms, key=lambda term: _order(term[0], names)):
            term = None if coefficient == 1 and monomial else number(coefficient)
            for symbol, power in sorted(monomial, key=lambda item: f"{names[item[0]]}^{item[1]}"):
                for _ in range(power):
                    value = scalar(symbol)
                    term = value if term is None else arithmetic("arith.muli", term, value)
            assert term is not None
            total = term if total is None else arithmetic("arith.addi", total, term)
        return number(0) if total is None else total


def _product(left: Monomial, right: Monomial) -> Monomial:
    powers = dict(left)
    for symbol, power in right:
        powers[symbol] = powers.get(symbol, 0) + power
    return frozenset(powers.items())


def _quotient(term: Monomial, divisor: Monomial) -> Monomial | None:
    powers = dict(term)
    for symbol, power in divisor:
        left = powers.get(symbol, 0) - power
        if left < 0:
            return None
        powers[symbol] = left
    return frozenset((s, p) for s, p in powers.items() if p)


def _names(polynomial: Polynomial) -> dict[Symbol, str]:
    """Names of the symbols in the text of the IR, equal in each run; anything for at most one symbol."""
    symbols = set(polynomial.symbols())
    if len(symbols) < 2:
        return dict.fromkeys(symbols, "")
    found: dict[Symbol, str] = {}
    state = None
    for symbol in symbols:
        value = symbol.loop.regions[0].blocks[0].arguments[0] if isinstance(symbol, Trip) else symbol
        # numbering all values is what takes time: once
        state = state or ir.AsmState(value)
        found[symbol] = value.get_name(state)
    return found


def _order(monomial: Monomial, names: Mapping[Symbol, str]) -> tuple[int, str]:
    return len(monomial), " ".join(sorted(f"{names[symbol]}^{power}" for symbol, power in monomial))
