"""Offsets of registers: an exclusive or, in whatever parts it is computed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tri_gpu_dialect.lowering.indices import offset_by, offset_in_parts


class Numbers:
    """A builder of numbers."""

    def int_(self, value: int) -> int:
        return value

    def xor(self, a: int, b: int) -> int:
        return a ^ b

    def add(self, a: int, b: int) -> int:
        return a + b


BITS = st.integers(0, 2**16 - 1)


@given(reached=BITS, given_=BITS, constant=BITS)
def test_both_ways_give_the_exclusive_or(reached: int, given_: int, constant: int) -> None:
    base = reached & given_
    for way in (offset_by, offset_in_parts):
        assert way(Numbers(), base, reached, constant) == base ^ constant  # type: ignore[arg-type, comparison-overlap]


@given(reached=BITS, constant=BITS, other=BITS)
def test_what_differs_where_nothing_reaches_differs_by_a_constant(
    reached: int, constant: int, other: int
) -> None:
    other = constant & reached | other & ~reached
    bases = (0, reached, reached & 0x5555)
    found = {
        offset_in_parts(Numbers(), base, reached, constant)  # type: ignore[arg-type, operator]
        - offset_in_parts(Numbers(), base, reached, other)  # type: ignore[arg-type]
        for base in bases
    }
    assert len(found) == 1
