"""Tiles that leave from registers, each warp's own, in the simulator: the bits of TMA stores, and no barrier of warps for them."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tri
import tri.language as tl
from tri.tools.tensor_descriptor import TensorDescriptor

M, N, K = 128, 128, 32


@tri.jit
def matmuls(a, b, c, rows, columns, steps, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    i, j = tl.program_id(0) * M, tl.program_id(1) * N
    total = tl.zeros([M, N], dtype=tl.float32)
    for step in range(steps):
        total = tl.dot(a.load([i, step * K]), b.load([step * K, j]), total)
    c.store([i, j], total.to(c.dtype))


def multiplied(rows, columns, dtype, *, warps=8, **options):
    """The dot, and the kernel; columns are multiples of 16 bytes, as descriptors want them."""
    random = np.random.default_rng([rows, columns])
    a = random.standard_normal((rows, 64)).astype(np.float16)
    b = random.standard_normal((64, columns)).astype(np.float16)
    c = np.full((rows, columns), np.nan, dtype)
    given = [TensorDescriptor.from_tensor(x, tile) for x, tile in ((a, [M, K]), (b, [K, N]), (c, [M, N]))]
    grid = (tri.cdiv(rows, M), tri.cdiv(columns, N))
    with tri.target("sim:nvidia:sm_90a"):
        kernel = matmuls[grid](
            *given, rows, columns, 2, M, N, K,
            num_warps=warps, num_stages=2, warp_specialize=True, persistent=True, **options,
        )  # fmt: skip
    expected = a.astype(float) @ b.astype(float)
    assert np.abs(c.astype(float) - expected).max() <= 2e-3 * np.abs(expected).max()
    return c, kernel.asm["ttgir"]


@pytest.mark.parametrize(("rows", "columns"), [(256, 256), (200, 136), (72, 80)])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_tiles_are_the_same(rows: int, columns: int, dtype: type) -> None:
    """Inside of the tensor, over its end in either dimension, and in both."""
    got, text = multiplied(rows, columns, dtype, tma_stores=False)
    expected, copied = multiplied(rows, columns, dtype)
    assert np.array_equal(got, expected)
    assert "async_copy_local_to_descriptor" in copied
    assert "async_copy_local_to_descriptor" not in text


@pytest.mark.parametrize("warps", [4, 8])
def test_no_warp_waits_for_another(warps: int) -> None:
    """From where the programs' loop begins nothing but blocks is waited for, and the tile takes no shared memory."""
    _, text = multiplied(256, 256, np.float16, warps=warps, tma_stores=False)
    loop = text[text.index("scf.while") if "scf.while" in text else text.index("scf.for") :]
    assert not re.search(r"ttg\.barrier local|async_store_wait|ttg\.local_alloc", loop)
    stores = re.findall(r"tt\.store .*", text)
    assert len(stores) == 2
    assert "tt.own_rows" in stores[0]
    assert "#linear" in stores[0]


def test_an_option_must_be_given() -> None:
    """Tiles leave by TMA otherwise."""
    _, text = multiplied(128, 128, np.float16)
    assert "tt.own_rows" not in text
