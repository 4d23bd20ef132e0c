# %% [markdown]
# # Finding bugs
#
# Four kernels, each with a mistake, and four ways to find it. None needs a GPU.

# %%
import numpy as np
import rich

import tri
import tri.language as tl
from tri_core.errors import DataRace, KernelFault, OutOfBounds


@tri.jit
def double(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, 2 * tl.load(x_ptr + offsets))


# %% [markdown]
# ## A missing mask
#
# 100 elements in blocks of 64: the second program goes past the end. `debug=True` compiles a kernel with
# checks, and the error says which access, which element, and what to do. `TRI_DEBUG=1` in the environment
# does it for every launch.

# %%
x = np.arange(100, dtype=np.float32)
out = np.zeros_like(x)
try:
    double[(2,)](x, out, BLOCK=64, debug=True)
except OutOfBounds as error:
    print(error)
    assert error.parameter == "x_ptr"
    assert error.location is not None
else:
    raise AssertionError("nothing was found")

# %% [markdown]
# ## A wrong value
#
# In the interpreter a kernel is Python: set a breakpoint in it, or print. It checks bounds, too.


# %%
@tri.jit
def mean(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    print("sum:", tl.sum(x, axis=0))
    tl.store(out_ptr, tl.sum(x, axis=0) / BLOCK)  # BLOCK, where n is meant


out = np.zeros(1, np.float32)
with tri.interpret():
    mean[(1,)](x, out, 100, BLOCK=128)
print("got", out[0], "for", x.mean())
assert out[0] == x.sum() / 128

# %% [markdown]
# ## A data race
#
# Two programs add to the same element: load, add, store. On a GPU they run at once, and one addition is
# lost, sometimes. The interpreter runs programs one after the other and finds the race all the same.


# %%
@tri.jit
def count(values_ptr, counts_ptr):
    value = tl.load(values_ptr + tl.program_id(0))
    tl.store(counts_ptr + value, tl.load(counts_ptr + value) + 1)


values, counts = np.array([2, 0, 2, 1], np.int32), np.zeros(3, np.int32)
try:
    with tri.interpret():
        count[(4,)](values, counts)
except DataRace as error:
    print(error)
    assert error.array == "counts_ptr"
else:
    raise AssertionError("nothing was found")

# %% [markdown]
# The remedy is an atomic:


# %%
@tri.jit
def count_safely(values_ptr, counts_ptr):
    tl.atomic_add(counts_ptr + tl.load(values_ptr + tl.program_id(0)), 1)


counts[:] = 0
with tri.interpret():
    count_safely[(4,)](values, counts)
np.testing.assert_array_equal(counts, [1, 1, 2])

# %% [markdown]
# ## An assumption that does not hold
#
# `tl.device_assert` states it in the kernel; it is checked under `debug`.


# %%
@tri.jit
def reciprocal(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    tl.device_assert(x != 0, "no zeros, please")
    tl.store(out_ptr + offsets, 1 / x)


try:
    reciprocal[(1,)](np.arange(8, dtype=np.float32), np.zeros(8, np.float32), BLOCK=8, debug=True)
except KernelFault as error:
    print(error)
    assert "no zeros" in str(error)
else:
    raise AssertionError("nothing was found")

# %% [markdown]
# ## Only on the GPU?
#
# The simulator runs what was compiled for a GPU, thread by thread, and checks every access to its memories.
# It needs the package of that backend, and no device.

# %%
from importlib.util import find_spec

if find_spec("tri_backend_nvidia") is not None:
    counts[:] = 0
    with tri.target("sim:nvidia:sm_80"), tri.simulation() as report:
        count_safely[(4,)](values, counts)
    np.testing.assert_array_equal(counts, [1, 1, 2])
    rich.print(report)
