# %% [markdown]
# # Block-scaled matmul
#
# Numbers of 8 or 4 bits have little range. The *microscaling* formats give 32 neighbours along K one common
# scale: a byte `s` that stands for `2 ** (s - 127)`. `tl.dot_scaled` takes operands and scales; hardware that
# has such dots uses them, elsewhere they are decomposed.

# %%
import ml_dtypes
import numpy as np

import tri
import tri.language as tl


@tri.jit
def scaled(
    a_ptr, a_scale_ptr, b_ptr, b_scale_ptr, c_ptr, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    column = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    depth = tl.arange(0, BLOCK_K)
    group = tl.arange(0, BLOCK_K // 32)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = tl.load(a_ptr + row[:, None] * K + (k + depth)[None, :])
        b = tl.load(b_ptr + (k + depth)[:, None] * N + column[None, :])
        a_scale = tl.load(a_scale_ptr + row[:, None] * (K // 32) + (k // 32 + group)[None, :])
        b_scale = tl.load(b_scale_ptr + column[:, None] * (K // 32) + (k // 32 + group)[None, :])
        acc = tl.dot_scaled(a, a_scale, "e4m3", b, b_scale, "e5m2", acc)
    tl.store(c_ptr + row[:, None] * N + column[None, :], acc)


# %% [markdown]
# Scales lie as `[rows, K / 32]`, for B by its columns. Sizes here are multiples of the blocks, so no masks are
# needed.
#
# To quantise, divide each group by a power of two that brings its largest value near the format's largest.


# %%
def quantise(x: np.ndarray, dtype: type) -> tuple[np.ndarray, np.ndarray]:
    """Values and scales of ``x`` [rows, K] in groups of 32 along K."""
    groups = x.reshape(x.shape[0], -1, 32)
    largest = np.abs(groups).max(axis=2)
    exponent = np.ceil(np.log2(largest / float(ml_dtypes.finfo(dtype).max)))
    values = (groups / 2.0 ** exponent[:, :, None]).astype(dtype).reshape(x.shape)
    return values, (exponent + 127).astype(np.uint8)


def widened(values: np.ndarray, scales: np.ndarray) -> np.ndarray:
    return values.astype(np.float64) * np.repeat(2.0 ** (scales.astype(np.float64) - 127), 32, axis=1)


# %%
M, N, K = 64, 64, 128
rng = np.random.default_rng(0)
x, y = rng.standard_normal((M, K)), rng.standard_normal((N, K)) * 1000
a, a_scale = quantise(x, ml_dtypes.float8_e4m3fn)
b, b_scale = quantise(y, ml_dtypes.float8_e5m2)
c = np.empty((M, N), np.float32)
scaled[(M // 32, N // 32)](
    a, a_scale, np.ascontiguousarray(b.T), b_scale, c, N, K, BLOCK_M=32, BLOCK_N=32, BLOCK_K=64
)

# %% [markdown]
# Two questions, two comparisons. Is the kernel right? Against the quantised operands in float64 only rounding
# of the sums remains. What did the small formats cost? Against the operands before, more.

# %%
exact = widened(a, a_scale) @ widened(b, b_scale).T
size = np.abs(exact).max()
print(f"of the kernel: {np.abs(c - exact).max() / size:.1e} of the largest value")
print(f"of the formats: {np.abs(exact - x @ y.T).max() / size:.1e}")
assert np.abs(c - exact).max() < 1e-4 * size
assert np.abs(exact - x @ y.T).max() < 0.1 * size
