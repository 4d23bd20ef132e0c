"""Range analysis of integers: an interval and known bits, each sharpened by the other.

``low <= x <= high`` as signed numbers, and bits of ``zeros`` are 0, bits of ``ones`` are 1 in every x.  Operations give
a range that holds every result of every pair of members; arithmetic wraps, so a sum that may leave its type can be
anything, unless ``exact`` says that it does not leave it.
"""

from __future__ import annotations

from collections.abc import Callable

from tri_core.lazy_dataclasses import dataclass

__all__ = ["BINARY", "COMPARISONS", "IntegerRange"]


@dataclass(frozen=True)
class IntegerRange:
    """The members: integers of ``width`` bits in ``[low, high]`` with the known bits."""

    width: int
    low: int
    high: int
    zeros: int = 0
    ones: int = 0

    @classmethod
    def top(cls, width: int) -> IntegerRange:
        """Nothing is known."""
        return cls(width, -(1 << (width - 1)), (1 << (width - 1)) - 1)

    @classmethod
    def constant(cls, width: int, value: int) -> IntegerRange:
        """``value``, wrapped to ``width``."""
        value = _signed(value, width)
        bits = value & _mask(width)
        return cls(width, value, value, _mask(width) & ~bits, bits)

    @classmethod
    def between(cls, width: int, low: int, high: int) -> IntegerRange:
        """``[low, high]``; anything, where that leaves the type."""
        whole = cls.top(width)
        return cls(width, low, high).sharpened() if whole.low <= low <= high <= whole.high else whole

    @classmethod
    def of_bits(cls, width: int, zeros: int, ones: int) -> IntegerRange:
        """Anything with these known bits."""
        whole = cls.top(width)
        return cls(width, whole.low, whole.high, zeros & _mask(width), ones & _mask(width)).sharpened()

    @property
    def value(self) -> int | None:
        """The only member, if there is only one."""
        return self.low if self.low == self.high else None

    def __contains__(self, x: int) -> bool:
        bits = x & _mask(self.width)
        return self.low <= x <= self.high and not bits & self.zeros and bits & self.ones == self.ones

    def sharpened(self) -> IntegerRange:
        """The same members: bits that both ends share are known; known bits bound the ends."""
        mask, sign = _mask(self.width), 1 << (self.width - 1)
        zeros, ones = self.zeros, self.ones
        if (self.low < 0) == (self.high < 0):
            same = mask & ~((1 << ((self.low ^ self.high) & mask).bit_length()) - 1)
            zeros |= same & ~self.low
            ones |= same & self.low
        # the least and the greatest number with these bits, the sign counting the other way
        least = _signed(ones | (sign & ~zeros), self.width)
        greatest = _signed((mask & ~zeros) & ~(sign & ~ones), self.width)
        return IntegerRange(self.width, max(self.low, least), min(self.high, greatest), zeros, ones)

    def join(self, other: IntegerRange) -> IntegerRange:
        """Join: the smallest range that contains both."""
        low, high = min(self.low, other.low), max(self.high, other.high)
        return IntegerRange(self.width, low, high, self.zeros & other.zeros, self.ones & other.ones)

    def within(self, other: IntegerRange) -> IntegerRange:
        """The members of both; other's, if there are none (then nobody gets here)."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        if low > high:
            return other
        made = IntegerRange(self.width, low, high, self.zeros | other.zeros, self.ones | other.ones)
        return other if made.zeros & made.ones else made.sharpened()

    @property
    def unsigned(self) -> tuple[int, int]:
        """The least and the greatest member as unsigned numbers."""
        if self.low >= 0 or self.high < 0:
            return self.low & _mask(self.width), self.high & _mask(self.width)
        return 0, _mask(self.width)

    def resized(self, width: int, *, signed: bool) -> IntegerRange:
        """Extended or cut to ``width`` bits."""
        if width < self.width:
            whole = IntegerRange.top(width)
            if whole.low <= self.low and self.high <= whole.high:
                return IntegerRange.between(width, self.low, self.high)
            return IntegerRange.of_bits(width, self.zeros, self.ones)
        low, high = (self.low, self.high) if signed else self.unsigned
        made = IntegerRange.between(width, low, high)
        known = IntegerRange.of_bits(
            width, self.zeros & (_mask(self.width) >> 1), self.ones & (_mask(self.width) >> 1)
        )
        return made.within(known)


def _mask(width: int) -> int:
    return (1 << width) - 1


def _signed(bits: int, width: int) -> int:
    bits &= _mask(width)
    return bits - (1 << width) if bits >> (width - 1) else bits


# --- operations -------------------------------------------------------------------------------------------

Operation = Callable[[IntegerRange, IntegerRange, bool], IntegerRange]


def _fitted(width: int, low: int, high: int, exact: bool) -> IntegerRange:
    """``[low, high]`` computed without wrapping; ``exact``: results that would leave the type do not happen."""
    whole = IntegerRange.top(width)
    if exact:
        low, high = max(low, whole.low), min(high, whole.high)
    return IntegerRange.between(width, low, high)


def _low_zeros(x: IntegerRange) -> int:
    """Number of low bits known to be 0."""
    return ((x.zeros + 1) & ~x.zeros).bit_length() - 1


def _aligned(made: IntegerRange, bits: int) -> IntegerRange:
    """``made``, whose lowest ``bits`` bits are 0 even after wrapping."""
    known = _mask(min(bits, made.width))
    return made.within(IntegerRange.of_bits(made.width, known, 0))


def _add(x: IntegerRange, y: IntegerRange, exact: bool) -> IntegerRange:
    made = _fitted(x.width, x.low + y.low, x.high + y.high, exact)
    return _aligned(made, min(_low_zeros(x), _low_zeros(y)))


def _subtract(x: IntegerRange, y: IntegerRange, exact: bool) -> IntegerRange:
    made = _fitted(x.width, x.low - y.high, x.high - y.low, exact)
    return _aligned(made, min(_low_zeros(x), _low_zeros(y)))


def _multiply(x: IntegerRange, y: IntegerRange, exact: bool) -> IntegerRange:
    corners = [a * b for a in (x.low, x.high) for b in (y.low, y.high)]
    made = _fitted(x.width, min(corners), max(corners), exact)
    return _aligned(made, _low_zeros(x) + _low_zeros(y))


def _divide(x: IntegerRange, y: IntegerRange, exact: bool) -> IntegerRange:
    """Toward zero; a divisor of zero does not happen."""
    if y.low < 0:  # it cannot make a number larger, but turn its sign
        most = max(abs(x.low), abs(x.high))
        return _fitted(x.width, -most, most, exact)
    divisors = max(y.low, 1), max(y.high, 1)
    corners = [abs(a) // b * (1 if a >= 0 else -1) for a in (x.low, x.high) for b in divisors]
    return IntegerRange.between(x.width, min(corners), max(corners))


def _remainder(x: IntegerRange, y: IntegerRange, _: bool) -> IntegerRange:
    """With the dividend's sign, smaller than the divisor and no larger than the dividend."""
    most = max(abs(y.low), abs(y.high), 1) - 1
    low = 0 if x.low >= 0 else max(-most, x.low)
    return IntegerRange.between(x.width, low, min(most, max(x.high, 0)))


