"""Dots that start from what is subtracted from them, in the simulator, against float64."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import tri
import tri.language as tl
from tri.tools.tensor_descriptor import TensorDescriptor

N, D = 64, 64


@tri.jit
def shifted(
    q,
    k,
    v,
    out,
    row_ptr,
    column_ptr,
    steps,
    M: tl.constexpr,
    N: tl.constexpr,
    D: tl.constexpr,
    ADD: tl.constexpr,
):
    """sum over blocks of ((k q') * (v q' +- row +- column)) q, as attention's gradients have it."""
    i = tl.program_id(0) * M
    left, right = k.load([i, 0]), v.load([i, 0])
    column = tl.load(column_ptr + i + tl.arange(0, M))
    total = tl.zeros([M, D], dtype=tl.float32)
    for step in range(steps):
        block = q.load([step * N, 0])
        row = tl.load(row_ptr + step * N + tl.arange(0, N))
        scores = tl.math.exp2(tl.dot(left, block.T) * 0.0625)
        other = tl.dot(right, block.T)
        other = other + row[None, :] if ADD else other - row[None, :] - column[:, None]
        total = tl.dot((scores * other).to(tl.float16), block, total)
    out.store([i, 0], total.to(tl.float16))


def run(steps: int, rows: int, add: bool, **options):
    m = options["num_warps"] * 16
    random = np.random.default_rng([steps, rows, add])
    q, k, v = (random.standard_normal((n, D)).astype(np.float16) for n in (steps * N, rows, rows))
    row = random.standard_normal(steps * N).astype(np.float32) * 8
    column = random.standard_normal(-(-rows // m) * m).astype(np.float32) * 8
    out = np.full((rows, D), np.nan, np.float16)
    given_ = [TensorDescriptor.from_tensor(x, [n, D]) for x, n in ((q, N), (k, m), (v, m), (out, m))]
    with tri.target("sim:nvidia:sm_90a"):
        kernel = shifted[(tri.cdiv(rows, m),)](
            *given_, row, column, steps, m, N, D, add, num_stages=2, warp_specialize=True, **options
        )
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    other = v @ q.T
    other = other + row if add else other - row - column[:rows, None]
    expected = (np.exp2(k @ q.T * 0.0625) * other) @ q
    assert np.abs(out - expected).max() <= 2e-3 * np.abs(expected).max()
    return kernel.asm["ttgir"]


@settings(max_examples=12, deadline=None)
@given(
    st.integers(1, 4), st.sampled_from([40, 128, 200]), st.booleans(), st.sampled_from([4, 8]), st.booleans()
)
def test_the_same_as_float64(steps: int, rows: int, add: bool, warps: int, persistent: bool) -> None:
    """Any number of blocks and rows, whole tiles or not, subtracted or added."""
    text = run(steps, rows, add, num_warps=warps, persistent=persistent)
    if steps > 1:  # one block is no loop
        assert ("arith.negf" in text) == (not add)
        assert not add or "arith.addf" not in text
