"""Masks as boxes, against arrays: with numbers for bounds all of it is Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tri_core.linalg.boxes import Box, box_of_comparison
from tri_core.linalg.strides import Strided
from tri_core.mlir import arith

COMPARISONS = {
    arith.CmpIPredicate.slt: np.less,
    arith.CmpIPredicate.sle: np.less_equal,
    arith.CmpIPredicate.sgt: np.greater,
    arith.CmpIPredicate.sge: np.greater_equal,
}
SHAPE = (4, 8)


def elements(integers: Strided) -> Any:
    """The integers as an array."""
    return integers.offset + sum(
        s * i for s, i in zip(integers.strides, np.indices(integers.shape), strict=True)
    )


def mask(box: Box) -> Any:
    """The box as an array of truths."""
    places = np.indices(box.shape)
    parts = [(low <= i) & (i < high) for i, low, high in zip(places, box.low, box.high, strict=True)]
    return np.logical_and.reduce([np.ones(box.shape, bool), *parts])


@pytest.mark.parametrize("limit", [-3, 0, 1, 5, 8, 20])
@pytest.mark.parametrize("stride", [1, -1])
@pytest.mark.parametrize("predicate", COMPARISONS, ids=lambda predicate: predicate.name)
def test_a_comparison_along_one_dimension_is_a_box(predicate: Any, stride: int, limit: int) -> None:
    left, right = Strided(2, (0, stride), SHAPE), Strided(limit).splat(SHAPE)
    for a, b in ((left, right), (right, left)):
        box = box_of_comparison(predicate, a, b)
        assert box is not None
        expected = COMPARISONS[predicate](elements(a), elements(b))
        assert np.array_equal(mask(box), expected)
        assert sum(box.sizes[1:]) * 4 == expected.sum()


@pytest.mark.parametrize("predicate", [arith.CmpIPredicate.eq, arith.CmpIPredicate.ult])
def test_other_comparisons_are_none(predicate: Any) -> None:
    assert box_of_comparison(predicate, Strided(0, (0, 1), SHAPE), Strided(3).splat(SHAPE)) is None


@pytest.mark.parametrize("strides", [(1, 1), (0, 2)])
def test_what_moves_otherwise_is_none(strides: tuple[int, int]) -> None:
    assert (
        box_of_comparison(arith.CmpIPredicate.slt, Strided(0, strides, SHAPE), Strided(3).splat(SHAPE))
        is None
    )


def test_both_of_two_boxes() -> None:
    a = Box.full(SHAPE).bounded(0, 1, 3)
    b = Box.full(SHAPE).bounded(0, 2, 4).bounded(1, 0, 5)
    assert np.array_equal(mask(a.both(b)), mask(a) & mask(b))
    assert a.both(Box.full(SHAPE)) == a


@pytest.mark.parametrize("low", [0, 1])
@pytest.mark.parametrize("high", [0, 1])
def test_movements_are_those_of_arrays(low: int, high: int) -> None:
    row = Box.full((8,)).bounded(0, 2, 5)
    assert np.array_equal(mask(row.expanded(0)), mask(row)[None])
    wide = Box.full((1, 8)).bounded(0, low, high).bounded(1, 2, 5)
    assert np.array_equal(mask(wide.broadcast(SHAPE)), np.broadcast_to(mask(wide), SHAPE))
    assert np.array_equal(mask(wide.transposed([1, 0])), mask(wide).T)
