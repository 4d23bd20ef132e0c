"""Kernels of matrices, in Helion's language."""

from __future__ import annotations

from collections.abc import Callable

import helion.language as hl
import torch
from torch import Tensor


def matmul(x: Tensor, y: Tensor, epilogue: Callable[[Tensor, tuple[Tensor, ...]], Tensor]) -> Tensor:
    """``epilogue(x @ y)`` with a function that a closure gives."""
    m, k = x.size()
    _, n = y.size()
    out = torch.empty([m, n], dtype=torch.promote_types(x.dtype, y.dtype), device=x.device)
    for tile_m, tile_n in hl.tile([m, n]):
        total = hl.zeros([tile_m, tile_n], dtype=torch.float32)
        for tile_k in hl.tile(k):
            total = torch.addmm(total, x[tile_m, tile_k], y[tile_k, tile_n])
        out[tile_m, tile_n] = epilogue(total, (tile_m, tile_n))
    return out


def bmm(a: Tensor, b: Tensor) -> Tensor:
    """A matmul for each batch."""
    batch, m, k = a.size()
    _, _, n = b.size()
    out = torch.empty([batch, m, n], dtype=a.dtype, device=a.device)
    for tile_b, tile_m, tile_n in hl.tile([batch, m, n]):
        total = hl.zeros([tile_b, tile_m, tile_n], dtype=torch.float32)
        for tile_k in hl.tile(k):
            total = torch.baddbmm(total, a[tile_b, tile_m, tile_k], b[tile_b, tile_k, tile_n])
        out[tile_b, tile_m, tile_n] = total
    return out


def broadcast_matmul(x: Tensor, y: Tensor) -> Tensor:
    """A batch of matrices by one matrix."""
    batch, m, k = x.size()
    _, n = y.size()
    out = torch.empty([batch, m, n], dtype=x.dtype, device=x.device)
    rows, made = x.view(-1, k), out.view(-1, n)
    for tile_m, tile_n in hl.tile([batch * m, n]):
        total = hl.zeros([tile_m, tile_n], dtype=torch.float32)
        for tile_k in hl.tile(k):
            total = torch.addmm(total, rows[tile_m, tile_k], y[tile_k, tile_n])
        made[tile_m, tile_n] = total.to(made.dtype)
    return out


def split_k(x: Tensor, y: Tensor) -> Tensor:
    """Parts of K by programs of their own, added by atomics."""
    m, k = x.size()
    _, n = y.size()
    out = torch.zeros([m, n], dtype=torch.float32, device=x.device)
    part = hl.register_block_size(16, k)
    for tile_m, tile_n, outer in hl.tile([m, n, k], block_size=[None, None, part]):
        total = hl.zeros([tile_m, tile_n], dtype=torch.float32)
        for inner in hl.tile(outer.begin, outer.end):
            total = torch.addmm(total, x[tile_m, inner], y[inner, tile_n])
        hl.atomic_add(out, [tile_m, tile_n], total)
    return out


