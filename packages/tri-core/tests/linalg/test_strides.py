"""Integers by places, against arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from tri_core.linalg.strides import Strided

SHAPE = (4, 8)
A, B = Strided(3, (8, 1), SHAPE), Strided(-1, (2, 0), SHAPE)


def elements(integers: Strided) -> Any:
    """The integers as an array."""
    return integers.offset + sum(
        s * i for s, i in zip(integers.strides, np.indices(integers.shape), strict=True)
    )


def test_arithmetic_is_that_of_arrays() -> None:
    assert np.array_equal(elements(A.plus(B)), elements(A) + elements(B))
    assert np.array_equal(elements(A.minus(B)), elements(A) - elements(B))
    uniform = Strided(5).splat(SHAPE)
    for product in (A.times(uniform), uniform.times(A)):
        assert product is not None
        assert np.array_equal(elements(product), 5 * elements(A))
    assert A.times(B) is None


def test_movements_are_those_of_arrays() -> None:
    row = Strided(7, (3,), (8,))
    assert np.array_equal(elements(row.expanded(0)), elements(row)[None])
    assert np.array_equal(elements(row.expanded(0).broadcast(SHAPE)), np.broadcast_to(elements(row), SHAPE))
    assert np.array_equal(elements(A.transposed([1, 0])), elements(A).T)
    assert np.array_equal(elements(A.moved(0)), elements(A) - 3)


def test_what_is_equal_everywhere_is_uniform() -> None:
    assert Strided(5).splat(SHAPE).is_uniform
    assert not A.is_uniform
    assert Strided(0).splat(SHAPE).is_zero
    assert not Strided(1).splat(SHAPE).is_zero
