"""Kernels over elements and rows, in Helion's language."""

from __future__ import annotations

import helion.language as hl
import torch
from torch import Tensor


def add(x: Tensor, y: Tensor) -> Tensor:
    """``x + y`` of tensors that broadcast."""
    x, y = torch.broadcast_tensors(x, y)
    out = torch.empty(x.shape, dtype=torch.promote_types(x.dtype, y.dtype), device=x.device)
    for tile in hl.tile(out.size()):
        out[tile] = x[tile] + y[tile]
    return out


def exp(x: Tensor) -> Tensor:
    """The exponential of each element."""
    out = torch.empty_like(x)
    for tile in hl.tile(x.size()):
        out[tile] = torch.exp(x[tile])
    return out


def geglu(a: Tensor, b: Tensor) -> Tensor:
    """``gelu(a) * b`` with GELU's tanh form."""
    out = torch.empty_like(a)
    for tile in hl.tile(a.size()):
        x = a[tile].to(torch.float32)
        inner = 0.7978845608028654 * (x + 0.044715 * x * x * x)
        out[tile] = (0.5 * x * (1 + torch.tanh(inner))).to(b.dtype) * b[tile]
    return out


def swiglu(a: Tensor, b: Tensor) -> Tensor:
    """``silu(a) * b``."""
    out = torch.empty_like(a)
    for tile in hl.tile(a.size()):
        x = a[tile].to(torch.float32)
        out[tile] = (x * torch.sigmoid(x)).to(b.dtype) * b[tile]
    return out


def concatenate(x: Tensor, y: Tensor) -> Tensor:
    """Two matrices side by side: masked loads of both."""
    rows, left = x.size()
    width = left + y.size(1)
    out = torch.empty([rows, width], dtype=x.dtype, device=x.device)
    for tile_m, tile_n in hl.tile([rows, width]):
        first = hl.load(x, [tile_m, tile_n.index], extra_mask=(tile_n.index < left)[None, :])
        second = hl.load(y, [tile_m, tile_n.index - left], extra_mask=(tile_n.index >= left)[None, :])
        out[tile_m, tile_n] = torch.where((tile_n.index < left)[None, :], first, second)
    return out


def embedding(indices: Tensor, weight: Tensor) -> Tensor:
    """Rows of ``weight`` by indices of any shape."""
    flat = indices.reshape(-1)
    _, width = weight.size()
    out = torch.empty([flat.size(0), width], dtype=weight.dtype, device=weight.device)
    for tile_b, tile_e in hl.tile([flat.size(0), width]):
        out[tile_b, tile_e] = weight[flat[tile_b], tile_e]
    return out.view(*indices.size(), width)


def softmax(x: Tensor) -> Tensor:
    """Softmax of rows, by PyTorch's own operation."""
    rows, _ = x.size()
    out = torch.empty_like(x)
    for tile in hl.tile(rows):
        out[tile, :] = torch.nn.functional.softmax(x[tile, :], dim=1)
    return out


def softmax_two_pass(x: Tensor) -> Tensor:
    """Softmax of rows: maximum and sum of a row in one loop, the quotients in a second."""
    m, n = x.size()
    out = torch.empty_like(x)
    block_m = hl.register_block_size(m)
    block_n = hl.register_block_size(n)
    for tile_m in hl.tile(m, block_size=block_m):
        top = hl.full([tile_m], float("-inf"), dtype=torch.float32)
        total = hl.zeros([tile_m], dtype=torch.float32)
        for tile_n in hl.tile(n, block_size=block_n):
            values = x[tile_m, tile_n]
            here = torch.amax(values, dim=1)
            new = torch.maximum(top, here)
            total = total * torch.exp(top - new) + torch.exp(values - new[:, None]).sum(dim=1)
            top = new
        for tile_n in hl.tile(n, block_size=block_n):
            values = x[tile_m, tile_n]
            out[tile_m, tile_n] = torch.exp(values - top[:, None]) / total[:, None]
    return out


def row_sum(x: Tensor) -> Tensor:
    """The sum of each row, the row read at once or by parts."""
    m, _ = x.shape
    out = torch.empty([m], dtype=x.dtype, device=x.device)
    for tile in hl.tile(m):
        out[tile] = x[tile, :].sum(-1)
    return out


def long_sum(x: Tensor) -> Tensor:
    """The sum of each row, by a loop over tiles."""
    m, n = x.size()
    out = torch.empty([m], dtype=x.dtype, device=x.device)
    block = hl.register_block_size(n)
    for tile_m in hl.tile(m):
        sums = hl.zeros([tile_m, block], dtype=x.dtype)
        for tile_n in hl.tile(n, block_size=block):
            sums += x[tile_m, tile_n]
        out[tile_m] = sums.sum(-1)
    return out


def rms_norm(x: Tensor, weight: Tensor, eps: float = 1e-5) -> tuple[Tensor, Tensor]:
    """Rows over their root mean square, and its reciprocal."""
    m, _ = x.size()
    out = torch.empty_like(x)
    scale = torch.empty([m, 1], dtype=torch.float32, device=x.device)
    for tile in hl.tile(m):
        values = x[tile, :].to(torch.float32)
        reciprocal = torch.rsqrt(torch.mean(values * values, dim=-1) + eps)
        out[tile, :] = (values * reciprocal[:, None] * weight[:].to(torch.float32)).to(out.dtype)
        scale[tile, :] = reciprocal.unsqueeze(-1)
    return out, scale


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    """Rows less their mean over their deviation."""
    m, n = x.size()
    out = torch.empty_like(x)
    for tile in hl.tile(m):
        values = x[tile, :].to(torch.float32)
        mean = torch.sum(values, dim=-1) / n
        centred = values - mean[:, None]
        variance = torch.sum(centred * centred, dim=-1) / n
        scaled = centred * torch.rsqrt(variance + eps)[:, None]
        out[tile, :] = (scaled * weight[:].to(torch.float32) + bias[:].to(torch.float32)).to(x.dtype)
    return out


