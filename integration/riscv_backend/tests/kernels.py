"""Kernels of the tests."""

import tri
import tri.language as tl


@tri.jit
def scale(out_ptr, x_ptr, factor, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=inside) * factor, mask=inside)


@tri.jit
def softmax(out_ptr, x_ptr, n, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    row = tl.program_id(0) * n
    x = tl.load(x_ptr + row + columns, mask=columns < n, other=-float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row + columns, e / tl.sum(e, axis=0), mask=columns < n)


@tri.jit
def matmul(out_ptr, a_ptr, b_ptr, K, BLOCK: tl.constexpr):
    rows = tl.arange(0, BLOCK)[:, None]
    columns = tl.arange(0, BLOCK)[None, :]
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, K, BLOCK):
        a = tl.load(a_ptr + rows * K + k + columns)
        b = tl.load(b_ptr + (k + rows) * BLOCK + columns)
        total = tl.dot(a, b, total)
    tl.store(out_ptr + rows * BLOCK + columns, total)


@tri.jit
def assembly(out_ptr):
    tl.store(out_ptr, tl.inline_asm_elementwise("mov.u32 $0, 1;", "=r", [], tl.int32, True, 1))


@tri.jit
def collatz(out_ptr, n_ptr):
    n = tl.load(n_ptr + tl.program_id(0))
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
            steps += 1
        else:
            n = (3 * n + 1) // 2  # which is even before it is halved
            steps += 2
    tl.store(out_ptr + tl.program_id(0), steps)
