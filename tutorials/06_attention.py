# %% [markdown]
# # Attention
#
# `softmax(Q K^T) V` without the matrix of scores in memory. A program takes a block of queries and goes
# through the keys block by block. Softmax needs the maximum of a row before its end has been seen; the
# *online softmax* keeps the largest score so far and corrects what it has summed whenever a larger one comes.

# %%
import numpy as np

import tri
import tri.language as tl


@tri.jit
def attention(
    q_ptr, k_ptr, v_ptr, out_ptr, length, scale,
    WIDTH: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    head = tl.program_id(1) * length * WIDTH
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    width = tl.arange(0, WIDTH)
    q_places = head + row[:, None] * WIDTH + width[None, :]
    q = tl.load(q_ptr + q_places, mask=row[:, None] < length, other=0.0)
    acc = tl.zeros((BLOCK_M, WIDTH), dtype=tl.float32)
    total = tl.zeros((BLOCK_M,), dtype=tl.float32)
    largest = tl.full((BLOCK_M,), -float("inf"), dtype=tl.float32)
    end = tl.minimum((tl.program_id(0) + 1) * BLOCK_M, length) if CAUSAL else length
    for start in range(0, end, BLOCK_N):
        key = start + tl.arange(0, BLOCK_N)
        places = head + key[:, None] * WIDTH + width[None, :]
        k = tl.load(k_ptr + places, mask=key[:, None] < length, other=0.0)
        v = tl.load(v_ptr + places, mask=key[:, None] < length, other=0.0)
        scores = tl.dot(q, k.T) * scale
        seen = key[None, :] < length
        if CAUSAL:
            seen = seen & (key[None, :] <= row[:, None])
        scores = tl.where(seen, scores, -float("inf"))
        now = tl.maximum(largest, tl.max(scores, axis=1))
        weights = tl.exp(scores - now[:, None])
        correction = tl.exp(largest - now)
        total = total * correction + tl.sum(weights, axis=1)
        acc = acc * correction[:, None] + tl.dot(weights.to(v.dtype), v)
        largest = now
    tl.store(
        out_ptr + q_places, (acc / total[:, None]).to(out_ptr.dtype.element_ty), mask=row[:, None] < length
    )


# %% [markdown]
# With `CAUSAL`, a query sees no later key, so blocks behind the diagonal are not visited at all: the loop ends
# earlier. Every row sees at least key 0 in the first block, so `largest` is finite from then on and no
# difference is infinity minus infinity.

# %%
heads, length, width = 2, 100, 32
rng = np.random.default_rng(0)
q, k, v = rng.standard_normal((3, heads, length, width)).astype(np.float16)


def exact(q, k, v, causal):
    q, k, v = (t.astype(np.float64) for t in (q, k, v))
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(width)
    if causal:
        scores[:, np.triu(np.ones((length, length), bool), 1)] = -np.inf
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    return weights / weights.sum(axis=2, keepdims=True) @ v


for causal in (False, True):
    out = np.empty(q.shape, np.float32)
    grid = (tri.cdiv(length, 32), heads)
    attention[grid](q, k, v, out, length, width**-0.5, WIDTH=width, BLOCK_M=32, BLOCK_N=32, CAUSAL=causal)
    error = np.abs(out - exact(q, k, v, causal)).max()
    print(f"causal={causal}: largest error {error:.1e}")
    assert error < 5e-3

# %% [markdown]
# The error is that of float16: the weights are rounded to it before the second dot.
