"""Floats of f32 or f64 with operators, and what the functions share: scaling, rounding, pairs.

A pair is a sum of two floats of which the second is what the first has lost.
"""

from __future__ import annotations

from collections.abc import Sequence

from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.lowering.builder import Builder

__all__ = [
    "FORMATS",
    "Format",
    "Pair",
    "Real",
    "constant",
    "fast_sum",
    "polynomial",
    "product",
    "times",
    "two_sum",
]


@dataclass(frozen=True)
class Format:
    """An IEEE 754 format: its bits, those of the fraction, and the exponent's bias."""

    bits: int
    fraction: int
    bias: int

    @property
    def magic(self) -> float:
        """Adding it to a small number leaves the nearest integer in the low bits."""
        return 1.5 * 2.0**self.fraction


FORMATS = {32: Format(32, 23, 127), 64: Format(64, 52, 1023)}


@dataclass(frozen=True, eq=False)
class Real:
    """A scalar float; operators emit code.  Comparisons are ordered and give an i1."""

    b: Builder
    value: ir.Value

    @property
    def width(self) -> int:
        """32 or 64."""
        found: int = self.value.type.width
        return found

    @property
    def format(self) -> Format:
        """The number's format."""
        return FORMATS[self.width]

    @property
    def word(self) -> ir.Type:
        """The integer type of the same width."""
        return self.b.int_type(self.width)

    def of(self, x: Real | float) -> Real:
        """``x`` in this number's format."""
        return x if isinstance(x, Real) else Real(self.b, self.b.const(self.value.type, x))

    def _apply(self, name: str, *others: Real | float) -> Real:
        values = [self.value, *(self.of(x).value for x in others)]
        return Real(self.b, self.b.op(name, values, self.value.type))

    def __add__(self, other: Real | float) -> Real:
        return self._apply("llvm.fadd", other)

    def __radd__(self, other: float) -> Real:
        return self.of(other) + self

    def __sub__(self, other: Real | float) -> Real:
        return self._apply("llvm.fsub", other)

    def __rsub__(self, other: float) -> Real:
        return self.of(other) - self

    def __mul__(self, other: Real | float) -> Real:
        return self._apply("llvm.fmul", other)

    def __rmul__(self, other: float) -> Real:
        return self * other

    def __truediv__(self, other: Real | float) -> Real:
        return self._apply("llvm.fdiv", other)

    def __rtruediv__(self, other: float) -> Real:
        return self.of(other) / self

    def __neg__(self) -> Real:
        return self._apply("llvm.fneg")

    def fma(self, factor: Real | float, addend: Real | float) -> Real:
        """``self * factor + addend``, rounded once."""
        return self._apply("llvm.intr.fma", factor, addend)

    def abs(self) -> Real:
        """The absolute value."""
        return self._apply("llvm.intr.fabs")

    def sqrt(self) -> Real:
        """The square root."""
        return self._apply("llvm.intr.sqrt")

    def trunc(self) -> Real:
        """Rounded toward zero."""
        return self._apply("llvm.intr.trunc")

    def _compare(self, predicate: str, other: Real | float) -> ir.Value:
        return self.b.fcmp(predicate, self.value, self.of(other).value)

    def __lt__(self, other: Real | float) -> ir.Value:
        return self._compare("olt", other)

    def __le__(self, other: Real | float) -> ir.Value:
        return self._compare("ole", other)

    def __gt__(self, other: Real | float) -> ir.Value:
        return self._compare("ogt", other)

    def __ge__(self, other: Real | float) -> ir.Value:
        return self._compare("oge", other)

    def equals(self, other: Real | float) -> ir.Value:
        """True (i1) if both are the same number."""
        return self._compare("oeq", other)

    def unordered(self, other: Real) -> ir.Value:
        """True (i1) if either is NaN."""
        return self._compare("uno", other)

    def where(self, condition: ir.Value, otherwise: Real | float) -> Real:
        """This where ``condition``, else ``otherwise``."""
        return Real(self.b, self.b.select(condition, self.value, self.of(otherwise).value))

    def bits(self) -> ir.Value:
        """The bits as an integer."""
        return self.b.bitcast(self.value, self.word)

    def from_bits(self, bits: ir.Value) -> Real:
        """A number of this one's format."""
        return Real(self.b, self.b.bitcast(bits, self.value.type))

    def from_integer(self, number: ir.Value, signed: bool = True) -> Real:
        """``number`` in this one's format."""
        return Real(self.b, self.b.op("llvm.sitofp" if signed else "llvm.uitofp", (number,), self.value.type))

    def negative(self) -> ir.Value:
        """True (i1) if the sign bit is set."""
        return self.b.cmp("slt", self.bits(), self.b.const(self.word, 0))

    def with_sign_of(self, other: Real) -> Real:
        """This, which is not negative, with the sign of ``other``."""
        sign = self.b.and_(other.bits(), self.b.const(self.word, -(1 << self.width - 1)))
        return self.from_bits(self.b.or_(self.bits(), sign))

    def unless_nan(self, x: Real) -> Real:
        """This, or ``x`` where that is NaN."""
        return x.where(x.unordered(x), self)

    def clamp(self, low: float, high: float) -> Real:
        """Within bounds; NaN becomes a bound."""
        raised = self.where(self > low, low)
        return raised.where(raised < high, high)

    def nearest(self) -> tuple[Real, ir.Value]:
        """The nearest integer as a float and as i32, for numbers below 2**22 (f32), 2**31 (f64) in size."""
        shifted = self + self.format.magic
        count = shifted.bits()
        if self.width == 64:
            count = self.b.int_cast(count, self.b.i32)  # the magic number's low half is zero
        else:
            count = self.b.sub(count, self.b.int_(0x4B400000))
        return shifted - self.format.magic, count

    def power_of_two(self, count: ir.Value) -> Real:
        """2 to the ``count`` (i32), a normal number of this one's format."""
        wide = self.b.int_cast(count, self.word, signed=True)
        biased = self.b.add(wide, self.b.const(self.word, self.format.bias))
        return self.from_bits(self.b.shl(biased, self.format.fraction))

    def scaled(self, count: ir.Value) -> Real:
        """``self * 2**count`` for a number near 1, rounded once; ``count`` (i32) below twice the bias in size."""
        half = self.b.ashr(count, 1)
        return self * self.power_of_two(half) * self.power_of_two(self.b.sub(count, half))


Pair = tuple[Real, Real]


def constant(x: Real, table: dict[int, tuple[float, ...]]) -> Pair:
    """The first two pieces of a constant in the format of ``x``."""
    high, low, *_ = table[x.width]
    return x.of(high), x.of(low)


def polynomial(x: Real, table: dict[int, tuple[float, ...]] | Sequence[float]) -> Real:
    """The polynomial, the constant first, by Horner's rule."""
    coefficients = table[x.width] if isinstance(table, dict) else table
    total = x.of(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        total = total.fma(x, coefficient)
    return total


def fast_sum(large: Real, small: Real) -> Pair:
    """``large + small`` as a pair; ``large`` is the larger in size."""
    total = large + small
    return total, small - (total - large)


def two_sum(x: Real, y: Real) -> Pair:
    """``x + y`` as a pair."""
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


def product(x: Real, y: Real) -> Pair:
    """``x * y`` as a pair."""
    made = x * y
    return made, x.fma(y, -made)


def times(x: Pair, y: Pair) -> Pair:
    """The product of pairs, to about twice the format's digits."""
    made, rest = product(x[0], y[0])
    return made, x[0].fma(y[1], x[1].fma(y[0], rest))
