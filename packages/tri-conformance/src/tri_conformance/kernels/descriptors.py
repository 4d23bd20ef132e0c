"""Kernels that reach memory through tensor descriptors and block pointers."""

from __future__ import annotations

import tri
import tri.language as tl


@tri.jit
def passed(target, source):
    """Tiles from one descriptor of the host to another."""
    M: tl.constexpr = source.block_shape[0]
    N: tl.constexpr = source.block_shape[1]
    m, n = tl.program_id(0) * M, tl.program_id(1) * N
    target.store([m, n], source.load([m, n]))


@tri.jit
def functions(out, x, rows, columns, M: tl.constexpr, N: tl.constexpr):
    """The same by functions, from a place before the matrix to one behind it."""
    source = tl.make_tensor_descriptor(x, [rows, columns], [columns, 1], [M, N])
    target = tl.make_tensor_descriptor(out, [rows, columns], [columns, 1], [M, N])
    m, n = tl.program_id(0) * M - 3, tl.program_id(1) * N - 5
    tl.store_tensor_descriptor(target, [m, n], tl.load_tensor_descriptor(source, [m, n]))


@tri.jit
def padded(out, x, rows, columns, NAN: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    """A tile that reaches beyond the matrix on all sides, padding and all."""
    source = tl.make_tensor_descriptor(
        x, [rows, columns], [columns, 1], [M, N], padding_option="nan" if NAN else "zero"
    )
    i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + i, source.load([-2, -3]))


@tri.jit
def cube(out, x, a, b, c, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    """A block of a tensor of three dimensions."""
    source = tl.make_tensor_descriptor(x, [a, b, c], [b * c, c, 1], [A, B, C])
    tl.store(out + tl.arange(0, A * B * C), tl.reshape(source.load([1, -1, 2]), (A * B * C,)))


@tri.jit
def line(out, x, n, B: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [n], [1], [B])
    target = tl.make_tensor_descriptor(out, [n], [1], [B])
    target.store([tl.program_id(0) * B], source.load([tl.program_id(0) * B]))


@tri.jit
def gathered(out, x, index, rows, columns, COLUMN: tl.constexpr, R: tl.constexpr, N: tl.constexpr):
    """Rows by their numbers, from a column on; what is outside is 0."""
    source = tl.make_tensor_descriptor(x, [rows, columns], [columns, 1], [1, N])
    got = source.gather(tl.load(index + tl.arange(0, R)), COLUMN)
    tl.store(out + tl.arange(0, R)[:, None] * N + tl.arange(0, N)[None, :], got)


@tri.jit
def scattered(out, x, index, rows, columns, COLUMN: tl.constexpr, R: tl.constexpr, N: tl.constexpr):
    """Rows to places by their numbers; what is outside is dropped."""
    target = tl.make_tensor_descriptor(out, [rows, columns], [columns, 1], [1, N])
    value = tl.load(x + tl.arange(0, R)[:, None] * N + tl.arange(0, N)[None, :])
    target.scatter(value, tl.load(index + tl.arange(0, R)), COLUMN)


@tri.jit
def updated(out, x, rows, columns, KIND: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    """Each element of a matrix updated with one of x's, by tiles that reach beyond it."""
    source = tl.make_tensor_descriptor(x, [rows, columns], [columns, 1], [M, N])
    target = tl.make_tensor_descriptor(out, [rows, columns], [columns, 1], [M, N])
    m, n = tl.program_id(0) * M, tl.program_id(1) * N
    value = source.load([m, n])
    if KIND == "add":
        target.atomic_add([m, n], value)
    elif KIND == "min":
        target.atomic_min([m, n], value)
    elif KIND == "max":
        target.atomic_max([m, n], value)
    elif KIND == "and":
        target.atomic_and([m, n], value)
    elif KIND == "or":
        target.atomic_or([m, n], value)
    else:
        target.atomic_xor([m, n], value)


@tri.jit
def walked(out, x, rows, columns, STEPS: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    """Sums over tiles that block pointers walk along a row, with the order of columns first."""
    source = tl.make_block_ptr(x, (rows, columns), (1, rows), (0, 0), (M, N), (0, 1))
    total = tl.zeros((M, N), x.dtype.element_ty)
    for _ in range(STEPS):
        total += tl.load(source, boundary_check=(0, 1), padding_option="zero")
        source = tl.advance(source, (0, N))
    tl.store(out + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], total)


@tri.jit
def partly_checked(out, x, rows, columns, M: tl.constexpr, N: tl.constexpr):
    """Only rows are checked; what is behind them is NaN."""
    source = tl.make_block_ptr(x, (rows, columns), (columns, 1), (rows - 5, 0), (M, N), (1, 0))
    got = tl.load(source, boundary_check=(0,), padding_option="nan")
    tl.store(out + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], got)


@tri.jit
def tiles(outs, x, rows, columns, M: tl.constexpr, N: tl.constexpr):
    """By methods, by functions, and by block pointers that move to their tile."""
    m, n = tl.program_id(0) * M, tl.program_id(1) * N
    source = tl.make_tensor_descriptor(x, [rows, columns], [columns, 1], [M, N])
    first = tl.make_tensor_descriptor(outs[0], [rows, columns], [columns, 1], [M, N])
    second = tl.make_tensor_descriptor(outs[1], [rows, columns], [columns, 1], [M, N])
    first.store([m, n], source.load([m, n]))
    tl.store_tensor_descriptor(second, [m, n], tl.load_tensor_descriptor(source, [m, n]))
    block = tl.advance(tl.make_block_ptr(x, (rows, columns), (columns, 1), (0, 0), (M, N), (1, 0)), (m, n))
    third = tl.advance(
        tl.make_block_ptr(outs[2], (rows, columns), (columns, 1), (0, 0), (M, N), (1, 0)), (m, n)
    )
    tl.store(third, tl.load(block, boundary_check=(0, 1), padding_option="zero"), boundary_check=(0, 1))
