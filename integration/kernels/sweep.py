"""Kernels of one op each, for any shape: tensors come flat and are reshaped."""

from __future__ import annotations

import tri
import tri.language as tl


@tri.jit
def _read(x, SHAPE: tl.constexpr, N: tl.constexpr):
    return tl.reshape(tl.load(x + tl.arange(0, N)), SHAPE)


@tri.jit
def _write(out, value, N: tl.constexpr):
    tl.store(out + tl.arange(0, N), tl.reshape(value, (N,)))


@tri.jit
def _sum_of(a, b):
    return a + b


@tri.jit
def _first_and_sum(a, s, b, t):
    return a, s + t


@tri.jit
def _max_and_sum(a, s, b, t):
    return tl.maximum(a, b), s + t


@tri.jit
def _moments(m, v, n, p, w, k):
    total = n + k
    delta = p - m
    return m + delta * (k / total), v + w + delta * delta * (n * k / total), total


@tri.jit
def reduce_any(
    out, x, SHAPE: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr, OUT: tl.constexpr, KIND: tl.constexpr
):
    value = _read(x, SHAPE, N)
    if KIND == "sum":
        made = tl.reduce(value, AXIS, _sum_of)
    elif KIND == "max":
        made = tl.max(value, AXIS)
    elif KIND == "argmax":
        made = tl.argmax(value, AXIS)
    elif KIND == "pair":
        made, _ = tl.reduce((value, value), AXIS, _max_and_sum)
    else:
        one = tl.full(SHAPE, 1.0, tl.float32)
        zero = tl.full(SHAPE, 0.0, tl.float32)
        _, made, _ = tl.reduce((value, zero, one), AXIS, _moments)
    if OUT == 1:
        tl.store(out, tl.reshape(made, (1,)).sum(0) if made.type.is_block() else made)
    else:
        _write(out, made, OUT)


@tri.jit
def scan_any(
    out,
    x,
    SHAPE: tl.constexpr,
    N: tl.constexpr,
    AXIS: tl.constexpr,
    REVERSE: tl.constexpr,
    KIND: tl.constexpr,
):
    value = _read(x, SHAPE, N)
    if KIND == "sum":
        made = tl.associative_scan(value, AXIS, _sum_of, reverse=REVERSE)
    else:
        made, _ = tl.associative_scan((value, value), AXIS, _first_and_sum, reverse=REVERSE)
    _write(out, made, N)


@tri.jit
def gather_any(
    out,
    x,
    index,
    SHAPE: tl.constexpr,
    N: tl.constexpr,
    PICK: tl.constexpr,
    M: tl.constexpr,
    AXIS: tl.constexpr,
):
    _write(out, tl.gather(_read(x, SHAPE, N), _read(index, PICK, M), AXIS), M)


@tri.jit
def histogram_any(out, x, N: tl.constexpr, BINS: tl.constexpr, MASKED: tl.constexpr):
    value = tl.load(x + tl.arange(0, N))
    if MASKED:  # noqa: SIM108  what is not taken is not compiled
        counts = tl.histogram(value, BINS, mask=value % 3 != 1)
    else:
        counts = tl.histogram(value, BINS)
    tl.store(out + tl.arange(0, BINS), counts)


@tri.jit
def shapes_any(out, x, SHAPE: tl.constexpr, N: tl.constexpr, ORDER: tl.constexpr):
    value = tl.permute(_read(x, SHAPE, N), ORDER)
    pair = tl.join(value, value + value)
    low, high = tl.split(pair)
    _write(out, low + high, N)


@tri.jit
def cat_any(out, x, N: tl.constexpr):
    value = tl.load(x + tl.arange(0, N))
    # the order is free: what the elements are is not
    tl.store(out + tl.arange(0, 2 * N), tl.sort(tl.cat(value, value + value, can_reorder=True)))


@tri.jit
def sort_any(out, x, SHAPE: tl.constexpr, N: tl.constexpr, DESCENDING: tl.constexpr):
    _write(out, tl.sort(_read(x, SHAPE, N), descending=DESCENDING), N)


@tri.jit
def flip_any(out, x, SHAPE: tl.constexpr, N: tl.constexpr, AXIS: tl.constexpr):
    _write(out, tl.flip(_read(x, SHAPE, N), AXIS), N)


