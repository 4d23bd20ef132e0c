# %% [markdown]
# # Vector add
#
# A kernel is a Python function that many *programs* run at once. Each program works on a *block* of
# elements: here, 1024 of them.

# %%
import numpy as np

import tri
import tri.language as tl


@tri.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


# %% [markdown]
# - `tl.program_id(0)` says which program this is; all else follows from it.
# - `tl.arange(0, BLOCK)` is a block of the numbers from 0 to `BLOCK - 1`. The size of a block is a constant of
#   the compiler (`tl.constexpr`) and a power of two.
# - An array arrives as a pointer to its first element. A pointer plus a block of offsets is a block of pointers.
# - The last program may reach past the end. Its `mask` says which elements exist; the others are neither
#   loaded nor stored. Leaving a mask out is the most frequent mistake of all: [Finding bugs](09_finding_bugs.md)
#   shows how it is found.
#
# In square brackets stands the *grid*: how many programs to start.

# %%
rng = np.random.default_rng(0)
n = 10_000
x, y = rng.standard_normal((2, n)).astype(np.float32)
out = np.empty_like(x)
grid = (tri.cdiv(n, 1024),)
add[grid](x, y, out, n, BLOCK=1024)

np.testing.assert_array_equal(out, x + y)
print(f"{grid[0]} programs added {n} elements")

# %% [markdown]
# NumPy arrays run on this machine's processor. A tensor of PyTorch on a GPU would run there, by the same
# line. To compile for a GPU that is not here, name it:

# %%
source = tri.ASTSource(
    add,
    {"x_ptr": "*fp32", "y_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32", "BLOCK": "constexpr"},
    {"BLOCK": 1024},
)
kernel = tri.compile(source, target="cpu")
print("levels that can be looked at:", ", ".join(kernel.asm))

# %% [markdown]
# Try it: make `BLOCK` 512, and the grid with it; pass float64 arrays. Each combination of types and constants
# is compiled once and then found again.