def layer_norm_weights(dy: Tensor, x: Tensor, mean: Tensor, scale: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients of a layer norm's weight and bias: sums of rows by blocks, then over blocks."""
    m = hl.register_block_size(x.size(0))
    width = hl.specialize(x.size(1))
    blocks = (x.size(0) + m - 1) // m
    weight = x.new_empty([blocks, width], dtype=torch.float32)
    bias = x.new_empty([blocks, width], dtype=torch.float32)
    for outer in hl.tile(x.size(0), block_size=m):
        by_weight = x.new_zeros(width, dtype=torch.float32)
        by_bias = x.new_zeros(width, dtype=torch.float32)
        for tile in hl.tile(outer.begin, outer.end):
            values = x[tile, :].to(torch.float32)
            given = dy[tile, :].to(torch.float32)
            centred = (values - mean[tile][:, None]) * scale[tile][:, None]
            by_weight += torch.sum(given * centred, dim=0)
            by_bias += torch.sum(given, dim=0)
        weight[outer.id, :] = by_weight
        bias[outer.id, :] = by_bias
    return weight.sum(0), bias.sum(0)


def welford(x: Tensor, weight: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    """A layer norm whose moments are merged tile by tile."""
    m, n = x.size()
    out = torch.empty_like(x)
    for tile_m in hl.tile(m):
        count = torch.zeros_like(x[tile_m, 0], dtype=torch.float32)
        mean = torch.zeros_like(count)
        moment = torch.zeros_like(count)
        for tile_n in hl.tile(n):
            chunk = x[tile_m, tile_n]
            number = tile_n.end - tile_n.begin
            sum_x = torch.sum(chunk, dim=-1)
            sum_x2 = torch.sum(chunk * chunk, dim=-1)
            here = sum_x / number
            delta = here - mean
            total = count + number
            moment = moment + sum_x2 - number * here * here + delta * delta * count * number / total
            mean = mean + delta * (number / total)
            count = total
        scale = torch.rsqrt(moment / count + eps)
        for tile_n in hl.tile(n):
            values = x[tile_m, tile_n]
            scaled = (values - mean[:, None]) * scale[:, None]
            out[tile_m, tile_n] = scaled * weight[tile_n][None, :] + bias[tile_n][None, :]
    return out


def cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """The mean loss of rows of logits: a gather by label, a stable logarithm of sums."""
    n, _ = logits.shape
    losses = torch.zeros([n], dtype=logits.dtype, device=logits.device)
    flat = logits.view(-1)
    for tile in hl.tile(n):
        wanted = labels[tile]
        base = tile.index * logits.size(1)
        chosen = hl.load(flat, [base + wanted])
        rows = logits[tile, :]
        top = torch.amax(rows, dim=-1, keepdim=True)
        total = torch.sum(torch.exp(rows - top), dim=-1, keepdim=True)
        losses[tile] = (top + torch.log(total)).squeeze(-1) - chosen
    return losses.mean()


def kl_div(predicted: Tensor, wanted: Tensor) -> Tensor:
    """The Kullback-Leibler divergence of log-probabilities from probabilities, by rows."""
    m, n = predicted.shape
    loss = torch.zeros([m], dtype=torch.float32, device=predicted.device)
    block_n = hl.register_block_size(n)
    for tile_m in hl.tile(m):
        total = hl.zeros([tile_m, block_n], dtype=torch.float32)
        for tile_n in hl.tile(n, block_size=block_n):
            target = wanted[tile_m, tile_n]
            total += target * (torch.log(torch.clamp(target, min=1e-10)) - predicted[tile_m, tile_n])
        loss[tile_m] = total.sum(dim=-1)
    return loss.sum() / m


def dropout(p: float, x: Tensor, seed: int) -> Tensor:
    """Elements dropped by random numbers of a seed."""
    scale = 1.0 / (1.0 - p)
    size = x.numel()
    flat = x.view(-1)
    out = torch.empty_like(flat)
    for tile in hl.tile(size):
        kept = hl.rand([tile], seed=seed) > p
        out[tile] = torch.where(kept, flat[tile] * scale, 0.0)
    return out.view_as(x)


def cumulative(x: Tensor) -> Tensor:
    """Running sums of rows, by an associative scan."""
    m, _ = x.size()
    out = torch.empty_like(x)
    for tile in hl.tile(m):
        out[tile, :] = torch.cumsum(x[tile, :], dim=1)
    return out


def histogram(indices: Tensor, bins: int) -> Tensor:
    """Counts of each index, by atomic additions."""
    out = torch.zeros([bins], dtype=torch.int32, device=indices.device)
    for tile in hl.tile(indices.size(0)):
        hl.atomic_add(out, [indices[tile]], 1)
    return out


def argmax(x: Tensor) -> Tensor:
    """Index of each row's largest element."""
    m, _ = x.size()
    out = torch.empty([m], dtype=torch.int64, device=x.device)
    for tile in hl.tile(m):
        out[tile] = torch.argmax(x[tile, :], dim=1)
    return out
