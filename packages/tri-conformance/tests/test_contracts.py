"""Contracts accept what is within their bound and nothing else."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tri_conformance.contracts import Close, Exact, Inaccurate, Ulp, ulp_of


@given(st.floats(-1e30, 1e30), st.integers(0, 8))
def test_ulp_counts_units(value: float, steps: int) -> None:
    near = np.array([value], np.float32)
    away = near
    for _ in range(steps):
        away = np.nextafter(away, np.float32(np.inf))
    exact = near.astype(np.float64)
    Ulp(2 * steps).check(away, exact)  # across a power of two a unit is twice as large
    if steps >= 2 and abs(value) > 1e-30:
        with pytest.raises(AssertionError, match="ulp"):
            Ulp(steps / 2 - 0.6).check(away, exact)


@pytest.mark.parametrize(
    ("dtype", "one"),
    [(np.float16, 2.0**-10), (np.float32, 2.0**-23), (np.float64, 2.0**-52), (ml_dtypes.bfloat16, 2.0**-7)],
)
def test_unit_at_one(dtype: type, one: float) -> None:
    assert ulp_of(np.array([1.0, 1.5, 2.0]), np.dtype(dtype)).tolist() == [one, one, 2 * one]


@pytest.mark.parametrize("contract", [Exact(), Ulp(4), Close(1e-3, 1e-3)])
@pytest.mark.parametrize(
    ("got", "exact"),
    [(np.nan, 1.0), (1.0, np.nan), (np.inf, 1.0), (1.0, np.inf), (np.inf, -np.inf), (1.0, 1.1)],
)
def test_special_values_are_not_near_others(contract: Exact | Ulp | Close, got: float, exact: float) -> None:
    with pytest.raises(AssertionError):
        contract.check(np.array([0, got], np.float32), np.array([0, exact]))


@pytest.mark.parametrize("contract", [Exact(), Ulp(0), Close(0)])
def test_special_values_are_near_themselves(contract: Exact | Ulp | Close) -> None:
    values = np.array([np.nan, np.inf, -np.inf, 0.0, 1.5, 1e-40])
    contract.check(values.astype(np.float32), values.astype(np.float32).astype(np.float64))


def test_exactness_of_large_integers() -> None:
    with pytest.raises(AssertionError, match="first at"):
        Exact().check(np.array([2**53 + 1]), np.array([2**53]))


def test_what_is_only_inaccurate_says_how_far_it_is() -> None:
    exact = np.array([1.0, np.inf])
    with pytest.raises(Inaccurate, match="4 ulp") as caught:
        Ulp(4).check(np.array([1 + 9 * 2.0**-23, np.inf], np.float32), exact)
    assert caught.value.ulp == 8.5  # the exact result may itself be half a unit from the nearest float


def test_a_misplaced_infinity_is_more_than_inaccurate() -> None:
    with pytest.raises(AssertionError) as caught:
        Ulp(4).check(np.array([1 + 9 * 2.0**-23, 3.0], np.float32), np.array([1.0, np.inf]))
    assert not isinstance(caught.value, Inaccurate)


def test_sums_tell_how_far_they_are_in_ulps_of_the_largest() -> None:
    exact = np.array([1.0, 100.0, np.inf])
    got = np.array([1.5, 100.0, np.inf], np.float32)
    with pytest.raises(Inaccurate, match=r"1 of 3 elements.*ulp of the largest") as caught:
        Close(1e-5, 1e-5).check(got, exact)
    assert caught.value.ulp == 0.5 / 2**-17


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_sums_that_are_no_numbers_are_wrong(value: float) -> None:
    with pytest.raises(AssertionError) as caught:
        Close(1e-5, 1e-5).check(np.array([1.5, value], np.float32), np.array([1.0, 2.0]))
    assert not isinstance(caught.value, Inaccurate)
