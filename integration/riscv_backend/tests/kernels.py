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
def add(out_ptr, x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, x + tl.load(y_ptr + offsets, mask=inside), mask=inside)


@tri.jit
def layer_norm(out_ptr, x_ptr, weight_ptr, bias_ptr, n, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    inside = columns < n
    row = tl.program_id(0) * n
    x = tl.load(x_ptr + row + columns, mask=inside, other=0.0)
    centred = tl.where(inside, x - tl.sum(x, axis=0) / n, 0.0)
    scaled = centred * tl.rsqrt(tl.sum(centred * centred, axis=0) / n + 1e-5)
    weight = tl.load(weight_ptr + columns, mask=inside)
    tl.store(out_ptr + row + columns, scaled * weight + tl.load(bias_ptr + columns, mask=inside), mask=inside)


@tri.jit
def shift(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    inside = offsets < n
    tl.store(x_ptr + 1 + offsets, tl.load(x_ptr + offsets, mask=inside), mask=inside)


@tri.jit
def towards_zero(out_ptr, x_ptr, y_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    quotient = tl.load(x_ptr + offsets) / tl.load(y_ptr + offsets)
    tl.store(out_ptr + offsets, quotient.to(tl.int32))


@tri.jit
def says(x_ptr):
    tl.device_print("program", tl.load(x_ptr + tl.program_id(0)))


@tri.jit
def asserts(x_ptr):
    tl.device_assert(tl.load(x_ptr + tl.program_id(0)) < 2, "small")


@tri.jit
def forever(x_ptr):
    while tl.load(x_ptr, volatile=True) == 0:
        pass


@tri.jit
def wild(x_ptr, far):
    tl.store(x_ptr + far, 1)
