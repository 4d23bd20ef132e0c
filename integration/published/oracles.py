"""Results in float64 that cases of several packages are held against."""

from __future__ import annotations

import torch

__all__ = ["causal_attention", "four_bits", "single_attention"]

#: where the eight numbers of a word of AWQ's are, by their column
_AWQ = (0, 4, 1, 5, 2, 6, 3, 7)


def causal_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Attention of queries (tokens, heads, size) that are the last of keys' tokens (tokens, fewer heads, size), scaled by size**-0.5."""
    queries, keys, values = (x.cpu().double() for x in (q, k, v))
    groups = queries.shape[1] // keys.shape[1]
    keys, values = (x.repeat_interleave(groups, 1) for x in (keys, values))
    scores = torch.einsum("qhd,khd->hqk", queries, keys) * queries.shape[-1] ** -0.5
    m, n = scores.shape[1:]
    hidden = torch.arange(n)[None, :] > torch.arange(m)[:, None] + n - m
    weights = scores.masked_fill(hidden, float("-inf")).softmax(-1)
    return torch.einsum("hqk,khd->qhd", weights, values)


def single_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Attention of one query (heads, size) over keys of a sequence (tokens, fewer heads, size)."""
    return causal_attention(q[None], k, v)[0]


def four_bits(words: torch.Tensor) -> torch.Tensor:
    """The numbers of 4 bits in ``words`` of i32, in AWQ's order, as float64: (rows, 8 * columns)."""
    return (words.cpu()[..., None] >> torch.tensor(_AWQ) * 4 & 15).flatten(-2).double()
