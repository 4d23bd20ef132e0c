"""TTGIR that is compiled as text says itself how many warps and CTAs run it; options that nobody gave don't."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tri
from tri_core.compiler import IRSource

TEXT = """
#b = #ttg.blocked<{{sizePerThread = [1], threadsPerWarp = [{lanes}], warpsPerCTA = [{warps}], order = [0]}}>
module attributes {{"ttg.num-warps" = {warps} : i32, "ttg.num-ctas" = 1 : i32, "ttg.threads-per-warp" = {lanes} : i32}} {{
  tt.func public @double(%x: !tt.ptr<i32>, %out: !tt.ptr<i32>) {{
    %i = tt.make_range {{end = {size} : i32, start = 0 : i32}} : tensor<{size}xi32, #b>
    %xs = tt.splat %x : !tt.ptr<i32> -> tensor<{size}x!tt.ptr<i32>, #b>
    %from = tt.addptr %xs, %i : tensor<{size}x!tt.ptr<i32>, #b>, tensor<{size}xi32, #b>
    %v = tt.load %from : tensor<{size}x!tt.ptr<i32>, #b>
    %w = arith.addi %v, %v : tensor<{size}xi32, #b>
    %outs = tt.splat %out : !tt.ptr<i32> -> tensor<{size}x!tt.ptr<i32>, #b>
    %to = tt.addptr %outs, %i : tensor<{size}x!tt.ptr<i32>, #b>, tensor<{size}xi32, #b>
    tt.store %to, %w : tensor<{size}x!tt.ptr<i32>, #b>
    tt.return
  }}
}}
"""


@tri.jit
def double(x: Any, out: Any) -> None:
    """Of which the text is a version."""


@pytest.mark.parametrize("warps", [1, 4, 16])
@pytest.mark.parametrize(
    ("target", "lanes"),
    [("sim:nvidia:sm_90a", 32), ("sim:amd:gfx942", 64), ("sim:amd:gfx1201", 32), ("sim:intel:pvc", 32)],
)
def test_its_warps_run_it(target: str, lanes: int, warps: int, tmp_path: Path) -> None:
    size = warps * lanes
    path = tmp_path / "double.ttgir"
    path.write_text(TEXT.format(warps=warps, lanes=lanes, size=size))
    kernel = tri.compile(IRSource.from_file(path), target=target)
    assert (kernel.metadata.num_warps, kernel.metadata.threads, kernel.metadata.num_ctas) == (warps, size, 1)
    x, out = np.arange(size, dtype=np.int32), np.zeros(size, np.int32)
    with tri.target(target):
        double[(1,)](x, out, ir_override=str(path))
    np.testing.assert_array_equal(out, 2 * x)


def test_its_ctas_are_those_of_a_cluster(tmp_path: Path) -> None:
    text = TEXT.format(warps=2, lanes=32, size=128).replace('"ttg.num-ctas" = 1', '"ttg.num-ctas" = 2')
    path = tmp_path / "double.ttgir"
    path.write_text(text.replace("order = [0]", "order = [0], CGALayout = [[1]]"))
    assert tri.compile(IRSource.from_file(path), target="nvidia:sm_90a").metadata.cluster_dims == (2, 1, 1)