def matmul_layernorm(x: Tensor, y: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """A layer norm of a matmul's rows, which a program has whole."""
    m, k = x.size()
    n = hl.specialize(y.size(1))
    out = torch.empty([m, n], dtype=x.dtype, device=x.device)
    for tile_m in hl.tile(m):
        total = hl.zeros([tile_m, n], dtype=torch.float32)
        for tile_k in hl.tile(k):
            total = total + torch.matmul(x[tile_m, tile_k], y[tile_k, :])
        mean = total.sum(dim=-1) / n
        centred = total - mean[:, None]
        variance = (centred * centred).sum(dim=-1) / n
        scaled = centred * torch.rsqrt(variance + 1e-5)[:, None]
        out[tile_m, :] = (scaled * weight[:][None, :] + bias[:][None, :]).to(out.dtype)
    return out


def grouped(x: Tensor, y: Tensor, offsets: Tensor) -> Tensor:
    """A matmul for each group of rows; groups are ragged and begin where ``offsets`` says."""
    total_m, k = x.shape
    _, n = y.shape
    out = torch.empty([total_m, n], dtype=x.dtype, device=x.device)
    for group in hl.grid(offsets.size(0) - 1):
        start = offsets[group]
        length = offsets[group + 1] - start
        if length != 0:
            for tile_m, tile_n in hl.tile([length, n]):
                total = hl.zeros([tile_m, tile_n], dtype=torch.float32)
                rows = start + tile_m.index
                for tile_k in hl.tile(k):
                    total = torch.addmm(
                        total,
                        hl.load(x, [rows, tile_k], extra_mask=(tile_m.index < length)[:, None]),
                        y[tile_k, tile_n],
                    )
                hl.store(
                    out, [rows, tile_n], total.to(out.dtype), extra_mask=(tile_m.index < length)[:, None]
                )
    return out


def int4_matmul(x: Tensor, packed: Tensor) -> Tensor:
    """``x`` by a matrix of two signed 4-bit integers a byte, rows of even number in the low half."""
    m, _ = x.shape
    half, n = packed.shape
    out = torch.empty([m, n], dtype=torch.float32, device=x.device)
    block = hl.register_block_size(half)
    for tile_m, tile_n in hl.tile([m, n]):
        total = hl.zeros([tile_m, tile_n], dtype=torch.float32)
        for tile_k in hl.tile(half, block_size=block):
            values = x[tile_m, tile_k.begin * 2 : tile_k.begin * 2 + tile_k.block_size * 2]
            pair = packed[tile_k, tile_n]
            low = ((pair << 4) >> 4).to(torch.float32)
            high = (pair >> 4).to(torch.float32)
            both = torch.stack([low, high], dim=1).reshape(tile_k.block_size * 2, tile_n.block_size)
            total = hl.dot(values.to(torch.float32), both, acc=total)
        out[tile_m, tile_n] = total
    return out


def fp8_matmul(x: Tensor, y: Tensor) -> Tensor:
    """A matmul of 8-bit floats in float32."""
    m, k = x.size()
    _, n = y.size()
    out = torch.empty([m, n], dtype=torch.float32, device=x.device)
    for tile_m, tile_n in hl.tile([m, n]):
        total = hl.zeros([tile_m, tile_n], dtype=torch.float32)
        for tile_k in hl.tile(k):
            total = hl.dot(x[tile_m, tile_k], y[tile_k, tile_n], acc=total)
        out[tile_m, tile_n] = total
    return out


def attention(q_in: Tensor, k_in: Tensor, v_in: Tensor) -> Tensor:
    """Attention of ``[batch, heads, length, width]`` with a running maximum."""
    length = q_in.size(-2)
    keys = k_in.size(-2)
    width = hl.specialize(q_in.size(-1))
    q = q_in.reshape([-1, length, width])
    v = v_in.reshape([-1, keys, width])
    k = k_in.reshape([-1, keys, width]).transpose(1, 2)
    out = torch.empty_like(q)
    scale = 1.0 / width**0.5 * 1.44269504
    for tile_b, tile_m in hl.tile([q.size(0), length]):
        top = hl.full([tile_b, tile_m], float("-inf"), dtype=torch.float32)
        total = torch.full_like(top, 1.0)
        made = hl.zeros([tile_b, tile_m, width], dtype=torch.float32)
        queries = q[tile_b, tile_m, :]
        for tile_n in hl.tile(keys):
            scores = torch.bmm(queries, k[tile_b, :, tile_n])
            new = torch.maximum(top, torch.amax(scores, -1) * scale)
            weights = torch.exp2(scores * scale - new[:, :, None])
            correction = torch.exp2(top - new)
            total = total * correction + torch.sum(weights, -1)
            made = made * correction[:, :, None]
            made = torch.baddbmm(made, weights.to(v.dtype), v[tile_b, tile_n, :])
            top = new
        out[tile_b, tile_m, :] = (made / total[:, :, None]).to(out.dtype)
    return out.view(q_in.size())


def gather_gemv(w: Tensor, chosen: Tensor, x: Tensor) -> Tensor:
    """Chosen matrices of ``w`` by one vector."""
    number = chosen.size(0)
    rows = w.size(1)
    out = torch.empty([number, rows], dtype=x.dtype, device=x.device)
    for tile_c, tile_r in hl.tile([number, rows], block_size=[1, None]):
        which = chosen[tile_c.begin]
        total = hl.zeros([tile_r], dtype=torch.float32)
        for tile_k in hl.tile(w.size(2)):
            total += (w[which, tile_r, tile_k] * x[tile_k][None, :]).sum(-1)
        out[tile_c.begin, tile_r] = total
    return out


def squeeze_excite(x: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """``x * sigmoid(relu(x @ a) @ b)``: two matmuls, the first whole in each program."""
    m, n = x.size()
    k = a.size(1)
    out = torch.empty_like(x)
    for tile_m, tile_n in hl.tile([m, n]):
        made = hl.zeros([tile_m, tile_n], dtype=torch.float32)
        for tile_k in hl.tile(k):
            inner = hl.zeros([tile_m, tile_k], dtype=torch.float32)
            for tile_c in hl.tile(n):
                inner = torch.addmm(inner, x[tile_m, tile_c], a[tile_c, tile_k])
            made = torch.addmm(made, torch.relu(inner).to(x.dtype), b[tile_k, tile_n])
        out[tile_m, tile_n] = x[tile_m, tile_n] * torch.sigmoid(made)
    return out
