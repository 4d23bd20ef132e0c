"""Kernels that copy blocks through tensor descriptors, for the simulator and for a GPU."""

from __future__ import annotations

import tri
import tri.language as tl


@tri.jit
def moved(x, y, shape, strides, start, BLOCK: tl.constexpr, NAN: tl.constexpr):
    """The block of ``x`` at ``start``, stored at the same place of ``y``, which is as large."""
    source = tl.make_tensor_descriptor(x, shape, strides, BLOCK, padding_option="nan" if NAN else "zero")
    target = tl.make_tensor_descriptor(y, shape, strides, BLOCK)
    target.store(start, source.load(start))


@tri.jit
def read(x, out, shape, strides, start, BLOCK: tl.constexpr, SIZE: tl.constexpr, NAN: tl.constexpr):
    """The block of ``x`` at ``start`` with what is outside of it, in ``out``."""
    source = tl.make_tensor_descriptor(x, shape, strides, BLOCK, padding_option="nan" if NAN else "zero")
    tl.store(out + tl.arange(0, SIZE), tl.reshape(source.load(start), [SIZE]))


@tri.jit
def wide(x, y, M: tl.int64, N: tl.int64, step: tl.int64, B: tl.constexpr):
    """The first block of ``x`` in ``y``; all numbers have 64 bits."""
    source = tl.make_tensor_descriptor(x, [M, N], [step, 1], [B, B])
    target = tl.make_tensor_descriptor(y, [M, N], [step, 1], [B, B])
    target.store([0, 0], source.load([0, 0]))


@tri.jit
def combined(x, y, M, N, BM: tl.constexpr, BN: tl.constexpr, KIND: tl.constexpr):
    """``y`` combined with ``x``, a tile per program; each tile twice."""
    source = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BM, BN])
    target = tl.make_tensor_descriptor(y, [M, N], [N, 1], [BM, BN])
    at = [tl.program_id(0) * BM, tl.program_id(1) * BN]
    block = source.load(at)
    for _ in range(2):
        if KIND == "add":
            target.atomic_add(at, block)
        elif KIND == "min":
            target.atomic_min(at, block)
        elif KIND == "max":
            target.atomic_max(at, block)
        elif KIND == "and":
            target.atomic_and(at, block)
        elif KIND == "or":
            target.atomic_or(at, block)
        else:
            target.atomic_xor(at, block)


@tri.jit
def twice(source, target, M, N, BM: tl.constexpr, BN: tl.constexpr):
    """Tiles of ``source`` doubled, by descriptors that the host makes; a program does a row of tiles."""
    row = tl.program_id(0) * BM
    for column in range(0, N, BN):
        block = source.load([row, column])
        target.store([row, column], block + block)


@tri.jit
def through_memory(x, y, N, BLOCK: tl.constexpr):
    """What is stored through a descriptor is loaded by pointers after a barrier, one place further."""
    target = tl.make_tensor_descriptor(y, [N], [1], [BLOCK])
    places = tl.arange(0, BLOCK)
    target.store([0], tl.load(x + places, mask=places < N))
    tl.debug_barrier()
    transposed = tl.load(y + (places + 33) % BLOCK, mask=(places + 33) % BLOCK < N, other=0.0)
    tl.debug_barrier()
    tl.store(y + places, transposed, mask=places < N)


@tri.jit
def gathered(x, rows, out, M, N, COUNT: tl.constexpr, BN: tl.constexpr):
    """Rows of a matrix, which no TMA copy brings."""
    source = tl.make_tensor_descriptor(x, [M, N], [N, 1], [1, BN])
    block = source.gather(tl.load(rows + tl.arange(0, COUNT)), 0)
    places = tl.arange(0, COUNT)[:, None] * BN + tl.arange(0, BN)[None, :]
    tl.store(out + places, block)


@tri.jit
def computed(x, out, sizes, BLOCK: tl.constexpr):
    """A descriptor whose size the kernel reads."""
    source = tl.make_tensor_descriptor(x, [tl.load(sizes + tl.program_id(0))], [1], [BLOCK])
    tl.store(out + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), source.load([0]))


@tri.jit
def added(x, y, z, N, BLOCK: tl.constexpr):
    """Three small blocks at a time, each in a buffer of its own."""
    a, b, c = (
        tl.make_tensor_descriptor(x, [N], [1], [BLOCK]),
        tl.make_tensor_descriptor(y, [N], [1], [BLOCK]),
        tl.make_tensor_descriptor(z, [N], [1], [BLOCK]),
    )
    at = tl.program_id(0) * BLOCK
    first, second, third = a.load([at]), b.load([at]), c.load([at])
    c.store([at], first * 2 + second * 3 + third)
    a.store([at], first + second)


@tri.jit
def tiled(x, y, M, N, BM: tl.constexpr, BN: tl.constexpr):
    """``y`` is twice ``x``, tiles being numbered row by row."""
    source = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BM, BN])
    target = tl.make_tensor_descriptor(y, [M, N], [N, 1], [BM, BN])
    across = tl.cdiv(N, BN)
    for tile in range(tl.program_id(0), tl.cdiv(M, BM) * across, tl.num_programs(0)):
        at = [tile // across * BM, tile % across * BN]
        target.store(at, source.load(at) * 2)


@tri.jit
def moved_by(x, y, M, N, places, BM: tl.constexpr, BN: tl.constexpr):
    """The block of ``x`` at a place that memory holds, added to that of ``y``."""
    source = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BM, BN])
    target = tl.make_tensor_descriptor(y, [M, N], [N, 1], [BM, BN])
    at = [tl.load(places), tl.load(places + 1)]
    target.atomic_add(at, source.load(at))


@tri.jit
def grouped(x, y, M, N, BM: tl.constexpr, BN: tl.constexpr, GROUP: tl.constexpr, ASSUME: tl.constexpr):
    """``y`` is twice ``x``, tiles being numbered in groups of rows."""
    source = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BM, BN])
    target = tl.make_tensor_descriptor(y, [M, N], [N, 1], [BM, BN])
    pid, down, across = tl.program_id(0), tl.cdiv(M, BM), tl.cdiv(N, BN)
    first = pid // (GROUP * across) * GROUP
    size = min(down - first, GROUP)
    row, column = first + pid % (GROUP * across) % size, pid % (GROUP * across) // size
    if ASSUME:
        tl.assume(column >= 0)
    target.store([row * BM, column * BN], source.load([row * BM, column * BN]) * 2)
