# %% [markdown]
# # Descriptors: persistent and grouped GEMM
#
# A *tensor descriptor* is a tensor's base, shape and strides together with the shape of a block. Loading a
# block takes its coordinates and no mask: what lies outside reads as 0 and is not stored. On GPUs that have
# a unit for such copies, descriptors use it.
#
# A *persistent* kernel starts a fixed number of programs, each of which computes several tiles.

# %%
import itertools

import numpy as np

import tri
import tri.language as tl
from tri.tools.tensor_descriptor import TensorDescriptor


@tri.jit
def persistent(a, b, c, M, N, K, PROGRAMS: tl.constexpr, BLOCK: tl.constexpr):
    across = tl.cdiv(N, BLOCK)
    for tile in range(tl.program_id(0), tl.cdiv(M, BLOCK) * across, PROGRAMS):
        row, column = tile // across * BLOCK, tile % across * BLOCK
        acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
        for k in range(0, K, BLOCK):
            acc = tl.dot(a.load([row, k]), b.load([k, column]), acc)
        c.store([row, column], acc)


# %% [markdown]
# The host makes the descriptors. Rows begin at multiples of 16 bytes, as the hardware wants it.

# %%
M, N, K, BLOCK = 90, 72, 64, 32
rng = np.random.default_rng(0)
a = rng.standard_normal((M, K)).astype(np.float16)
b = rng.standard_normal((K, N)).astype(np.float16)
c = np.empty((M, N), np.float32)
descriptors = [TensorDescriptor.from_tensor(t, [BLOCK, BLOCK]) for t in (a, b, c)]
persistent[(4,)](*descriptors, M, N, K, PROGRAMS=4, BLOCK=BLOCK)

np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-4, atol=1e-4)
print("4 programs computed", tri.cdiv(M, BLOCK) * tri.cdiv(N, BLOCK), "tiles")

# %% [markdown]
# *Grouped*: several products of different heights in one launch, as a mixture of experts has them. Rows of
# group `g` are `starts[g]` to `starts[g + 1]`, and each group has a matrix of its own. A tile must not write
# rows of the next group, so the kernel makes a descriptor per group, whose shape ends where the group ends.


# %%
@tri.jit
def grouped(a_ptr, b_ptr, c_ptr, starts_ptr, groups, N, K, PROGRAMS: tl.constexpr, BLOCK: tl.constexpr):
    across = tl.cdiv(N, BLOCK)
    before = 0
    for g in range(groups):
        first = tl.load(starts_ptr + g)
        rows = tl.load(starts_ptr + g + 1) - first
        tiles = tl.cdiv(rows, BLOCK) * across
        a = tl.make_tensor_descriptor(a_ptr + first * K, [rows, K], [K, 1], [BLOCK, BLOCK])
        b = tl.make_tensor_descriptor(b_ptr + g * K * N, [K, N], [N, 1], [BLOCK, BLOCK])
        c = tl.make_tensor_descriptor(c_ptr + first * N, [rows, N], [N, 1], [BLOCK, BLOCK])
        # tiles are dealt out in turn, over the groups' borders
        mine = (tl.program_id(0) + PROGRAMS - before % PROGRAMS) % PROGRAMS
        for tile in range(mine, tiles, PROGRAMS):
            row, column = tile // across * BLOCK, tile % across * BLOCK
            acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
            for k in range(0, K, BLOCK):
                acc = tl.dot(a.load([row, k]), b.load([k, column]), acc)
            c.store([row, column], acc)
        before += tiles


# %%
heights = [10, 0, 50, 33]
starts = np.concatenate([[0], np.cumsum(heights)]).astype(np.int32)
a = rng.standard_normal((starts[-1], K)).astype(np.float16)
b = rng.standard_normal((len(heights), K, N)).astype(np.float16)
c = np.empty((starts[-1], N), np.float32)
grouped[(4,)](a, b, c, starts, len(heights), N, K, PROGRAMS=4, BLOCK=BLOCK)

for g, (first, end) in enumerate(itertools.pairwise(starts)):
    exact = a[first:end].astype(np.float64) @ b[g].astype(np.float64)
    np.testing.assert_allclose(c[first:end], exact, rtol=1e-4, atol=1e-4)
print("groups of", heights, "rows: right, the empty one, too")
