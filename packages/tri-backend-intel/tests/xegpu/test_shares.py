"""Shares: every element is somebody's, as often as it should be; dimensions move as those of a tensor do."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tri_backend_intel.xegpu.shares import COLUMNS, LANES, ROWS, Dim, Grid, Share

POWERS = st.integers(0, 3).map(lambda n: 1 << n)


@st.composite
def shared(draw: st.DrawFn) -> tuple[Grid, Share]:
    rows, columns, over = draw(POWERS), draw(POWERS), draw(POWERS)
    grid = Grid(rows, columns, rows * columns * over)
    axes = draw(st.sampled_from([(ROWS, COLUMNS), (ROWS, None), (None, COLUMNS), (None, None)]))
    tall = draw(st.sampled_from([8, 16]))
    m, n = draw(POWERS) * grid.parts(axes[0]), draw(POWERS) * grid.parts(axes[1]) * LANES
    dims = (Dim(m, axes[0], grid.parts(axes[0]), tall=tall), Dim(n, axes[1], grid.parts(axes[1]), lanes=True))
    return grid, Share(dims).transposed(draw(st.permutations([0, 1])))


@given(shared())
def test_all_elements_are_had_by_as_many_sub_groups_as_have_the_same(case: tuple[Grid, Share]) -> None:
    grid, share = case
    assert share.fits
    had = np.zeros(share.shape, int)
    for number in range(grid.warps):
        row, column, _ = grid.coordinates(number)
        for index in share.indices():
            corner = [
                at + (0 if dim.axis is None else (row, column)[dim.axis] * dim.share)
                for at, dim in zip(share.start(index), share.dims, strict=True)
            ]
            had[tuple(slice(at, at + dim.piece) for at, dim in zip(corner, share.dims, strict=True))] += 1
    assert (had == share.replicas(grid)).all()


@given(shared())
def test_pieces_are_numbered_in_their_order(case: tuple[Grid, Share]) -> None:
    _, share = case
    assert [share.number(index) for index in share.indices()] == list(range(len(share)))


@given(shared())
def test_a_transpose_has_the_same_pieces(case: tuple[Grid, Share]) -> None:
    _, share = case
    turned = share.transposed([1, 0])
    assert turned.transposed([1, 0]) == share
    assert (turned.piece, len(turned)) == (share.piece, len(share))


@given(shared(), st.sampled_from([0, 1]))
def test_a_dimension_that_goes_and_comes_back_as_one_leaves_the_other(
    case: tuple[Grid, Share], axis: int
) -> None:
    _, share = case
    reduced = share.without(axis)
    assert reduced.expanded(axis).without(axis) == reduced
    assert reduced.expanded(axis).piece == reduced.piece
    assert reduced.dims[0] == share.dims[1 - axis]


@given(POWERS, POWERS)
def test_each_sub_group_of_a_grid_has_its_own_coordinates(rows: int, columns: int) -> None:
    grid = Grid(rows, columns, rows * columns * 2)
    found = {grid.coordinates(n) for n in range(grid.warps)}
    assert found == set(product(range(rows), range(columns), range(2)))


def test_grids_that_use_more_sub_groups_come_first() -> None:
    used = [grid.rows * grid.columns for grid in Grid.all(8)]
    assert used == sorted(used, reverse=True)
    assert (used[0], used[-1]) == (8, 1)


@pytest.mark.parametrize(
    "dims",
    [
        (Dim(8), Dim(8)),  # none along the lanes
        (Dim(16, lanes=True), Dim(16, lanes=True)),
        (Dim(8, lanes=True),),  # fewer than lanes
        (Dim(8, ROWS, 16), Dim(16, lanes=True)),  # fewer than sub-groups
    ],
)
def test_what_has_no_whole_pieces_does_not_fit(dims: tuple[Dim, ...]) -> None:
    assert not Share(dims).fits
