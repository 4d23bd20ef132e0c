"""f32 operands of ``mma.sync`` as tf32: as near to rounding as sums see, by one instruction for an operand's register."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

import tri
import tri.language as tl
from matrix_kernels import matmul

Array = npt.NDArray[np.float32]

SIZE = 64
#: of the operands in a warp of four, two to a dimension: 32 x 64 of A and 64 x 32 of B
REGISTERS = 2 * 32 * SIZE // 32
#: half of the distance between numbers of tf32, relative to the smaller one
ROUNDING = 2.0**-11


def multiplied(a: Array, b: Array) -> tuple[tri.CompiledKernel, Array]:
    c = np.full((SIZE, SIZE), np.nan, np.float32)
    with tri.target("sim:nvidia:sm_80"):
        kernel = matmul[(1,)](a, b, c, SIZE, SIZE, SIZE, False, False, tl.float32, "tf32", num_warps=4)
    return kernel, c


def numbers(seed: int) -> Array:
    return np.exp2(np.random.default_rng(seed).uniform(-3, 3, (SIZE, SIZE))).astype(np.float32)


def test_one_instruction_for_a_register() -> None:
    kernel, _ = multiplied(numbers(1), numbers(2))
    text = kernel.asm["llir"]
    assert "nvm.mma" in text
    assert "cvt.rna" not in text
    assert text.count("llvm.fmul") <= REGISTERS


def test_sums_of_positive_numbers_are_not_too_small() -> None:
    """Cut off as the instruction does it they are 7e-4 too small, rounded to nearest less than 1e-5."""
    a, b = numbers(3), numbers(4)
    _, c = multiplied(a, b)
    error = c / (a.astype(np.float64) @ b.astype(np.float64)) - 1
    assert abs(error.mean()) < 5e-5
    assert np.abs(error).max() < ROUNDING


def test_each_number_is_near() -> None:
    a = numbers(5)
    _, c = multiplied(a, np.eye(SIZE, dtype=np.float32))
    assert (np.abs(c / a - 1) < 1.3 * ROUNDING).all()


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 2047.0, -3.0, 2.0**-120, 0.0])
def test_numbers_of_tf32_and_others_stay(value: float) -> None:
    a = np.zeros((SIZE, SIZE), np.float32)
    a[3, :] = value
    if np.isnan(value):
        a.view(np.uint32)[3, :] = 0x7FFFFFFF  # what hardware makes
    _, c = multiplied(a, np.full((SIZE, SIZE), 1 / SIZE, np.float32))
    np.testing.assert_array_equal(c[3], np.full(SIZE, value, np.float32))
