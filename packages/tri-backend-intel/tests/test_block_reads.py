"""Left operands of DPAS that are gathered: through local memory in whole rows, read by the whole sub-group at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tri
import tri.language as tl


@tri.jit
def gathered_matmul(
    a_ptr: Any, b_ptr: Any, c_ptr: Any, rows_ptr: Any, K: Any, stride_a: Any, stride_b: Any, stride_c: Any,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
) -> None:  # fmt: skip
    m, n, k = tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_N), tl.arange(0, BLOCK_K)
    rows = tl.load(rows_ptr + m)
    acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        a = tl.load(
            a_ptr + rows[:, None] * stride_a + (start + k[None, :]), mask=rows[:, None] >= 0, other=0.0
        )
        b = tl.load(b_ptr + (start + k[:, None]) * stride_b + n[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + m[:, None] * stride_c + n[None, :], acc)


@pytest.mark.parametrize("rows", [1, 2, 4, 8, 32])
@pytest.mark.parametrize("warps", [1, 4])
def test_gathered_rows_are_right(rows: int, warps: int) -> None:
    """However many rows an instruction has; a row of less than nothing is zeros."""
    random, n, k = np.random.default_rng(rows), 32, 96
    a, b = (random.integers(-3, 4, shape).astype(np.float16) for shape in ((40, k), (k, n)))
    taken = random.integers(0, 40, rows).astype(np.int32)
    taken[-1] = -1
    c = np.full((rows, n), np.nan, np.float32)
    with tri.target("sim:intel:pvc"):
        gathered_matmul[(1,)](
            a, b, c, taken, k, k, n, n, BLOCK_M=rows, BLOCK_N=n, BLOCK_K=32, num_warps=warps
        )
    wanted = np.where(taken[:, None] < 0, 0, a[taken]).astype(np.float64) @ b
    np.testing.assert_array_equal(c, wanted.astype(np.float32))


def _compiled(target: str) -> dict[str, str]:
    types = dict.fromkeys(("a_ptr", "b_ptr"), "*fp16") | {"c_ptr": "*fp32", "rows_ptr": "*i32"}
    types |= dict.fromkeys(("K", "stride_a", "stride_b", "stride_c"), "i32")
    sizes = {"BLOCK_M": 64, "BLOCK_N": 128, "BLOCK_K": 32}
    whole = {(i,): [["tt.divisibility", 16]] for i in range(len(types))}
    source = tri.ASTSource(gathered_matmul, types | dict.fromkeys(sizes, "constexpr"), sizes, whole)
    kernel = tri.compile(source, target=target, options={"num_warps": 8})
    return {name: str(kernel.asm[name]) for name in ("ttgir", "llir")}


def test_gathered_rows_are_written_in_vectors_and_read_by_the_sub_group() -> None:
    """No element goes alone, neither to local memory nor from it."""
    code = _compiled("intel:pvc")["llir"]
    assert "intel_sub_group_block_read_us8" in code
    assert "store <4 x i32>" in code
    assert not [
        line
        for line in code.splitlines()
        if "addrspace(3)" in line and ("store half" in line or "load half" in line)
    ]
    assert "block_read" not in _compiled("intel:dg2")["llir"]


def test_a_loop_by_steps_of_a_block_reads_blocks() -> None:
    """Its coordinate is a multiple of which iteration it is."""
    loads = [line for line in _compiled("intel:pvc")["ttgir"].splitlines() if "ttig.tile_load" in line]
    assert [line for line in loads if "by_elements" not in line]
