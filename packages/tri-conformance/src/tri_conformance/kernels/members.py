"""Methods and operators of blocks, and functions that make blocks: each kernel writes a row for each."""

from __future__ import annotations

import tri
import tri.language as tl


@tri.jit
def _sum(a, b):
    return a + b


@tri.jit
def mathematics(out, x, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(out + 0 * N + i, v.abs())
    tl.store(out + 1 * N + i, v.ceil())
    tl.store(out + 2 * N + i, v.floor())
    tl.store(out + 3 * N + i, v.sin())
    tl.store(out + 4 * N + i, v.cos())
    tl.store(out + 5 * N + i, v.exp())
    tl.store(out + 6 * N + i, v.exp2())
    tl.store(out + 7 * N + i, v.log())
    tl.store(out + 8 * N + i, v.log2())
    tl.store(out + 9 * N + i, v.sqrt())
    tl.store(out + 10 * N + i, v.sqrt_rn())
    tl.store(out + 11 * N + i, v.rsqrt())
    tl.store(out + 12 * N + i, v.erf())
    tl.store(out + 13 * N + i, v.sigmoid())
    tl.store(out + 14 * N + i, v.softmax())
    tl.store(out + 15 * N + i, tl.softmax(v, 0, ieee_rounding=True))


@tri.jit
def softmaxes(out, x, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    v = tl.load(x + i)
    tl.store(out + i, tl.softmax(v))
    tl.store(out + M * N + i, tl.softmax(v, 1))
    tl.store(out + 2 * M * N + i, v.softmax(1, ieee_rounding=True))


@tri.jit
def functions(out, x, N: tl.constexpr):
    """Functions by their names in tl.math."""
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(out + 0 * N + i, tl.math.abs(-v))
    tl.store(out + 1 * N + i, tl.math.ceil(v))
    tl.store(out + 2 * N + i, tl.math.floor(v))
    tl.store(out + 3 * N + i, tl.math.sin(v))
    tl.store(out + 4 * N + i, tl.math.cos(v))
    tl.store(out + 5 * N + i, tl.math.exp(v))
    tl.store(out + 6 * N + i, tl.math.exp2(v))
    tl.store(out + 7 * N + i, tl.math.log(v))
    tl.store(out + 8 * N + i, tl.math.log2(v))
    tl.store(out + 9 * N + i, tl.math.sqrt(v))
    tl.store(out + 10 * N + i, tl.math.sqrt_rn(v))
    tl.store(out + 11 * N + i, tl.math.rsqrt(v))
    tl.store(out + 12 * N + i, tl.math.erf(v))
    tl.store(out + 13 * N + i, tl.math.fma(v, v, v))
    tl.store(out + 14 * N + i, tl.math.div_rn(v, v + 1))
    tl.store(out + 15 * N + i, tl.math.fdiv(v, v + 1))
    bits = v.to(tl.uint32, bitcast=True)
    tl.store(out + 16 * N + i, tl.math.umulhi(bits, bits).to(tl.float32))


@tri.jit
def reflected(out, x, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(out + 0 * N + i, 5 + v)
    tl.store(out + 1 * N + i, 5 - v)
    tl.store(out + 2 * N + i, 5 * v)
    tl.store(out + 3 * N + i, 500 // v)
    tl.store(out + 4 * N + i, 500 % v)
    tl.store(out + 5 * N + i, 5 & v)
    tl.store(out + 6 * N + i, 5 | v)
    tl.store(out + 7 * N + i, 5 ^ v)
    tl.store(out + 8 * N + i, 5 << (v & 7))
    tl.store(out + 9 * N + i, 500 >> (v & 7))
    tl.store(out + 10 * N + i, (8 / v * 16).to(tl.int32))
    tl.store(out + 11 * N + i, tl.add(v, 3))
    tl.store(out + 12 * N + i, tl.sub(v, 3))
    tl.store(out + 13 * N + i, tl.mul(v, 3))
    tl.store(out + 14 * N + i, v.cdiv(3))
    tl.store(out + 15 * N + i, tl.cdiv(v, 4))
    tl.store(out + 16 * N + i, (v > 3).logical_and(v < 9))
    tl.store(out + 17 * N + i, (v > 9).logical_or(v < 3))
    tl.store(out + 18 * N + i, v.to(tl.int64).cast(tl.int32))
    first = tl.load(x)
    tl.store(out + 19 * N + i, (not first > 3) + tl.zeros([N], tl.int32))


@tri.jit
def reduced(out, x, M: tl.constexpr, N: tl.constexpr):
    """Reductions and scans along the second dimension."""
    m, n = tl.arange(0, M), tl.arange(0, N)
    v = tl.load(x + m[:, None] * N + n[None, :])
    tl.store(out + 0 * M + m, v.sum(1))
    tl.store(out + 1 * M + m, v.max(1))
    tl.store(out + 2 * M + m, v.min(1))
    tl.store(out + 3 * M + m, v.argmax(1))
    tl.store(out + 4 * M + m, v.argmin(1))
    tl.store(out + 5 * M + m, v.xor_sum(1))
    tl.store(out + 6 * M + m, v.reduce_or(1))
    tl.store(out + 7 * M + m, v.reduce(1, _sum))
    tl.store(out + 8 * M + m, tl.reduce_or(v, 1))
    tl.store(out + 9 * M + m, tl.sum(v, 1, dtype=tl.int64).to(tl.int32))
    top, at = tl.max(v, 1, return_indices=True)
    tl.store(out + 10 * M + m, top)
    tl.store(out + 11 * M + m, at)
    least, where = tl.min(v, 1, return_indices=True, return_indices_tie_break_left=True)
    tl.store(out + 12 * M + m, least)
    tl.store(out + 13 * M + m, where)
    place = out + 14 * M + m[:, None] * N + n[None, :]
    tl.store(place, v.cumsum(1))
    tl.store(place + M * N, v.associative_scan(1, _sum))
    tl.store(place + 2 * M * N, (v & 1).cumprod(1))
    tl.store(place + 3 * M * N, v.sort())
    tl.store(place + 4 * M * N, v.flip(1))
    tl.store(place + 5 * M * N, v.gather(tl.broadcast_to((N - 1 - n)[None, :], (M, N)), 1))
    whole = v.sum()
    tl.store(out + 14 * M + 6 * M * N, whole)
    tl.store(out + 14 * M + 6 * M * N + 1, tl.max(v))
    tl.store(out + 14 * M + 6 * M * N + 2, tl.min(v))


@tri.jit
def shaped(out, x, M: tl.constexpr, N: tl.constexpr):
    """Every way to another shape; each result is written row by row."""
    S: tl.constexpr = M * N
    i = tl.arange(0, S)
    flat = tl.load(x + i)
    v = flat.reshape(M, N)
    tl.store(out + 0 * S + i, v.trans().reshape(S))
    tl.store(out + 1 * S + i, v.T.ravel())
    tl.store(out + 2 * S + i, v.permute(1, 0).view(S))
    tl.store(out + 3 * S + i, tl.ravel(tl.trans(v)))
    tl.store(out + 4 * S + i, tl.view(flat, M, N).expand_dims(0).reshape(S))
    tl.store(out + 5 * S + i, tl.reshape(tl.squeeze(tl.unsqueeze(v, 1), 1), (S,)))
    tl.store(out + 6 * S + i, tl.reshape(tl.expand_dims(v, 2), (S,)))
    low, high = flat.reshape(S // 2, 2).split()
    tl.store(out + 7 * S + i, tl.cat(low, high, can_reorder=False, dim=0))
    tl.store(out + 8 * S + i, tl.reshape(tl.load(x).broadcast_to(M, N), (S,)))
    tl.store(out + 9 * S + i, tl.broadcast(flat, tl.load(x + 1))[1])
    tl.store(out + 10 * S + i, tl.full((S,), 5, tl.int32) + tl.zeros((S,), tl.int32) + tl.zeros_like(flat))
    tl.store(out + 11 * S + i, flat + tl.to_tensor(7))
    tl.store(out + 12 * S + i, tl.reshape(flat[None, :][tl.slice(None, None, None), :], (S,)))
    one = tl.reshape(tl.load(x + 3), (1,)).item()
    tl.store(out + 13 * S + i, flat * one)
    tl.store(out + 14 * S + i, tl.cast(flat, tl.float32).to(tl.int32))
    a, b = tl.swizzle2d(i // N, i % N, M, N, 2)
    tl.store(out + 15 * S + i, a * N + b)
    (out + 16 * S + i).store(flat, mask=i < S)


@tri.jit
def ordered(out, x, K: tl.constexpr, DOWN: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    v = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    best = tl.topk(v, K, descending=DOWN)
    tl.store(out + tl.arange(0, M)[:, None] * K + tl.arange(0, K)[None, :], best)


@tri.jit
def merged(out, x, DOWN: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    place = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + place, tl.bitonic_merge(tl.load(x + place), descending=DOWN))


@tri.jit
def counted(out, x, BINS: tl.constexpr, N: tl.constexpr):
    """Of every second element; by the function and by the method."""
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(out + tl.arange(0, BINS), tl.histogram(v, BINS, mask=i % 2 == 0))
    tl.store(out + BINS + tl.arange(0, BINS), v.histogram(BINS))


@tri.jit
def atomics(out, old, x, N: tl.constexpr):
    """Each method on a row of its own."""
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(old + 0 * N + i, (out + 0 * N + i).atomic_add(v))
    tl.store(old + 1 * N + i, (out + 1 * N + i).atomic_max(v))
    tl.store(old + 2 * N + i, (out + 2 * N + i).atomic_min(v))
    tl.store(old + 3 * N + i, (out + 3 * N + i).atomic_and(v))
    tl.store(old + 4 * N + i, (out + 4 * N + i).atomic_or(v))
    tl.store(old + 5 * N + i, (out + 5 * N + i).atomic_xor(v))
    tl.store(old + 6 * N + i, (out + 6 * N + i).atomic_xchg(v))
    tl.store(old + 7 * N + i, (out + 7 * N + i).atomic_cas(v, v + 1))
    (out + 8 * N + i).atomic_store(v)
    tl.store(old + 8 * N + i, (out + 8 * N + i).atomic_load())


@tri.jit
def atomic_memory(out, x, n, SEM: tl.constexpr, ORDER: tl.constexpr, B: tl.constexpr):
    """Values that atomic loads read, stored atomically."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    got = tl.atomic_load(x + i, mask=i < n, sem=SEM)
    tl.atomic_store(out + i, got, mask=i < n, sem=ORDER, scope="gpu")


@tri.jit
def polled(out, x, expected, B: tl.constexpr):
    """True where memory holds the expected value before a timeout."""
    i = tl.arange(0, B)
    tl.store(out + i, tl.atomic_poll(x + i, tl.load(expected + i), timeout_ns=2000))


@tri.jit
def polled_at_once(out, x, B: tl.constexpr):
    """Waits that are already satisfied."""
    i = tl.arange(0, B)
    tl.store(out + i, (x + i).atomic_poll(tl.load(x + i), sem="relaxed"))


@tri.jit
def passed_on(out, ticket, flag, box, x, B: tl.constexpr):
    """The program that begins first writes and raises a flag; the second waits for it, and reads."""
    i = tl.arange(0, B)
    mine = tl.atomic_add(ticket, 1)
    if mine == 0:
        tl.store(box + i, tl.load(x + i) * 2)
        tl.debug_barrier()
        tl.atomic_xchg(flag, 1, sem="release")
    else:
        while tl.atomic_load(flag, sem="acquire") == 0:
            pass
        tl.debug_barrier()
        tl.store(out + i, tl.load(box + i, volatile=True) + 1)


@tri.jit
def typed(out, x, N: tl.constexpr):
    """Pointers and types as values of the language."""
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(out + 0 * N + i, tl.load((x + i).to(tl.pi32_t)))
    bits = tl.load((x + i).to(tl.pointer_type(tl.float32), bitcast=True)).to(tl.int32, bitcast=True)
    tl.store(out + 1 * N + i, bits)
    tl.store(out + 2 * N + i, v + tl.block_type(tl.int32, [4]).numel)
    tl.store(out + 3 * N + i, v.to(tl.dtype("fp32")).to(tl.int32))
    tl.store(out + 4 * N + i, v + (v.dtype == tl.int32) + tl.constexpr(3))
    wide = v.to(tl.int8).to(tl.int16).to(tl.int64).to(tl.uint8).to(tl.uint16).to(tl.uint32).to(tl.uint64)
    tl.store(out + 5 * N + i, wide.to(tl.int32))
    halves = v.to(tl.float16).to(tl.bfloat16).to(tl.float32).to(tl.float64)
    tl.store(out + 6 * N + i, halves.to(tl.int32) + v.to(tl.int1))


@tri.jit
def random_words(out, seed, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b, c, d = tl.randint4x(seed, i)
    tl.store(out + 0 * N + i, a)
    tl.store(out + 1 * N + i, b)
    tl.store(out + 2 * N + i, c)
    tl.store(out + 3 * N + i, d)
    counter = i.to(tl.uint32)
    zero = counter * 0
    e, f, g, h = tl.philox(seed, counter, zero, zero, zero, 7)
    tl.store(out + 4 * N + i, e ^ f)
    tl.store(out + 5 * N + i, g ^ h)
    key = zero + 5
    p, q, _, _ = tl.philox_impl(counter, zero, zero, zero, key, key, 10)
    tl.store(out + 6 * N + i, p ^ q)


@tri.jit
def random_wide(out, floats, offsets, seed, N: tl.constexpr):
    i = tl.arange(0, N)
    at = tl.load(offsets + i)
    a, b, c, d = tl.randint4x(seed, at)
    tl.store(out + 0 * N + i, a)
    tl.store(out + 1 * N + i, b)
    tl.store(out + 2 * N + i, c)
    tl.store(out + 3 * N + i, d)
    tl.store(floats + 0 * N + i, tl.uint_to_uniform_float(tl.randint(seed, at)))
    u, v, w, x = tl.rand4x(seed, at)
    tl.store(floats + 1 * N + i, tl.rand(seed, at) + (u - u))
    tl.store(floats + 2 * N + i, v)
    tl.store(floats + 3 * N + i, w)
    tl.store(floats + 4 * N + i, x)
    p, q, r, s = tl.randn4x(seed, at)
    tl.store(floats + 5 * N + i, tl.randn(seed, at))
    tl.store(floats + 6 * N + i, p)
    tl.store(floats + 7 * N + i, q)
    tl.store(floats + 8 * N + i, r)
    tl.store(floats + 9 * N + i, s)


@tri.jit
def random_of_64_bits(out, floats, counters, seed, N: tl.constexpr):
    i = tl.arange(0, N)
    c = tl.load(counters + i)
    p, q, r, s = tl.philox(seed, c, c * 0, c * 0, c * 0)
    tl.store(out + 0 * N + i, p)
    tl.store(out + 1 * N + i, q)
    tl.store(out + 2 * N + i, r)
    tl.store(out + 3 * N + i, s)
    tl.store(floats + i, tl.uint_to_uniform_float(p ^ q ^ r ^ s))


@tri.jit
def places(out, x, m, n, S: tl.constexpr):
    """Destination of each place of a matrix of m rows and n columns, in the type of x."""
    i = tl.load(x + tl.arange(0, S))
    T: tl.constexpr = x.dtype.element_ty
    rows, columns = m.to(T), n.to(T)
    a, b = tl.swizzle2d(i // columns, i % columns, rows, columns, 2)
    tl.store(out + tl.arange(0, S), a * columns + b)


@tri.jit
def random_floats(out, seed, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + 0 * N + i, tl.rand(seed, i))
    a, b, c, d = tl.rand4x(seed, i)
    tl.store(out + 1 * N + i, a)
    tl.store(out + 2 * N + i, b)
    tl.store(out + 3 * N + i, c)
    tl.store(out + 4 * N + i, d)
    tl.store(out + 5 * N + i, tl.uint_to_uniform_float(tl.randint(seed, i)))


@tri.jit
def random_normals(out, seed, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + 0 * N + i, tl.randn(seed, i))
    a, b, c, d = tl.randn4x(seed, i)
    tl.store(out + 1 * N + i, a)
    tl.store(out + 2 * N + i, b)
    tl.store(out + 3 * N + i, c)
    tl.store(out + 4 * N + i, d)
    u, v, _, _ = tl.rand4x(seed, i)
    x, y = tl.pair_uniform_to_normal(u, v)
    tl.store(out + 5 * N + i, x)
    tl.store(out + 6 * N + i, y)
