# %% [markdown]
# # Layer norm with gradients
#
# Layer norm gives each row the mean 0 and the variance 1, then applies a weight and a bias per column. The
# forward kernel keeps mean and reciprocal standard deviation of each row for the backward kernel.

# %%
import numpy as np

import tri
import tri.language as tl


@tri.jit
def forward(x_ptr, w_ptr, b_ptr, y_ptr, mean_ptr, rstd_ptr, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    inside = column < columns
    x = tl.load(x_ptr + row * columns + column, mask=inside, other=0.0)
    mean = tl.sum(x, axis=0) / columns
    centred = tl.where(inside, x - mean, 0.0)
    rstd = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / columns + eps)
    w = tl.load(w_ptr + column, mask=inside)
    b = tl.load(b_ptr + column, mask=inside)
    tl.store(y_ptr + row * columns + column, centred * rstd * w + b, mask=inside)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)


# %% [markdown]
# Elements outside of the row were loaded as 0, and 0 minus the mean is not 0: `tl.where` clears them before
# they are squared.
#
# Backward, with `g = dy * w` and the normalised row `n`:
# `dx = (g - mean(g) - n * mean(g * n)) * rstd`. Weight and bias get sums over all rows, to which every
# program contributes: `tl.atomic_add` lets them add to one place.


# %%
@tri.jit
def backward(x_ptr, w_ptr, dy_ptr, mean_ptr, rstd_ptr, dx_ptr, dw_ptr, db_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    inside = column < columns
    x = tl.load(x_ptr + row * columns + column, mask=inside, other=0.0)
    dy = tl.load(dy_ptr + row * columns + column, mask=inside, other=0.0)
    w = tl.load(w_ptr + column, mask=inside, other=0.0)
    rstd = tl.load(rstd_ptr + row)
    n = tl.where(inside, (x - tl.load(mean_ptr + row)) * rstd, 0.0)
    g = dy * w
    dx = (g - tl.sum(g, axis=0) / columns - n * (tl.sum(g * n, axis=0) / columns)) * rstd
    tl.store(dx_ptr + row * columns + column, dx, mask=inside)
    tl.atomic_add(dw_ptr + column, dy * n, mask=inside)
    tl.atomic_add(db_ptr + column, dy, mask=inside)


# %%
rows, columns, eps = 48, 100, 1e-5
rng = np.random.default_rng(0)
x, dy = rng.standard_normal((2, rows, columns)).astype(np.float32)
w, b = rng.standard_normal((2, columns)).astype(np.float32)
y, dx = np.empty_like(x), np.empty_like(x)
mean, rstd = np.empty((2, rows), np.float32)
dw, db = np.zeros((2, columns), np.float32)  # sums begin at zero

forward[(rows,)](x, w, b, y, mean, rstd, columns, eps, BLOCK=128)
backward[(rows,)](x, w, dy, mean, rstd, dx, dw, db, columns, BLOCK=128)

# %% [markdown]
# The forward pass against its formula in float64, the backward pass against differences of it: moving along
# a direction changes `sum(y * dy)` by what the gradient says.


# %%
def exact(x, w, b):
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + eps) * w + b


wide = [v.astype(np.float64) for v in (x, w, b)]
np.testing.assert_allclose(y, exact(*wide), rtol=1e-4, atol=1e-5)

step = 1e-5
for position, gradient in enumerate((dx, dw, db)):
    direction = rng.standard_normal(gradient.shape)
    ahead, behind = list(wide), list(wide)
    ahead[position] = wide[position] + step * direction
    behind[position] = wide[position] - step * direction
    slope = ((exact(*ahead) - exact(*behind)) * dy).sum() / (2 * step)
    np.testing.assert_allclose((gradient * direction).sum(), slope, rtol=1e-3, atol=1e-2)
    print(f"{('dx', 'dw', 'db')[position]}: {(gradient * direction).sum():.4f}, by differences {slope:.4f}")

# %% [markdown]
# Atomics add in any order, so the last bits of `dw` may differ from run to run. Where that matters, let
# programs write partial sums and add them in a second kernel.
