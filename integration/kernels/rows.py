"""Kernels that go over rows: rotations, norms, scans, gates, quantization, losses.  Either compiler compiles them."""

from __future__ import annotations

import tri
import tri.language as tl


@tri.jit
def rms_rope(
    x_ptr, w_ptr, cos_ptr, sin_ptr, out_ptr, eps, stride, stride_angle,
    HEADS: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """Heads of a token, each divided by its root mean square and weighed, then turned: halves of a head are the two coordinates."""
    token = tl.program_id(0)
    heads, half = tl.arange(0, HEADS), tl.arange(0, WIDTH // 2)
    at = token * stride + heads[:, None] * WIDTH + half[None, :]
    first = tl.load(x_ptr + at).to(tl.float32)
    second = tl.load(x_ptr + at + WIDTH // 2).to(tl.float32)
    shrink = tl.rsqrt((tl.sum(first * first, 1) + tl.sum(second * second, 1)) / WIDTH + eps)[:, None]
    first = first * shrink * tl.load(w_ptr + half)[None, :]
    second = second * shrink * tl.load(w_ptr + WIDTH // 2 + half)[None, :]
    cos = tl.load(cos_ptr + token * stride_angle + half)[None, :]
    sin = tl.load(sin_ptr + token * stride_angle + half)[None, :]
    tl.store(out_ptr + at, (first * cos - second * sin).to(out_ptr.dtype.element_ty))
    tl.store(out_ptr + at + WIDTH // 2, (second * cos + first * sin).to(out_ptr.dtype.element_ty))


@tri.jit
def interleaved_rope(
    x_ptr, angle_ptr, out_ptr, stride, stride_angle, HEADS: tl.constexpr, WIDTH: tl.constexpr
):
    """Heads of a token turned: even and odd columns are the two coordinates, ``angle`` holds cosines, then sines."""
    token = tl.program_id(0)
    heads, columns, half = tl.arange(0, HEADS), tl.arange(0, WIDTH), tl.arange(0, WIDTH // 2)
    at = token * stride + heads[:, None] * WIDTH + columns[None, :]
    x = tl.load(x_ptr + at).to(tl.float32)
    even, odd = tl.split(tl.reshape(x, [HEADS, WIDTH // 2, 2]))
    cos = tl.load(angle_ptr + token * stride_angle + half)[None, :]
    sin = tl.load(angle_ptr + token * stride_angle + WIDTH // 2 + half)[None, :]
    out = tl.reshape(tl.join(even * cos - odd * sin, odd * cos + even * sin), [HEADS, WIDTH])
    tl.store(out_ptr + at, out.to(out_ptr.dtype.element_ty))


@tri.jit
def _after(decay, value, next_decay, next_value):
    return decay * next_decay, value * next_decay + next_value


@tri.jit
def recurrence(decay_ptr, x_ptr, out_ptr, length, stride, BLOCK_T: tl.constexpr, BLOCK_D: tl.constexpr):
    """h = decay h + x along rows, a block of them at a time, in each of BLOCK_D columns."""
    t, columns = tl.arange(0, BLOCK_T), tl.program_id(0) * BLOCK_D + tl.arange(0, BLOCK_D)
    state = tl.zeros([1, BLOCK_D], dtype=tl.float32)
    for start in range(0, length, BLOCK_T):
        at = (start + t[:, None]) * stride + columns[None, :]
        decay, value = tl.associative_scan((tl.load(decay_ptr + at), tl.load(x_ptr + at)), 0, _after)
        value += decay * state
        tl.store(out_ptr + at, value)
        state = tl.sum(tl.where(t[:, None] == BLOCK_T - 1, value, 0.0), 0, keep_dims=True)


@tri.jit
def local_sums(x_ptr, out_ptr, stride, BLOCK_T: tl.constexpr, HEADS: tl.constexpr):
    """Running sums of a chunk's rows, in each of HEADS columns."""
    t, heads = tl.arange(0, BLOCK_T), tl.arange(0, HEADS)
    at = (tl.program_id(0) * BLOCK_T + t[:, None]) * stride + heads[None, :]
    tl.store(out_ptr + at, tl.cumsum(tl.load(x_ptr + at), 0))


@tri.jit
def gate(x_ptr, out_ptr, columns, stride, stride_out, BLOCK: tl.constexpr):
    """The silu of a row's first half times its second."""
    row = tl.program_id(0)
    place = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = place < columns
    x = tl.load(x_ptr + row * stride + place, mask=inside, other=0.0).to(tl.float32)
    y = tl.load(x_ptr + row * stride + columns + place, mask=inside, other=0.0).to(tl.float32)
    tl.store(
        out_ptr + row * stride_out + place, (x * tl.sigmoid(x) * y).to(out_ptr.dtype.element_ty), mask=inside
    )


@tri.jit
def quantize_groups(
    x_ptr,
    out_ptr,
    scale_ptr,
    stride,
    stride_scale,
    LARGEST: tl.constexpr,
    GROUPS: tl.constexpr,
    GROUP: tl.constexpr,
):
    """A row's 8-bit floats with an f32 scale for each GROUP of columns."""
    groups, inner = tl.arange(0, GROUPS), tl.arange(0, GROUP)
    at = groups[:, None] * GROUP + inner[None, :]
    x = tl.load(x_ptr + tl.program_id(0) * stride + at).to(tl.float32)
    scale = tl.maximum(tl.max(tl.abs(x), 1), 1e-10) / LARGEST
    tl.store(out_ptr + tl.program_id(0) * stride + at, (x / scale[:, None]).to(out_ptr.dtype.element_ty))
    tl.store(scale_ptr + tl.program_id(0) * stride_scale + groups, scale)


@tri.jit
def cross_entropy(x_ptr, target_ptr, loss_ptr, columns, stride, BLOCK: tl.constexpr):
    """log(sum(exp(row))) - row[target], over blocks of a row."""
    row = tl.program_id(0)
    place = tl.arange(0, BLOCK)
    largest, total = float("-inf"), 0.0
    for start in range(0, columns, BLOCK):
        x = tl.load(x_ptr + row * stride + start + place, mask=start + place < columns, other=float("-inf"))
        x = x.to(tl.float32)
        top = tl.maximum(largest, tl.max(x, 0))
        total = total * tl.exp(largest - top) + tl.sum(tl.exp(x - top), 0)
        largest = top
    chosen = tl.load(x_ptr + row * stride + tl.load(target_ptr + row)).to(tl.float32)
    tl.store(loss_ptr + row, tl.log(total) + largest - chosen)
