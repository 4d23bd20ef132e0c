"""Elements that differ, beyond the tolerance of their type or at all."""

from __future__ import annotations

from typing import Any

import numpy as np

from tri.verifying.records import Difference, first_difference


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
