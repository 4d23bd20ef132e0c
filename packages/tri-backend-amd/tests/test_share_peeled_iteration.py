"""The peeled iteration and the loop with masks are one loop: products of ragged depths, on loops that alternate as well; causal attention."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import mfma_kernels
import tri
import tri.language as tl

BLOCK = (64, 64, 64)


@pytest.mark.parametrize(
    ("chip", "kind"),
    [
        ("gfx942", "f16"),
        ("gfx942", "bf16"),
        ("gfx942", "i8"),
        ("gfx942", "f8E4M3FNUZ"),
        ("gfx90a", "f16"),
        ("gfx950", "f16"),
        ("gfx950", "i8"),
        ("gfx950", "f8E4M3FN"),
    ],
)
@pytest.mark.parametrize(
    "shape",
    [
        (64, 64, 128),
        (64, 64, 64),
        (48, 40, 192 + 16),
        # no whole iteration; nothing to add up
        (64, 48, 32),
        (64, 64, 0),
    ],
    ids=str,
)
def test_products_are_right_with_two_dots(chip: str, kind: str, shape: tuple[int, int, int]) -> None:
    total = "i32" if kind == "i8" else "f32"
    error, text = mfma_kernels.run(chip, (kind, kind), total, shape, BLOCK, warps=4)
    assert len(re.findall(r"= tt\.dot ", text)) == 2
    assert error < 1e-6


@pytest.mark.parametrize(("chip", "kind"), [("gfx942", "f16"), ("gfx942", "i8"), ("gfx950", "f16")])
def test_alternating_wavefronts_go_on_in_it(chip: str, kind: str) -> None:
    total = "i32" if kind == "i8" else "f32"
    error, text = mfma_kernels.run(chip, (kind, kind), total, (256, 256, 208), (256, 256, 64), warps=8)
    assert "amdg.cond_barrier" in text
    # four slices of the loop without masks, and the one with them
    assert len(re.findall(r"= tt\.dot ", text)) == 5
    assert error < 1e-6


# --- the diagonal of causal masks -------------------------------------------------------------------------

CHIPS = ("gfx942", "gfx950", "gfx1100", "gfx1201")


@tri.jit
def attention(
    q_ptr: Any, k_ptr: Any, v_ptr: Any, bias_ptr: Any, out_ptr: Any, length: Any,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
) -> None:  # fmt: skip
    """Sums of causal weights without a maximum, with a bias of each key's own: rows are 32 wide."""
    m, rows, columns = (
        tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M),
        tl.arange(0, BLOCK_N),
        tl.arange(0, 32),
    )
    q = tl.load(q_ptr + m[:, None] * 32 + columns[None, :], mask=m[:, None] < length, other=0.0)
    acc, total = tl.zeros([BLOCK_M, 32], tl.float32), tl.zeros([BLOCK_M], tl.float32)
    for start in range(0, tl.minimum((tl.program_id(0) + 1) * BLOCK_M, length), BLOCK_N):
        n = start + rows
        k = tl.load(k_ptr + n[:, None] * 32 + columns[None, :], mask=n[:, None] < length, other=0.0)
        bias = tl.load(bias_ptr + n, mask=n < length, other=0.0)
        scores = tl.dot(q, tl.trans(k)) + bias[None, :] + start * 0.001
        scores = tl.where((m[:, None] >= n[None, :]) & (n[None, :] < length), scores, float("-inf"))
        weights = tl.math.exp2(scores)
        total += tl.sum(weights, 1)
        v = tl.load(v_ptr + n[:, None] * 32 + columns[None, :], mask=n[:, None] < length, other=0.0)
        acc = tl.dot(weights.to(v.dtype), v, acc)
    tl.store(out_ptr + m[:, None] * 32 + columns[None, :], acc / total[:, None], mask=m[:, None] < length)


def attended(q: Any, k: Any, v: Any, bias: Any, block: int) -> Any:
    """What ``attention`` should give, in f64."""
    places = np.arange(len(q))
    scores = q.astype(np.float64) @ k.astype(np.float64).T + bias + places // block * block * 0.001
    weights = np.where(places[:, None] >= places[None, :], np.exp2(scores), 0.0)
    return weights @ v.astype(np.float64) / weights.sum(1, keepdims=True)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("blocks", [(32, 32), (64, 32), (32, 64)], ids=str)
@pytest.mark.parametrize("length", [20, 64, 97, 128])
def test_attention_is_right_with_one_copy_of_each_loop(
    chip: str, blocks: tuple[int, int], length: int
) -> None:
    rng = np.random.default_rng(length)
    q, k, v = (rng.standard_normal((length, 32)).astype(np.float16) / 2 for _ in range(3))
    bias, out = rng.standard_normal(length).astype(np.float32), np.full((length, 32), np.nan, np.float32)
    names = dict(zip(("BLOCK_M", "BLOCK_N"), blocks, strict=True))
    with tri.target(f"sim:amd:{chip}"):
        kernel = attention[(tri.cdiv(length, blocks[0]),)](
            q, k, v, bias, out, length, **names, num_warps=2, num_stages=2
        )
    np.testing.assert_allclose(out, attended(q, k, v, bias, blocks[1]), atol=4e-3, rtol=4e-3)
    text = kernel.asm["ttgir"]
    # two dots without masks, issued ahead, and two with them, which the last iteration without masks shares
    assert len(re.findall(r"= tt\.dot ", text)) == 4
    first, second = text.split("= scf.for ")[1:]
    assert "cmpi sge" not in first
    assert "cmpi sge" in second


@tri.jit
def prefix(x_ptr: Any, y_ptr: Any, out_ptr: Any, length: Any, BLOCK: tl.constexpr) -> None:
    """A causal mask over all of the columns, of which most may be behind the diagonal."""
    m, columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, BLOCK)
    acc = tl.zeros([BLOCK, BLOCK], tl.float32)
    for start in range(0, length, BLOCK):
        n = start + columns
        x = tl.load(x_ptr + m[:, None] * length + n[None, :])
        y = tl.load(y_ptr + n[:, None] * BLOCK + columns[None, :])
        acc = tl.dot(tl.where(m[:, None] >= n[None, :], x, 0.0), y, acc)
    tl.store(out_ptr + m[:, None] * BLOCK + columns[None, :], acc)


def test_a_rest_that_may_be_long_is_issued_ahead() -> None:
    rng = np.random.default_rng(7)
    x, y = (rng.standard_normal(shape).astype(np.float16) for shape in ((64, 128), (128, 32)))
    out = np.full((64, 32), np.nan, np.float32)
    with tri.target("sim:amd:gfx942"):
        kernel = prefix[(2,)](x, y, out, 128, BLOCK=32, num_warps=1, num_stages=2)
    places = np.arange(128)
    exact = np.where(np.arange(64)[:, None] >= places, x, 0).astype(np.float64) @ y.astype(np.float64)
    np.testing.assert_allclose(out, exact, atol=4e-3, rtol=4e-3)
    assert "tt.num_stages = 1" not in kernel.asm["ttgir"]
