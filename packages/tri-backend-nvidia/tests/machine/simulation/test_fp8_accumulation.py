"""Dots of 8-bit floats add up in fewer bits than f32 has, unless they are told to add parts in f32."""

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import tri
import tri.language as tl
from tri_backend_nvidia.machine.simulation.fp8_accumulation import accumulate

MEASURED = np.load(Path(__file__).parents[2] / "data" / "fp8_accumulation_h200.npz")
CASES = sorted({name[:-2] for name in MEASURED.files})


@pytest.mark.parametrize("case", CASES)
def test_what_an_h200_adds_up(case: str) -> None:
    a, b, found = (MEASURED[f"{case}_{part}"].astype(np.float64) for part in "abc")
    for k in range(0, a.shape[1], 32):
        found = accumulate(found, a[:, k : k + 32], b[:, k : k + 32])
    np.testing.assert_array_equal(found, MEASURED[f"{case}_o"])


def test_infinities_and_nans_are_kept() -> None:
    left, right = np.ones((4, 32)), np.ones((1, 32))
    left[0, 3], left[1, 5], left[2, 0:2] = np.inf, np.nan, (np.inf, -np.inf)
    found = accumulate(np.zeros((4, 1)), left, right)
    np.testing.assert_array_equal(found[:, 0], [np.inf, np.nan, np.nan, 32.0])


@tri.jit
def sums(a, b, c, K, BK: tl.constexpr, MOST: tl.constexpr):
    """Column sums in steps of BK; MOST is max_num_imprecise_acc."""
    m, n, k = tl.arange(0, 64), tl.arange(0, 64), tl.arange(0, BK)
    acc = tl.zeros((64, 64), tl.float32)
    for start in range(0, K, BK):
        x = tl.load(a + m[:, None] * K + start + k[None, :])
        y = tl.load(b + n[None, :] * K + start + k[:, None])
        acc = tl.dot(x, y, acc, max_num_imprecise_acc=MOST)
    tl.store(c + m[:, None] * 64 + n[None, :], acc)


def error(block: int, most: int | None, k: int = 1024) -> float:
    """The largest relative error of sums of ``k`` positive dot terms, on sm_90a."""
    random = np.random.default_rng(0)
    a, b = (random.uniform(0.5, 1.5, (64, k)).astype(ml_dtypes.float8_e4m3fn) for _ in range(2))
    c = np.full((64, 64), np.nan, np.float32)
    with tri.target("sim:nvidia:sm_90a"):
        kernel = sums[(1,)](a, b, c, k, BK=block, MOST=most, num_warps=4)
    assert "wgmma" in kernel.asm["llir"]
    exact = a.astype(np.float64) @ b.astype(np.float64).T
    return float(np.abs(c / exact - 1).max())


@pytest.mark.parametrize(("block", "most"), [(64, 64), (64, 32), (128, 128), (128, 64), (64, 0)])
def test_parts_are_added_in_f32(block: int, most: int) -> None:
    assert error(block, most) < 2e-3


@pytest.mark.parametrize(("block", "most"), [(64, None)])
def test_the_whole_is_added_in_short_sums_unless_told(block: int, most: int | None) -> None:
    assert error(block, most) > 1e-2
