# %% [markdown]
# # Matmul, with an epilogue and tuning
#
# Each program computes one tile of the result. It goes along K in steps: load a tile of A, a tile of B,
# multiply them with `tl.dot`, add to an accumulator in float32.

# %%
import numpy as np

import tri
import tri.language as tl


@tri.autotune(
    configs=[
        tri.Config({"BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 32}),
        tri.Config({"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32}),
    ],
    key=["M", "N", "K"],
)
@tri.jit
def matmul(
    a_ptr, b_ptr, bias_ptr, c_ptr, M, N, K, stride_a, stride_b, stride_c,
    RELU: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    column = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    depth = tl.arange(0, BLOCK_K)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a_mask = (row[:, None] < M) & (k + depth[None, :] < K)
        b_mask = (k + depth[:, None] < K) & (column[None, :] < N)
        a = tl.load(a_ptr + row[:, None] * stride_a + (k + depth)[None, :], mask=a_mask, other=0.0)
        b = tl.load(b_ptr + (k + depth)[:, None] * stride_b + column[None, :], mask=b_mask, other=0.0)
        acc = tl.dot(a, b, acc)
    # the epilogue: what happens to a tile before it is stored
    acc += tl.load(bias_ptr + column, mask=column < N, other=0.0)[None, :]
    if RELU:
        acc = tl.maximum(acc, 0.0)
    inside = (row[:, None] < M) & (column[None, :] < N)
    tl.store(c_ptr + row[:, None] * stride_c + column[None, :], acc.to(c_ptr.dtype.element_ty), mask=inside)


# %% [markdown]
# - `row[:, None]` and `column[None, :]` broadcast as in NumPy: together they address a tile.
# - The *epilogue*, bias and ReLU, works on the accumulator. It costs no pass through memory.
# - `RELU` is a constant: where it is false, the branch is not compiled.
#
# `tri.autotune` compiles both configurations, times them, and keeps the faster one for these sizes (`key`).
# The grid depends on the choice, so it is a function.

# %%
M, N, K = 130, 100, 70
rng = np.random.default_rng(0)
a = rng.standard_normal((M, K)).astype(np.float16)
b = rng.standard_normal((K, N)).astype(np.float16)
bias = rng.standard_normal(N).astype(np.float32)
c = np.empty((M, N), np.float32)


def grid(meta):
    return tri.cdiv(M, meta["BLOCK_M"]), tri.cdiv(N, meta["BLOCK_N"])


matmul[grid](a, b, bias, c, M, N, K, K, N, N, RELU=True)

exact = np.maximum(a.astype(np.float64) @ b.astype(np.float64) + bias, 0)
np.testing.assert_allclose(c, exact, rtol=1e-4, atol=1e-4)
print("chosen:", matmul.best_config)
print("largest error:", np.abs(c - exact).max())

# %% [markdown]
# Which configuration wins depends on the machine, so the choice is measured where the kernel runs. On GPUs
# `num_warps` and `num_stages` of a configuration matter, too.
