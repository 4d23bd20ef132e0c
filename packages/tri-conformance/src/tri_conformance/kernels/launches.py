"""Kernels that tell how they were launched."""

from __future__ import annotations

import tri
import tri.language as tl


@tri.jit
def where_am_i(out, sizes):
    """Each program writes 1 more than its number, in the order x, y, z; the last one the sizes of the grid."""
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    nx, ny, nz = tl.num_programs(0), tl.num_programs(1), tl.num_programs(2)
    number = (z * ny + y) * nx + x
    tl.atomic_add(out + number, number + 1)
    if number == nx * ny * nz - 1:
        tl.store(sizes, nx)
        tl.store(sizes + 1, ny)
        tl.store(sizes + 2, nz)


@tri.jit
def scalars(floats, integers, a, b, c, d, e):
    """Value received for each scalar."""
    tl.store(floats, a)
    tl.store(integers, b)
    tl.store(integers + 1, c)
    tl.store(integers + 2, d)
    tl.store(integers + 3, e)


@tri.jit
def add_one(x, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)


@tri.jit
def twice(x, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


@tri.jit
def perhaps(out, x, B: tl.constexpr):
    """Reads x where there is one."""
    i = tl.arange(0, B)
    if x is None:
        tl.store(out + i, 5)
    else:
        tl.store(out + i, tl.load(x + i))


@tri.jit
def far_away(out, x, distance, B: tl.constexpr):
    """All addresses of x are masked off: none is ever looked at."""
    i = tl.arange(0, B)
    got = tl.load(x + distance + i, mask=i < 0, other=3)
    tl.store(x + distance + i, got, mask=i < 0)
    tl.store(out + i, got)


@tri.jit
def too_large(out, x, B: tl.constexpr):
    i = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    tl.store(out + i, tl.dot(tl.load(x + i), tl.load(x + i)))
