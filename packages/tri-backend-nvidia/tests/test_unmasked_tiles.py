"""Elementwise kernels whose size no number divides: vectors inside, elements at the edge, the simulated results of both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tri
import tri.language as tl


@tri.jit(do_not_specialize=["n"])
def doubled(x: Any, out: Any, n: Any, TILE: tl.constexpr) -> None:
    o = tl.program_id(0) * TILE + tl.arange(0, TILE)
    tl.store(out + o, tl.load(x + o, mask=o < n) * 2.0, mask=o < n)


@tri.jit(do_not_specialize=["n"])
def over_a_grid(x: Any, out: Any, step: int, n: Any, tiles: int, TILE: tl.constexpr) -> None:
    for j in range(tiles):
        o = ((tl.program_id(0).to(tl.int64) + j * tl.num_programs(0).to(tl.int64)) * TILE).to(tl.int32)
        source = tl.make_block_ptr(x, (n,), (step,), (o,), (TILE,), order=(0,))
        target = tl.make_block_ptr(out, (n,), (step,), (o,), (TILE,), order=(0,))
        tl.store(target, tl.load(source, boundary_check=(0,)) * 2.0, boundary_check=(0,))


@pytest.mark.parametrize("n", [1, 509, 512, 515, 1023, 1024])
def test_the_edge_is_the_mask_s(n: int) -> None:
    x = np.arange(1100, dtype=np.float32)
    with tri.target("sim:nvidia:sm_90a"):
        for kernel, arguments in ((doubled, (n,)), (over_a_grid, (1, n, 2))):
            out = np.full(1100, -1, np.float32)
            kernel[(2,)](x, out, *arguments, TILE=512)
            expected = np.where(np.arange(1100) < n, 2 * x, -1)
            np.testing.assert_array_equal(out, expected)


def test_tiles_inside_are_accessed_by_vectors() -> None:
    x = np.zeros(1100, np.float32)
    with tri.target("nvidia:sm_90a"):
        ptx = doubled.warmup(x, x, 1001, TILE=512, grid=(2,)).asm["ptx"]
    inside = [line for line in ptx.splitlines() if ".v4.b32" in line]
    assert len(inside) == 2
    assert not any("@%" in line for line in inside)
