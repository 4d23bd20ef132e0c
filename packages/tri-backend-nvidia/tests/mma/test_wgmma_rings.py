"""Copies ahead of dots that stay under way: where they are issued, and that they overwrite nothing that is still read."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tri
import tri.language as tl
from matrix_kernels import tiles
from matrix_machine_code import Compiler

MADE = Compiler("nvidia:sm_90a", {"warp_specialize": False})
#: what a loop's order is told by
_MARKS = re.compile(
    r"cp\.async\.wait_group|wgmma\.mma_async|wgmma\.wait_group\.sync\.aligned \d|cp\.async\.c[ag]|bar\.sync"
)


def order(ptx: str) -> list[str]:
    """The loop's copies, dots, waits and barriers, each run of equal ones once."""
    (body,) = (part for part in re.split(r"^\$L__BB\w+:", ptx, flags=re.M) if "wgmma.mma_async" in part)
    body, _, _ = body.partition("bra")  # what follows is behind the loop
    found = [re.sub(r"cp\.async\.c[ag]", "copy", mark) for mark in _MARKS.findall(body)]
    return [mark for i, mark in enumerate(found) if i == 0 or mark != found[i - 1]]


def test_copies_stand_behind_the_dots_where_a_further_stage_would_cost_a_cta() -> None:
    made = MADE.gemm((128, 128, 64), 8, 3)
    assert made.metadata.shared == 3 * (128 + 128) * 64 * 2
    assert order(made.asm["ptx"]) == [
        "cp.async.wait_group", "bar.sync", "wgmma.mma_async", "wgmma.wait_group.sync.aligned 1", "bar.sync", "copy",
    ]  # fmt: skip


def test_copies_stand_before_the_dots_where_it_would_not() -> None:
    made = MADE.gemm((128, 256, 64), 8, 3)
    assert order(made.asm["ptx"]) == [
        "cp.async.wait_group", "bar.sync", "copy", "wgmma.mma_async", "wgmma.wait_group.sync.aligned 1",
    ]  # fmt: skip


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 5, 8])
def test_copies_behind_dots_overwrite_nothing(steps: int) -> None:
    rng, k = np.random.default_rng(0), 64 * steps
    a, b = (rng.integers(-4, 5, shape).astype(np.float16) for shape in ((128, k), (k, 128)))
    c = np.full((128, 128), np.nan, np.float32)
    with tri.target("sim:nvidia:sm_90a"), tri.simulation(report=False, races=True):
        made = tiles[(1, 1)](
            a, b, c, 128, 128, k, k, 1, 128, 1, 128, 128, 64, tl.float32, 3, num_warps=8, warp_specialize=False
        )  # fmt: skip
    assert made.metadata.shared == 3 * (128 + 128) * 64 * 2
    np.testing.assert_array_equal(c, a.astype(np.float64) @ b.astype(np.float64))