def _divide_unsigned(x: IntegerRange, y: IntegerRange, _: bool) -> IntegerRange:
    (low, high), (least, most) = x.unsigned, y.unsigned
    return _from_unsigned(x.width, low // max(most, 1), high // max(least, 1))


def _remainder_unsigned(x: IntegerRange, y: IntegerRange, _: bool) -> IntegerRange:
    return _from_unsigned(x.width, 0, min(x.unsigned[1], max(y.unsigned[1], 1) - 1))


def _from_unsigned(width: int, low: int, high: int) -> IntegerRange:
    half = 1 << (width - 1)
    if high < half:
        return IntegerRange.between(width, low, high)
    if low >= half:
        return IntegerRange.between(width, low - 2 * half, high - 2 * half)
    return IntegerRange.top(width)


def _and(x: IntegerRange, y: IntegerRange, _: bool) -> IntegerRange:
    made = IntegerRange.of_bits(x.width, x.zeros | y.zeros, x.ones & y.ones)
    bounds = [r.high for r in (x, y) if r.low >= 0]
    return made.within(IntegerRange.between(x.width, 0, min(bounds))) if bounds else made


def _or(x: IntegerRange, y: IntegerRange, _: bool) -> IntegerRange:
    return IntegerRange.of_bits(x.width, x.zeros & y.zeros, x.ones | y.ones)


def _xor(x: IntegerRange, y: IntegerRange, _: bool) -> IntegerRange:
    zeros = (x.zeros & y.zeros) | (x.ones & y.ones)
    return IntegerRange.of_bits(x.width, zeros, (x.ones & y.zeros) | (x.zeros & y.ones))


def _shift_left(x: IntegerRange, y: IntegerRange, exact: bool) -> IntegerRange:
    if not 0 <= y.low <= y.high < x.width:
        return IntegerRange.top(x.width)
    corners = [a << b for a in (x.low, x.high) for b in (y.low, y.high)]
    return _aligned(_fitted(x.width, min(corners), max(corners), exact), _low_zeros(x) + y.low)


def _shift_right(x: IntegerRange, y: IntegerRange, _: bool) -> IntegerRange:
    if not 0 <= y.low <= y.high < x.width:
        return IntegerRange.top(x.width)
    corners = [a >> b for a in (x.low, x.high) for b in (y.low, y.high)]
    return IntegerRange.between(x.width, min(corners), max(corners))


def _shift_right_unsigned(x: IntegerRange, y: IntegerRange, exact: bool) -> IntegerRange:
    if not 0 <= y.low <= y.high < x.width:
        return IntegerRange.top(x.width)
    low, high = x.unsigned
    return _from_unsigned(x.width, low >> y.high, high >> y.low)


def _least(x: IntegerRange, y: IntegerRange, _: bool) -> IntegerRange:
    return IntegerRange.between(x.width, min(x.low, y.low), min(x.high, y.high))


def _greatest(x: IntegerRange, y: IntegerRange, _: bool) -> IntegerRange:
    return IntegerRange.between(x.width, max(x.low, y.low), max(x.high, y.high))


def _least_unsigned(x: IntegerRange, y: IntegerRange, _: bool) -> IntegerRange:
    pairs = list(zip(x.unsigned, y.unsigned, strict=True))
    return _from_unsigned(x.width, min(pairs[0]), min(pairs[1]))


def _greatest_unsigned(x: IntegerRange, y: IntegerRange, _: bool) -> IntegerRange:
    pairs = list(zip(x.unsigned, y.unsigned, strict=True))
    return _from_unsigned(x.width, max(pairs[0]), max(pairs[1]))


#: by the name of the op; the last argument says that signed results do not wrap
BINARY: dict[str, Operation] = {
    "arith.addi": _add, "arith.subi": _subtract, "arith.muli": _multiply,
    "arith.divsi": _divide, "arith.remsi": _remainder,
    "arith.divui": _divide_unsigned, "arith.remui": _remainder_unsigned,
    "arith.andi": _and, "arith.ori": _or, "arith.xori": _xor,
    "arith.shli": _shift_left, "arith.shrsi": _shift_right, "arith.shrui": _shift_right_unsigned,
    "arith.minsi": _least, "arith.maxsi": _greatest,
    "arith.minui": _least_unsigned, "arith.maxui": _greatest_unsigned,
}  # fmt: skip

Ends = tuple[int, int]


def _always_less(x: Ends, y: Ends) -> bool | None:
    """True if every x is below every y, False if none is; None if undecided."""
    return True if x[1] < y[0] else False if x[0] >= y[1] else None


def _never(answer: bool | None) -> bool | None:
    return None if answer is None else not answer


def _equal(x: IntegerRange, y: IntegerRange) -> bool | None:
    apart = x.high < y.low or y.high < x.low or x.zeros & y.ones or x.ones & y.zeros
    if apart:
        return False
    return True if x.value is not None and x.value == y.value else None


def _compared(order: Callable[[Ends, Ends], bool | None], *, signed: bool) -> Comparison:
    def compare(x: IntegerRange, y: IntegerRange) -> bool | None:
        return order((x.low, x.high), (y.low, y.high)) if signed else order(x.unsigned, y.unsigned)

    return compare


Comparison = Callable[[IntegerRange, IntegerRange], "bool | None"]

_ORDERS: tuple[Callable[[Ends, Ends], bool | None], ...] = (
    _always_less,
    lambda x, y: _never(_always_less(y, x)),
    lambda x, y: _always_less(y, x),
    lambda x, y: _never(_always_less(x, y)),
)
#: by ``arith.cmpi``'s predicate: eq, ne, then lt, le, gt, ge signed and unsigned; None where it depends
COMPARISONS: tuple[Comparison, ...] = (
    _equal,
    lambda x, y: _never(_equal(x, y)),
    *(_compared(order, signed=True) for order in _ORDERS),
    *(_compared(order, signed=False) for order in _ORDERS),
)
