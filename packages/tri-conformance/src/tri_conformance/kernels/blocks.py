"""Kernels of one operation on a block of any shape: arrays come flat and are reshaped."""

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
def put(out, value, N: tl.constexpr):
    """``value`` of N elements to memory of its own type: a result of another type does not compile."""
    tl.static_assert(value.dtype == out.dtype.element_ty, "the result is not of the type that is expected")
    tl.store(out + tl.arange(0, N), tl.reshape(value, (N,)))


@tri.jit
def block_to_block(out, x, F: tl.constexpr, SHAPE: tl.constexpr, N: tl.constexpr, M: tl.constexpr):
    _write(out, F(_read(x, SHAPE, N)), M)


@tri.jit
def reduce(
    out, x, KIND: tl.constexpr, AXIS: tl.constexpr, SHAPE: tl.constexpr, N: tl.constexpr, M: tl.constexpr
):
    value = _read(x, SHAPE, N)
    if KIND == "sum":
        made = tl.sum(value, AXIS, keep_dims=True)
    elif KIND == "max":
        made = tl.max(value, AXIS, keep_dims=True)
    elif KIND == "min":
        made = tl.min(value, AXIS, keep_dims=True)
    elif KIND == "argmax":
        made = tl.argmax(value, AXIS, keep_dims=True)
    elif KIND == "argmin":
        made = tl.argmin(value, AXIS, keep_dims=True)
    elif KIND == "xor_sum":
        made = tl.xor_sum(value, AXIS, keep_dims=True)
    else:
        top, total = tl.reduce((value, value), AXIS, _top_and_sum, keep_dims=True)
        made = top + total
    _write(out, made, M)


@tri.jit
def _weave(a, b):
    """Associative, and its first operand matters: the first of the two that is not 0."""
    return tl.where(a != 0, a, b)


@tri.jit
def _top_and_sum(a, s, b, t):
    return tl.maximum(a, b), s + t


@tri.jit
def _line(a, b, c, d):
    """Composition of x -> a x + b: associative, not commutative."""
    return a * c, b * c + d


@tri.jit
def scan(
    out,
    x,
    KIND: tl.constexpr,
    AXIS: tl.constexpr,
    REVERSE: tl.constexpr,
    SHAPE: tl.constexpr,
    N: tl.constexpr,
):
    value = _read(x, SHAPE, N)
    if KIND == "cumsum":
        made = tl.cumsum(value, AXIS, reverse=REVERSE)
    elif KIND == "cumprod":
        made = tl.cumprod(value, AXIS, reverse=REVERSE)
    elif KIND == "first":
        made = tl.associative_scan(value, AXIS, _weave, reverse=REVERSE)
    else:
        _, made = tl.associative_scan((value, value), AXIS, _line, reverse=REVERSE)
    _write(out, made, N)


@tri.jit
def permute(out, x, ORDER: tl.constexpr, SHAPE: tl.constexpr, N: tl.constexpr):
    _write(out, tl.permute(_read(x, SHAPE, N), ORDER), N)


@tri.jit
def flip(out, x, AXIS: tl.constexpr, SHAPE: tl.constexpr, N: tl.constexpr):
    _write(out, tl.flip(_read(x, SHAPE, N), AXIS), N)


@tri.jit
def join_split(out, x, SHAPE: tl.constexpr, N: tl.constexpr):
    value = _read(x, SHAPE, N)
    low, high = tl.split(tl.join(value, value + value))
    _write(out, high - low, N)


@tri.jit
def interleave(out, x, N: tl.constexpr):
    value = tl.load(x + tl.arange(0, N))
    tl.store(out + tl.arange(0, 2 * N), tl.interleave(value, value + value))


@tri.jit
def broadcast(out, x, SHAPE: tl.constexpr, N: tl.constexpr, ONE: tl.constexpr, M: tl.constexpr):
    _write(out, tl.broadcast_to(_read(x, ONE, M), SHAPE), N)


@tri.jit
def sort(out, x, DOWN: tl.constexpr, SHAPE: tl.constexpr, N: tl.constexpr):
    _write(out, tl.sort(_read(x, SHAPE, N), descending=DOWN), N)


@tri.jit
def gather(out, x, index, AXIS: tl.constexpr, SHAPE: tl.constexpr, N: tl.constexpr):
    _write(out, tl.gather(_read(x, SHAPE, N), _read(index, SHAPE, N), AXIS), N)


@tri.jit
def histogram(out, x, BINS: tl.constexpr, N: tl.constexpr):
    tl.store(out + tl.arange(0, BINS), tl.histogram(tl.load(x + tl.arange(0, N)), BINS))


@tri.jit
def dot(out, x, y, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, HOW: tl.constexpr):
    a, b, t = _read(x, (M, K), M * K), _read(y, (K, N), K * N), _read(c, (M, N), M * N)
    _write(out, tl.dot(a, b, t, input_precision=HOW, out_dtype=t.dtype), M * N)


@tri.jit
def imprecise(outs, x, y, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Limit on dots that may be summed up before they are added to the accumulator."""
    a, b, t = _read(x, (M, K), M * K), _read(y, (K, N), K * N), _read(c, (M, N), M * N)
    put(outs[0], tl.dot(a, b), M * N)
    put(outs[1], tl.dot(a, b, t, max_num_imprecise_acc=0), M * N)
    put(outs[2], tl.dot(a, b, t, max_num_imprecise_acc=K // 2), M * N)
    put(outs[3], tl.dot(a, b, t, max_num_imprecise_acc=K), M * N)


@tri.jit
def narrow(outs, x, y, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Sums in halves."""
    a, b, t = _read(x, (M, K), M * K), _read(y, (K, N), K * N), _read(c, (M, N), M * N)
    put(outs[0], tl.dot(a, b, out_dtype=tl.float16), M * N)
    put(outs[1], tl.dot(a, b, t, out_dtype=tl.float16), M * N)


@tri.jit
def batched_dot(out, x, y, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    a, b = _read(x, (B, M, K), B * M * K), _read(y, (B, K, N), B * K * N)
    _write(out, tl.dot(a, b, input_precision="ieee", out_dtype=tl.float32), B * M * N)


@tri.jit
def dot_chain(out, x, y, N: tl.constexpr):
    """A dot of a dot: the first result is an operand of the second."""
    a, b = _read(x, (N, N), N * N), _read(y, (N, N), N * N)
    _write(
        out,
        tl.dot(tl.dot(a, b, input_precision="ieee").to(a.dtype), tl.trans(b), input_precision="ieee"),
        N * N,
    )