@tri.jit
def _branch(a):
    if a > 0:  # noqa: SIM108  a branch is meant
        r = a * 2
    else:
        r = a - 1
    return r


@tri.jit
def _swap(a, b):
    if a > b:
        r, s = b, a
    else:
        r, s = a, b
    return r, s


@tri.jit
def map_any(out, x, SHAPE: tl.constexpr, N: tl.constexpr, PACK: tl.constexpr):
    value = _read(x, SHAPE, N)
    if PACK == 1:
        _write(out, tl.map_elementwise(_branch, value), N)
    else:
        _write(out, tl.map_elementwise(_swap, value, pack=2)[0], N)


@tri.jit
def dot_any(
    out, x, y, c, BATCH: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, HOW: tl.constexpr
):
    if BATCH == 1:
        a, b, t = _read(x, (M, K), M * K), _read(y, (K, N), K * N), _read(c, (M, N), M * N)
    else:
        a = _read(x, (BATCH, M, K), BATCH * M * K)
        b = _read(y, (BATCH, K, N), BATCH * K * N)
        t = _read(c, (BATCH, M, N), BATCH * M * N)
    _write(out, tl.dot(a, b, t, input_precision=HOW, out_dtype=t.dtype), BATCH * M * N)


@tri.jit
def atomic_any(
    out, old, x, index, N: tl.constexpr, KIND: tl.constexpr, SEM: tl.constexpr, SCOPE: tl.constexpr
):
    i = tl.arange(0, N)
    place, value, mask = out + tl.load(index + i), tl.load(x + i), i % 5 != 3
    if KIND == "add":
        got = tl.atomic_add(place, value, mask, sem=SEM, scope=SCOPE)
    elif KIND == "max":
        got = tl.atomic_max(place, value, mask, sem=SEM, scope=SCOPE)
    elif KIND == "min":
        got = tl.atomic_min(place, value, mask, sem=SEM, scope=SCOPE)
    elif KIND == "and":
        got = tl.atomic_and(place, value, mask, sem=SEM, scope=SCOPE)
    elif KIND == "or":
        got = tl.atomic_or(place, value, mask, sem=SEM, scope=SCOPE)
    elif KIND == "xor":
        got = tl.atomic_xor(place, value, mask, sem=SEM, scope=SCOPE)
    else:
        got = tl.atomic_xchg(place, value, mask, sem=SEM, scope=SCOPE)
    tl.store(old + i, got, mask)


@tri.jit
def swap_any(out, old, x, N: tl.constexpr):
    i = tl.arange(0, N)
    value = tl.load(x + i)
    tl.store(old + i, tl.atomic_cas(out + i, value, value + value))
    # a scalar one: of all threads one does it
    tl.atomic_cas(out, tl.load(out), tl.load(x))


@tri.jit
def order_any(out, flag, x, N: tl.constexpr, TIMED: tl.constexpr):
    i = tl.arange(0, N)
    if TIMED:
        there = tl.atomic_poll(flag + i, tl.load(x + i), timeout_ns=1000)
    else:
        there = tl.atomic_poll(flag + i, tl.load(x + i))
    tl.store(out + i, there.to(tl.int32) + tl.atomic_load(flag + i))
    tl.debug_barrier()
    tl.atomic_store(flag + i, tl.load(x + i) + 1)


@tri.jit
def cast_any(out, x, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i).to(out.dtype.element_ty))


@tri.jit
def _early(value, n):
    if n > 3:
        return value * 2
    return value + 1


@tri.jit
def control_any(out, x, n, SHAPE: tl.constexpr, N: tl.constexpr):
    value = _read(x, SHAPE, N)
    total = tl.zeros(SHAPE, value.dtype)
    tl.assume(n > 0)
    for i in range(n):
        row = tl.sum(value, 1)
        best = tl.max(row, 0)
        while best > 4:
            best = best - 3
        value = _early(value, i) - tl.expand_dims(row, 1) + best
        total += value
    _write(out, total, N)


@tri.jit
def transposed_any(out, x, first, M: tl.constexpr, N: tl.constexpr):
    # columns of a matrix, from an address that is aligned to nothing
    m, n = tl.arange(0, M), tl.arange(0, N)
    value = tl.load(x + first + n[None, :] * M + m[:, None])
    tl.store(out + m[:, None] * N + n[None, :], value)
