"""Maxima and minima with their indices among NaN: the same on every target, whatever order it reduces in."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pytest

import tri
from integration.kernels.nans import extremes

TARGETS = ("interpreter", "cpu", "sim:nvidia:sm_90a", "sim:amd:gfx942", "sim:intel:pvc")


def on(name: str) -> AbstractContextManager[Any]:
    return tri.interpret() if name == "interpreter" else tri.target(name)


def rows() -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(0)
    found = [np.array([6, 8, 1, np.nan], np.float32), np.array([np.nan, 8, 1, 2], np.float32)]
    for count in (0, 1, 3, 20, 255, 256):
        row = rng.integers(-50, 50, 256).astype(np.float32)
        row[rng.permutation(256)[:count]] = np.nan
        found.append(row)
    return found


@pytest.mark.parametrize("left", [True, False], ids=["left", "any"])
@pytest.mark.parametrize("name", TARGETS)
def test_a_nan_comes_before_all_numbers(name: str, left: bool) -> None:
    for row in rows():
        values, indices, found = np.zeros(4, np.float32), np.zeros(2, np.int32), np.zeros(2, np.int32)
        with on(name):
            extremes[(1,)](row, values, indices, found, B=len(row), LEFT=left)
        if np.isnan(row).all():
            assert np.isnan(values).all()
        else:  # a plain maximum leaves NaN out
            np.testing.assert_array_equal(values[:2], [np.nanmax(row), np.nanmin(row)])
        np.testing.assert_array_equal(values[2:], [row.max(), row.min()])
        np.testing.assert_array_equal(row[indices], values[2:])
        np.testing.assert_array_equal(row[found], values[2:])
        if left:  # NumPy's are the first
            np.testing.assert_array_equal(indices, [np.argmax(row), np.argmin(row)])
            np.testing.assert_array_equal(found, indices)
