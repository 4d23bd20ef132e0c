"""What a launch passes beside a kernel's own parameters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tri_core.api import HiddenParameters, LaunchError, LaunchNumber

GRID = HiddenParameters(grid=True)


@given(st.tuples(*[st.integers(1, 300)] * 3), st.integers(1, 1000))
def test_each_program_has_one_cta(grid: tuple[int, int, int], resident: int) -> None:
    programs = grid[0] * grid[1] * grid[2]
    ctas, *others = GRID.ctas(grid, resident)
    assert others == [1, 1]
    assert 1 <= ctas <= min(resident, programs)
    # in steps of their number the CTAs come to every program
    assert sum(len(range(cta, programs, ctas)) for cta in range(ctas)) == programs
    assert HiddenParameters().ctas(grid, resident) == grid


def test_what_i32_does_not_count() -> None:
    most = (1 << 31) - 1
    assert GRID.ctas((most - 132, 1, 1), 132) == (132, 1, 1)
    with pytest.raises(LaunchError, match="counts up to 2147483515") as found:
        GRID.ctas((most - 131, 1, 1), 132)
    assert "persistent=False" in (found.value.remedy or "")


def test_attributes_of_an_image() -> None:
    assert HiddenParameters().to_attrs() == {}
    assert HiddenParameters.from_attrs({}) == HiddenParameters()
    assert HiddenParameters.from_attrs({**GRID.to_attrs(), "other": 1}) == GRID
    assert [(p.name, p.type) for p in GRID.parameters] == [(f"grid.{axis}", "i32") for axis in "xyz"]
    assert HiddenParameters().parameters == ()
    scratch = HiddenParameters(grid=True, counter=True, scratch=256)
    assert HiddenParameters.from_attrs(scratch.to_attrs()) == scratch
    assert [(p.name, p.type) for p in scratch.parameters[3:]] == [("counter", "*i32"), ("scratch", "*i8")]
    drawn = HiddenParameters(grid=True, counter=True)
    assert HiddenParameters.from_attrs(drawn.to_attrs()) == drawn
    assert [(p.name, p.type) for p in drawn.parameters][3:] == [("counter", "*i32")]


@given(st.integers(-(2**63), 2**63 - 1))
def test_numbers_are_bounded_before_they_are_narrowed(number: int) -> None:
    narrow = LaunchNumber(1, most=2**31 - 1, bits=32).of((0, number))
    assert -(2**31) <= narrow < 2**31
    assert (narrow - min(number, 2**31 - 1)) % 2**32 == 0
    assert LaunchNumber(1).of((0, number)) == number
    assert LaunchNumber(value=number).of(()) == number
