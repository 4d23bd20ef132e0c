"""Integers that become floats in two steps are rounded twice, on every target: near the middle between two floats that shows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import tri
import tri.language as tl

TARGETS = ("cpu", "sim:nvidia:sm_80", "sim:nvidia:sm_90a", "sim:amd:gfx942", "sim:amd:gfx950", "sim:intel:pvc", "interpreter")  # fmt: skip
N = 64


@tri.jit
def kernel(x: Any, through_f32: Any, direct: Any, through_f64: Any, half: Any, N: tl.constexpr) -> None:
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(through_f32 + i, v.to(tl.float32).to(tl.bfloat16).to(tl.float32))
    tl.store(direct + i, v.to(tl.bfloat16).to(tl.float32))
    tl.store(through_f64 + i, v.to(tl.float64).to(tl.float32))
    tl.store(half + i, v.to(tl.float64).to(tl.float32).to(tl.float16).to(tl.float32))


def bf16(x: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """f32 rounded to bf16, ties to even, by its bits."""
    bits = x.view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + (bits >> np.uint64(16) & np.uint64(1))) & np.uint64(0xFFFF0000)
    return rounded.astype(np.uint32).view(np.float32)


def middles(dtype: str) -> npt.NDArray[Any]:
    """Numbers a little above and below the middle between two floats of 8 or 24 bits, and others."""
    top = 60 if dtype.endswith("64") else 29
    sums = [(1 << a) + (1 << a - 8) + d for a in range(top - 6, top) for d in (-1, 0, 1)]
    sums += [(1 << a) + (1 << a - 24) + d for a in range(top - 4, top) for d in (-1, 0, 1)]
    made = np.array(sums, dtype)
    return np.resize(np.concatenate([made, -made if dtype.startswith("i") else made + 2]), N)


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("target", TARGETS)
def test_integers_are_rounded_as_written(target: str, dtype: str) -> None:
    x = middles(dtype)
    outs = [np.zeros(N, np.float32) for _ in range(4)]
    with tri.interpret() if target == "interpreter" else tri.target(target):
        kernel[(1,)](x, *outs, N)
    single = x.astype(np.float32)
    with np.errstate(over="ignore"):
        half = x.astype(np.float64).astype(np.float32).astype(np.float16).astype(np.float32)
    wanted = [bf16(single), bf16(single), x.astype(np.float64).astype(np.float32), half]
    for made, want in zip(outs, wanted, strict=True):
        np.testing.assert_array_equal(made, want)
