# %% [markdown]
# # Dropout
#
# Dropout sets a random part of its input to zero and scales up the rest. The backward pass must drop the same
# elements. Storing which ones costs memory; a *counter-based* generator needs none: `tl.rand(seed, offset)`
# gives the same number for the same seed and offset, on every target and at every time.

# %%
import numpy as np

import tri
import tri.language as tl


@tri.jit
def dropout(x_ptr, out_ptr, n, p, seed, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    kept = tl.rand(seed, offsets) > p
    tl.store(out_ptr + offsets, tl.where(kept, x / (1 - p), 0.0), mask=mask)


def run(x: np.ndarray, p: float, seed: int) -> np.ndarray:
    out = np.empty_like(x)
    dropout[(tri.cdiv(x.size, 256),)](x, out, x.size, p, seed, BLOCK=256)
    return out


# %% [markdown]
# The same seed drops the same elements; another seed drops others.

# %%
x = np.ones(10_000, np.float32)
first, again, other = run(x, 0.25, seed=7), run(x, 0.25, seed=7), run(x, 0.25, seed=8)
np.testing.assert_array_equal(first, again)
assert (first != other).any()

# %% [markdown]
# Three quarters are kept, but for chance, and what is kept is 4/3 as large.

# %%
share = np.count_nonzero(first) / x.size
print(f"kept: {share:.3f}")
assert abs(share - 0.75) < 0.02
np.testing.assert_allclose(first[first != 0], 4 / 3, rtol=1e-6)

# %% [markdown]
# The gradient of `dropout` is `dropout` of the gradient, with the same seed. So the backward pass is the same
# kernel:

# %%
grad = np.random.default_rng(1).standard_normal(x.size).astype(np.float32)
np.testing.assert_allclose(
    run(grad, 0.25, seed=7), np.where(first != 0, grad / np.float32(0.75), 0), rtol=1e-6
)
