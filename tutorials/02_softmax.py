# %% [markdown]
# # Fused softmax
#
# Softmax turns each row of a matrix into weights that add up to 1. Written with array operations it goes
# through memory several times: for the maximum, the difference, the exponential, the sum, the quotient.
# A kernel loads a row once, does all of it in registers, and stores once.

# %%
import numpy as np

import tri
import tri.language as tl


@tri.jit
def softmax(x_ptr, out_ptr, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    inside = column < columns
    x = tl.load(x_ptr + row * stride + column, mask=inside, other=-float("inf"))
    weights = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * stride + column, weights / tl.sum(weights, axis=0), mask=inside)


# %% [markdown]
# Rows have any length, blocks a power of two. What lies between is filled by `other=`: minus infinity is no
# maximum, and its exponential is 0, so it adds nothing to the sum. Choosing `other` so that it is neutral
# makes the rest of the kernel simple.
#
# Subtracting the maximum changes nothing in the quotient, and keeps the exponentials from overflowing.


# %%
def rowwise_softmax(x: np.ndarray) -> np.ndarray:
    out = np.empty_like(x)
    rows, columns = x.shape
    softmax[(rows,)](x, out, columns, columns, BLOCK=tri.next_power_of_2(columns))
    return out


x = np.random.default_rng(0).standard_normal((128, 781)).astype(np.float32)
out = rowwise_softmax(x)

exact = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
exact /= exact.sum(axis=1, keepdims=True)
np.testing.assert_allclose(out, exact, rtol=1e-5, atol=1e-8)
print("largest error:", np.abs(out - exact).max())

# %% [markdown]
# How many bytes must move? The kernel reads every element once and writes it once.

# %%
print(
    f"{2 * x.nbytes / 1e6:.1f} MB, against {10 * x.nbytes / 1e6:.1f} MB for five operations that each read and write"
)

# %% [markdown]
# Large numbers do no harm, and neither does a row of one element:

# %%
assert np.isfinite(rowwise_softmax(np.full((2, 5), 1e30, np.float32))).all()
np.testing.assert_array_equal(rowwise_softmax(np.ones((3, 1), np.float32)), 1)
