"""Kernels of Gluon's core: layouts are arguments, made for the threads of the target.  Importing needs ``tri-gpu-dialect``."""

from __future__ import annotations

import tri
from tri.experimental import gluon
from tri.experimental.gluon import language as gl


@tri.jit
def _plane(M: gl.constexpr, N: gl.constexpr, layout: gl.constexpr):
    """Row-major offsets of an M x N block."""
    row = gl.arange(0, M, layout=gl.SliceLayout(1, layout))
    column = gl.arange(0, N, layout=gl.SliceLayout(0, layout))
    return row[:, None] * N + column[None, :]


@gluon.jit
def converted(out, x, n, N: gl.constexpr, a: gl.constexpr, b: gl.constexpr):
    """A row read in layout ``a`` and written in ``b``, both under a mask."""
    i = gl.arange(0, N, layout=a)
    value = gl.load(x + i, mask=i < n, other=1)
    j = gl.arange(0, N, layout=b)
    gl.store(out + j, gl.convert_layout(value, b), mask=j < n)


@gluon.jit
def converted_block(out, x, M: gl.constexpr, N: gl.constexpr, a: gl.constexpr, b: gl.constexpr):
    value = gl.load(x + _plane(M, N, a))
    gl.store(out + _plane(M, N, b), gl.convert_layout(value, b))


@gluon.jit
def outer(out, x, y, M: gl.constexpr, N: gl.constexpr, layout: gl.constexpr):
    """Two rows in slices of one layout, expanded and broadcast against each other."""
    row = gl.arange(0, M, layout=gl.SliceLayout(1, layout))
    column = gl.arange(0, N, layout=gl.SliceLayout(0, layout))
    left = gl.expand_dims(gl.load(x + row), 1)
    right = gl.expand_dims(gl.load(y + column), 0)
    gl.store(out + _plane(M, N, layout), left * 3 + right)


