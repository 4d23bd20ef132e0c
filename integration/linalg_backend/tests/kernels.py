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


@tri.jit
def gather(out_ptr, x_ptr, places_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    inside = offsets < n
    places = tl.load(places_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, tl.load(x_ptr + places, mask=inside & (places >= 0), other=-1.0), mask=inside)


@tri.jit
def scatter(out_ptr, x_ptr, places_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    inside = offsets < n
    places = tl.load(places_ptr + offsets, mask=inside)
    tl.store(out_ptr + places, tl.load(x_ptr + offsets, mask=inside), mask=inside)


@tri.jit
def swap(x_ptr, y_ptr, places_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    places = tl.load(places_ptr + offsets)
    before = tl.load(x_ptr + places)
    tl.store(x_ptr + places, tl.load(y_ptr + places))
    tl.store(y_ptr + places, before + tl.load(x_ptr + places) * 0)


@tri.jit
def edges(out_ptr, a_ptr, b_ptr, M, N, K, BLOCK: tl.constexpr, STEP: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[None, :]
    inner = tl.arange(0, STEP)
    a, b = a_ptr + rows * K + inner[None, :], b_ptr + inner[:, None] * N + columns
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, K, STEP):
        left = tl.load(a, mask=(rows < M) & (inner[None, :] < K - k), other=0.0)
        right = tl.load(b, mask=(inner[:, None] < K - k) & (columns < N), other=0.0)
        total = tl.dot(left, right, total)
        a += STEP
        b += STEP * N
    tl.store(out_ptr + rows * N + columns, total, mask=(rows < M) & (columns < N))
