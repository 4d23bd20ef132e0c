# %% [markdown]
# # From Triton in five minutes
#
# Kernels need no change: names, signatures and meaning are those of Triton 3.9. There are two ways.
#
# ## Change the imports
#
# ```python
# import tri as triton
# import tri.language as tl
# ```
#
# ## Or change nothing
#
# After `install()`, `import triton` means tri in this process and those that it starts. Call it before
# anything imports `triton`.

# %%
import numpy as np

import tri.compat.triton

tri.compat.triton.install()

import triton
import triton.language as tl

print("triton", triton.__version__, "of tri:", triton.jit.__module__)


# %%
@triton.jit
def row_sums(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(axis=0)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + row * columns + column, mask=column < columns, other=0.0)
    tl.store(out_ptr + row, tl.sum(total, axis=0))


x = np.random.default_rng(0).standard_normal((8, 300)).astype(np.float32)
out = np.empty(8, np.float32)
row_sums[(8,)](x, out, x.shape[1], BLOCK=128)
np.testing.assert_allclose(out, x.sum(axis=1, dtype=np.float64), rtol=1e-4, atol=1e-4)

# %% [markdown]
# ## Differences that you will notice
#
# - **Arrays choose the target.** Triton wants tensors on a GPU; here NumPy arrays and CPU tensors run on the
#   processor, so a test-suite needs no GPU.
# - **Errors say where and what to do.** They derive from `tri.TritonError`:


# %%
@triton.jit
def wrong(x_ptr, BLOCK: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, BLOCK), 0)


try:
    wrong[(1,)](x, BLOCK=100)
except triton.TritonError as error:
    print(error)
else:
    raise AssertionError("a block of 100 elements was accepted")

# %% [markdown]
# - **Every target compiles here.** Given the backend's package, `tri.compile(..., target="nvidia:sm_90a")`
#   gives PTX on a laptop.
#
# `uninstall()` undoes it.

# %%
tri.compat.triton.uninstall()
