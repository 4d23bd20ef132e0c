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


@tri.jit
def stored(target, x, M: tl.constexpr, N: tl.constexpr, START: tl.constexpr, ADD: tl.constexpr):
    block = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    if ADD:
        target.atomic_add([0, START], block)
    else:
        target.store([0, START], block)


@tri.jit
def stored_where_it_is_made(
    out,
    x,
    width,
    M: tl.constexpr,
    N: tl.constexpr,
    START: tl.constexpr,
    ADD: tl.constexpr,
    WIDTH: tl.constexpr,
):
    if WIDTH:
        width = WIDTH
    stored(tl.make_tensor_descriptor(out, (M, width), (2 * N, 1), (M, N)), x, M, N, START, ADD)


@pytest.mark.parametrize("way", ["host", "made of a constant", "made of a parameter"])
@pytest.mark.parametrize("add", [False, True])
@pytest.mark.parametrize(
    ("dtype", "width", "start"),
    [(np.int32, 27, 0), (np.int32, 28, 0), (np.int32, 32, 0), (np.int32, 45, 32), (np.float16, 33, 32), (np.float16, 1, 0),
     (np.float32, 64, 32), (np.int64, 31, 0), (np.uint32, 19, 16)],
)  # fmt: skip
def test_nothing_behind_a_row_is_written(dtype: type, width: int, start: int, way: str, add: bool) -> None:
    """Stores of the hardware go on to the end of 16 bytes."""
    random = np.random.default_rng(width)
    x = random.integers(1, 100, (16, 32)).astype(dtype)
    out = np.full((16, 64), 7, dtype)
    expected = out.copy()
    inside = max(min(width - start, 32), 0)
    if dtype is np.int64 and add:
        pytest.skip("no reduction of signed 64 bits")
    part = x[:, :inside]
    expected[:, start : start + inside] = expected[:, start : start + inside] + part if add else part
    with tri.target("sim:nvidia:sm_90a"):
        if way == "host":
            kernel = stored[(1,)](
                TensorDescriptor(out, [16, width], [64, 1], [16, 32]), x, 16, 32, start, add
            )
        else:
            constant = width if way.endswith("constant") else 0
            kernel = stored_where_it_is_made[(1,)](out, x, width, 16, 32, start, add, constant)
    np.testing.assert_array_equal(out, expected)
    # 1 is a constant wherever a launch says it
    is_constant = way.endswith("constant") or (way.endswith("parameter") and width == 1)
    ends_at_pieces = width * x.itemsize % 16 == 0 if is_constant else width % 16 == 0
    text = kernel.asm["ttir"]
    assert ("scf.if" in text) == (not ends_at_pieces and not is_constant)
    assert ("tt.descriptor_" in text) == (ends_at_pieces or not is_constant)