@gluon.jit
def shaped(out, x, N: gl.constexpr, layout: gl.constexpr):
    """A row transposed as a 16 x N / 16 block, by reshapes and a permutation, after a join and a split."""
    i = gl.arange(0, N, layout=layout)
    value = gl.load(x + i)
    low, high = gl.split(gl.join(value, value + 1))
    across = gl.reshape(gl.permute(gl.reshape(low, [16, N // 16]), [1, 0]), [N])
    gl.store(out + i, gl.convert_layout(across, layout))
    gl.store(out + N + i, high)


@gluon.jit
def left_open(out, x, N: gl.constexpr, layout: gl.constexpr):
    """Values without a layout, which follows from that of what they meet."""
    i = gl.arange(0, N)
    total = gl.zeros([N], gl.int32)
    for _ in range(3):
        total += gl.load(x + i)
    gl.store(out + gl.arange(0, N, layout=layout), gl.set_auto_layout(total, layout))


@gluon.jit
def through_shared(
    out, x, M: gl.constexpr, N: gl.constexpr, shared: gl.constexpr, a: gl.constexpr, b: gl.constexpr
):
    """A block through shared memory: written from layout ``a``, read in ``b`` as it is and transposed."""
    buffer = gl.allocate_shared_memory(x.dtype.element_ty, [M, N], shared, gl.load(x + _plane(M, N, a)))
    gl.store(out + _plane(M, N, b), buffer.load(b))
    gl.store(out + M * N + _plane(N, M, b), buffer.permute([1, 0]).load(b))


@gluon.jit
def ring(out, x, N: gl.constexpr, shared: gl.constexpr, layout: gl.constexpr):
    """Stages of a ring, written in a loop and read backwards."""
    i = gl.arange(0, N, layout=layout)
    stages = gl.allocate_shared_memory(gl.int32, [4, N], shared)
    for k in range(4):
        stages.index(k).store(gl.load(x + k * N + i))
    for k in range(4):
        gl.store(out + k * N + i, stages.index(3 - k).load(layout))


@gluon.jit
def sliced(out, x, M: gl.constexpr, N: gl.constexpr, shared: gl.constexpr, layout: gl.constexpr):
    """The quarters of a block, each stored by itself."""
    buffer = gl.allocate_shared_memory(gl.int32, [M, N], shared, gl.load(x + _plane(M, N, layout)))
    offsets = _plane(M // 2, N // 2, layout)
    for r in gl.static_range(2):
        for c in gl.static_range(2):
            quarter = buffer.slice(r * (M // 2), M // 2).slice(c * (N // 2), N // 2, 1)
            gl.store(out + (2 * r + c) * (M // 2) * (N // 2) + offsets, quarter.load(layout))


@gluon.jit
def reshaped(
    out, x, M: gl.constexpr, N: gl.constexpr, shared: gl.constexpr, layout: gl.constexpr, row: gl.constexpr
):
    """A block seen as a row of shared memory."""
    buffer = gl.allocate_shared_memory(gl.int32, [M, N], shared, gl.load(x + _plane(M, N, layout)))
    gl.store(out + gl.arange(0, M * N, layout=row), buffer.reshape([M * N]).load(row))


@gluon.jit
def reinterpreted(out, x, N: gl.constexpr, shared: gl.constexpr, layout: gl.constexpr):
    """The bits of fp32 as int32, and the first half of the bytes as another shape."""
    i = gl.arange(0, N, layout=layout)
    buffer = gl.allocate_shared_memory(gl.float32, [N], shared, gl.load(x + i))
    gl.store(out + i, buffer.reinterpret(gl.int32).load(layout))
    half = gl.arange(0, N // 2, layout=layout)
    gl.store(out + N + half, buffer.reinterpret(gl.int32, [N // 2]).load(layout))


@gluon.jit
def shared_indexed(out, x, indices, N: gl.constexpr, shared: gl.constexpr, layout: gl.constexpr):
    """A gather from shared memory, and a scatter of the same numbers to it by a permutation."""
    i = gl.arange(0, N, layout=layout)
    where = gl.load(indices + i)
    value = gl.load(x + i)
    buffer = gl.allocate_shared_memory(gl.int32, [N], shared, value)
    gl.store(out + i, buffer.gather(where, 0))
    gl.barrier()
    buffer.scatter(value * 2, where, 0)
    gl.barrier()
    gl.store(out + N + i, buffer.load(layout))


@gluon.jit
def reduced(sums, most, x, M: gl.constexpr, N: gl.constexpr, AXIS: gl.constexpr, layout: gl.constexpr):
    """Sums and extremes along an axis; the results are in a slice of the layout."""
    value = gl.load(x + _plane(M, N, layout))
    i = gl.arange(0, N if AXIS == 0 else M, layout=gl.SliceLayout(AXIS, layout))
    gl.store(sums + i, gl.sum(value, AXIS))
    gl.store(most + i, gl.max(value, AXIS))


@gluon.jit
def reduced_whole(out, x, N: gl.constexpr, layout: gl.constexpr):
    value = gl.load(x + gl.arange(0, N, layout=layout))
    gl.store(out, gl.sum(value, 0))
    gl.store(out + 1, gl.min(value, 0))


@tri.jit
def _composed(a, b, c, d):
    """The map ``t -> a t + b``, then ``t -> c t + d``: no order of the operands may be exchanged."""
    return a * c, b * c + d


@gluon.jit
def scanned(out, x, y, M: gl.constexpr, N: gl.constexpr, AXIS: gl.constexpr, layout: gl.constexpr):
    """Sums along an axis, and compositions of linear maps."""
    offsets = _plane(M, N, layout)
    factor = gl.load(x + offsets)
    term = gl.load(y + offsets)
    gl.store(out + offsets, gl.cumsum(term, AXIS))
    _, shift = gl.associative_scan((factor, term), AXIS, _composed)
    gl.store(out + M * N + offsets, shift)


@gluon.jit
def gathered(out, x, indices, M: gl.constexpr, N: gl.constexpr, AXIS: gl.constexpr, layout: gl.constexpr):
    offsets = _plane(M, N, layout)
    gl.store(out + offsets, gl.gather(gl.load(x + offsets), gl.load(indices + offsets), AXIS))


@gluon.jit
def added(bins, old, x, N: gl.constexpr, BINS: gl.constexpr, layout: gl.constexpr):
    """A histogram, whose bins several threads add to, and an addition that gives what was there."""
    i = gl.arange(0, N, layout=layout)
    gl.atomic_add(bins + gl.load(x + i) % BINS, 1)
    gl.store(old + N + i, gl.atomic_add(old + i, 5))


@gluon.jit
def exchanged(most, cells, swapped, x, N: gl.constexpr, layout: gl.constexpr):
    """The largest of all elements, and exchanges with and without a comparison."""
    i = gl.arange(0, N, layout=layout)
    value = gl.load(x + i)
    gl.atomic_max(most + i * 0, value)
    gl.store(swapped + i, gl.atomic_xchg(cells + i, value))
    gl.store(swapped + N + i, gl.atomic_cas(cells + N + i, value, value + 1))


@gluon.jit
def multiplied(out, x, y, N: gl.constexpr, layout: gl.constexpr):
    """A dot by multiply-add, its operands in layouts of operands."""
    offsets = _plane(N, N, layout)
    a = gl.convert_layout(gl.load(x + offsets), gl.DotOperandLayout(0, layout, 0))
    b = gl.convert_layout(gl.load(y + offsets), gl.DotOperandLayout(1, layout, 0))
    gl.store(out + offsets, gl.dot_fma(a, b, gl.zeros([N, N], gl.float32, layout)))


# --- kernels that are refused -------------------------------------------------------------------------------


@gluon.jit
def mixed(out, N: gl.constexpr, a: gl.constexpr, b: gl.constexpr):
    """Two layouts in one addition."""
    gl.store(out + gl.arange(0, N, layout=a), gl.arange(0, N, layout=a) + gl.arange(0, N, layout=b))


@gluon.jit
def expanded(out, N: gl.constexpr, layout: gl.constexpr):
    """A new dimension for a layout that is no slice."""
    gl.store(out, gl.sum(gl.sum(gl.arange(0, N, layout=layout)[None, :], 1), 0))


@gluon.jit
def undetermined(out, N: gl.constexpr):
    """Nothing that has a layout."""
    i = gl.arange(0, N)
    gl.store(out + i, i)


@gluon.jit
def allocated(out, N: gl.constexpr, shared: gl.constexpr):
    gl.allocate_shared_memory(gl.int32, [N, N], shared)


@gluon.jit
def misplaced(out, N: gl.constexpr, shared: gl.constexpr, start: gl.constexpr):
    gl.allocate_shared_memory(gl.int32, [N], shared).slice(start, N // 4)


@gluon.jit
def beyond(out, N: gl.constexpr, shared: gl.constexpr, index: gl.constexpr):
    gl.allocate_shared_memory(gl.int32, [4, N], shared).index(index)


@gluon.jit
def overflowing(out, N: gl.constexpr, shared: gl.constexpr):
    gl.allocate_shared_memory(gl.int32, [N], shared).reinterpret(gl.int64)
