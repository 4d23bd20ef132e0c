"""Kernels of ragged rows and of states, in Helion's language."""

from __future__ import annotations

import helion.language as hl
import torch
from torch import Tensor


def jagged_dense_add(values: Tensor, offsets: Tensor, dense: Tensor) -> Tensor:
    """Ragged rows added to a dense matrix."""
    out = torch.zeros_like(dense)
    for tile_r in hl.tile(dense.size(0)):
        starts = offsets[tile_r]
        lengths = offsets[tile_r.index + 1] - starts
        longest = lengths.amax()
        for tile_c in hl.tile(0, longest):
            row = hl.load(
                values,
                [starts[:, None] + tile_c.index[None, :]],
                extra_mask=tile_c.index[None, :] < lengths[:, None],
            )
            out[tile_r, tile_c] = row + dense[tile_r, tile_c]
        for tile_c in hl.tile(longest, out.size(1)):
            out[tile_r, tile_c] = dense[tile_r, tile_c]
    return out


def jagged_mean(values: Tensor, offsets: Tensor) -> Tensor:
    """The mean over each ragged row of vectors."""
    rows = offsets.size(0) - 1
    width = values.shape[1]
    out = torch.zeros([rows, width], dtype=values.dtype, device=values.device)
    flat = values.view(-1)
    for tile_b in hl.tile(rows):
        starts = offsets[tile_b]
        lengths = offsets[tile_b.index + 1] - starts
        longest = lengths.amax()
        for tile_f in hl.tile(width):
            sums = hl.zeros([tile_b, tile_f], dtype=values.dtype)
            for tile_k in hl.tile(0, longest):
                base = starts[:, None] + tile_k.index[None, :]
                places = base[:, :, None] * width + tile_f.index[None, None, :]
                inside = tile_k.index[None, :] < lengths[:, None]
                chunk = hl.load(flat, [places], extra_mask=inside[:, :, None])
                sums = sums + chunk.sum(dim=1)
            count = lengths.to(values.dtype)[:, None]
            out[tile_b, tile_f] = torch.where(count > 0, sums / torch.clamp(count, min=1), 0.0)
    return out


def jagged_softmax(values: Tensor, offsets: Tensor) -> Tensor:
    """The softmax over each ragged row of vectors, for each column."""
    rows, width = offsets.size(0) - 1, values.size(1)
    flat = values.view(-1)
    out = torch.zeros_like(flat)
    for tile_b in hl.tile(rows):
        starts = offsets[tile_b]
        lengths = offsets[tile_b.index + 1] - starts
        longest = lengths.amax()
        for tile_m in hl.tile(width):
            top = hl.full([tile_b, tile_m], float("-inf"), dtype=torch.float32)
            total = hl.zeros([tile_b, tile_m], dtype=torch.float32)
            for tile_k in hl.tile(longest):
                base = starts[:, None] + tile_k.index[None, :]
                places = base[:, :, None] * width + tile_m.index[None, None, :]
                inside = (tile_k.index[None, :] < lengths[:, None])[:, :, None]
                chunk = torch.where(inside, hl.load(flat, [places], extra_mask=inside), float("-inf"))
                new = torch.maximum(top, chunk.amax(dim=1))
                old = torch.where(top == float("-inf"), 0.0, torch.exp(top - new))
                parts = torch.where(inside, torch.exp(chunk - new[:, None, :]), 0.0)
                total = total * old + parts.sum(dim=1)
                top = new
            for tile_k in hl.tile(longest):
                base = starts[:, None] + tile_k.index[None, :]
                places = base[:, :, None] * width + tile_m.index[None, None, :]
                inside = (tile_k.index[None, :] < lengths[:, None])[:, :, None]
                chunk = hl.load(flat, [places], extra_mask=inside)
                made = torch.exp(chunk - top[:, None, :]) / total[:, None, :]
                hl.store(out, [places], made, extra_mask=inside)
    return out.view(values.size())


def _add(left_value: Tensor, left_key: Tensor, value: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
    """Sums of neighbours of one segment."""
    return torch.where(left_key == key, left_value + value, value), key


def segment_sum(indices: Tensor, values: Tensor, segments: int) -> Tensor:
    """Sums of rows of one segment: a scan over tuples, then atomic additions at the ends."""
    number, width = values.shape
    out = torch.zeros([segments, width], dtype=values.dtype, device=values.device)
    for tile_e, tile_f in hl.tile([number, width]):
        chunk = values[tile_e, tile_f]
        keys = indices[tile_e]
        following = hl.load(indices, [tile_e.index + 1], extra_mask=tile_e.index < number - 1)
        repeated = keys.float().unsqueeze(1).expand_as(chunk)
        sums, _ = hl.associative_scan(_add, (chunk, repeated), dim=0)
        last = (keys != following) | (tile_e.index % tile_e.block_size == tile_e.block_size - 1)
        last = last | (tile_e.index == number - 1)
        hl.atomic_add(out, [keys, tile_f], torch.where(last[:, None], sums, 0.0))
    return out


def delta_states(k: Tensor, v: Tensor, gate: Tensor, chunk: int) -> Tensor:
    """States of a gated linear recurrence at the begin of each chunk, ``[batch, chunks, width, values]``."""
    batch, length, width = k.shape
    width = hl.specialize(width)
    chunk = hl.specialize(chunk)
    values = v.shape[-1]
    number = (length + chunk - 1) // chunk
    out = torch.empty([batch, number, width, values], dtype=torch.float32, device=k.device)
    block_v = hl.register_block_size(values)
    for tile_b, tile_v in hl.tile([batch, values], block_size=[1, block_v]):
        state = hl.zeros([width, tile_v], dtype=torch.float32)
        for tile_t in hl.tile(length, block_size=chunk):
            out[tile_b.begin, tile_t.id, :, tile_v] = state
            keys = k[tile_b.begin, tile_t, :]
            here = v[tile_b.begin, tile_t, tile_v]
            end = min(tile_t.begin + chunk, length) - 1
            last = gate[tile_b.begin, end].to(torch.float32)
            decay = torch.exp(last - gate[tile_b.begin, tile_t].to(torch.float32))
            state = state * torch.exp(last)
            state = hl.dot(keys.T, (here * decay[:, None]).to(keys.dtype), acc=state)
    return out
