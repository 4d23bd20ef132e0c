"""Elements that differ, beyond the tolerance of their type or at all; grids as texts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tri
import tri.language as tl
from tri.verifying import trial_of
from tri.verifying.grids import grid_of
from tri.verifying.records import Difference, first_difference
from tri_core.errors import OptionError


def test_the_first_element_that_differs() -> None:
    left: dict[str, Any] = {"x": np.arange(4), "y": np.array([1.0, 2.0, np.nan, -0.0], np.float32)}
    right: dict[str, Any] = {"x": left["x"], "y": np.array([1.0, 2.0, np.nan, 0.0], np.float32)}
    assert first_difference(left, left, exact=True) is None
    assert first_difference(left, right, exact=True) == Difference("y", 3, -0.0, 0.0, 1)
    assert first_difference(left, right, exact=False) is None
    right["y"][1] = 2.01
    assert first_difference(left, right, exact=False) == Difference("y", 1, 2.0, float(np.float32(2.01)), 1)
    right["x"] = left["x"] + 1
    assert first_difference(left, right, exact=False) == Difference("x", 0, 0, 1, 4)


@tri.jit
def copied(x, y, n):
    tl.store(y, tl.load(x))


def test_extremes_are_integers_of_the_whole_range() -> None:
    trial = trial_of(copied, "*i16, *fp32, i32")
    few, many = (each.arguments(0) for each in (trial, replace(trial, extremes=True)))
    assert few["x"].min() >= 1
    assert {-(2**15), 2**15 - 1, 0, -1} <= set(many["x"].tolist())
    assert np.abs(many["y"]).max() <= 4
    assert (many["x"] == replace(trial, extremes=True).arguments(0)["x"]).all()


@pytest.mark.parametrize(
    ("text", "grid"),
    [("4, 2", (4, 2)), ("cdiv(M, B)", (3,)), ("M // B * 2 - 1, max(M, 9) % 5", (3, 4)), ("-(-M)", (5,))],
)
def test_grids_are_computed_of_parameters(text: str, grid: tuple[int, ...]) -> None:
    assert grid_of(text, {"M": 5, "B": 2}) == grid


@pytest.mark.parametrize(
    "text", ["many", "", "1, 2, 3, 4", "M / 2", "0", "M // 0", "cdiv(M)", "x", "min(M)", "True"]
)
def test_other_texts_are_no_grids(text: str) -> None:
    with pytest.raises(OptionError, match="no grid"):
        grid_of(text, {"M": 5, "x": 1.5})
