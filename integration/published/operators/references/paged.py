"""Attention over a cache of keys and values in pages, and what moves rows into its pages (conch-triton-kernels)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from integration.published.cases import Check
from integration.published.operators import recipes
from integration.published.operators.operator import checks_of

__all__ = ["CASES", "attended"]

Case = Callable[[Callable[..., Any]], Iterator[Check]]
_PAGES, _PAGE, _KEY_HEADS, _GROUP, _FEATURES = 24, 16, 2, 4, 64
_TOLERANCE = 1e-4


def _caches() -> tuple[torch.Tensor, torch.Tensor]:
    shape = (_PAGES, _PAGE, _KEY_HEADS, _FEATURES)
    return recipes.normal(*shape), recipes.normal(*shape)


def _tables(sequences: int) -> torch.Tensor:
    """Pages of each sequence, none of them in two: (sequences, pages), int32."""
    return torch.arange(_PAGES, dtype=torch.int32).flip(0).reshape(sequences, _PAGES // sequences)


def attended(
    query: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    table: torch.Tensor,
    length: int,
    *,
    causal: bool,
    softcap: float = 0.0,
) -> torch.Tensor:
    """Attention of the last rows of a sequence of ``length``: (rows, heads, features), from caches (pages, page, key heads, features)."""
    own = [c.double()[table.long()].flatten(0, 1)[:length] for c in (keys, values)]
    k, v = (t.repeat_interleave(query.shape[1] // t.shape[1], dim=1) for t in own)
    scores = torch.einsum("qhd,khd->hqk", query.double(), k) * query.shape[-1] ** -0.5
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    if causal:
        row = torch.arange(length - query.shape[0], length)[:, None]
        scores = scores.masked_fill(torch.arange(length)[None, :] > row, -torch.inf)
    return torch.einsum("hqk,khd->qhd", scores.softmax(-1), v)


def _paged_attention(function: Callable[..., Any]) -> Iterator[Check]:
    lengths = [1, 37, 96]
    keys, values = _caches()
    query = recipes.normal(len(lengths), _KEY_HEADS * _GROUP, _FEATURES)
    tables = _tables(len(lengths))
    for softcap in (0.0, 3.0):
        got = function(query, keys, values, tables, torch.tensor(lengths, dtype=torch.int32), softcap=softcap)
        want = [
            attended(query[i : i + 1], keys, values, tables[i], n, causal=False, softcap=softcap)
            for i, n in enumerate(lengths)
        ]
        yield from checks_of("out", got, torch.cat(want), _TOLERANCE)


def _varlen_attention(function: Callable[..., Any]) -> Iterator[Check]:
    rows = [5, 1, 20]
    ends = torch.tensor([0, *torch.tensor(rows).cumsum(0).tolist()], dtype=torch.int32)
    keys, values = _caches()
    query = recipes.normal(sum(rows), _KEY_HEADS * _GROUP, _FEATURES)
    tables = _tables(len(rows))
    # causal: whole sequences and single last rows, as the package counts a row from the start of the sequence
    for causal, lengths in ((False, [33, 96, 20]), (True, [5, 96, 20])):
        got = function(
            query,
            keys,
            values,
            ends,
            max(rows),
            torch.tensor(lengths, dtype=torch.int32),
            max(lengths),
            tables,
            causal=causal,
            strict=True,
        )
        want = [
            attended(query[ends[i] : ends[i + 1]], keys, values, tables[i], n, causal=causal)
            for i, n in enumerate(lengths)
        ]
        yield from checks_of("out", got, torch.cat(want), _TOLERANCE)


def _copy_blocks(function: Callable[..., Any]) -> Iterator[Check]:
    caches = [recipes.normal(8, 96) for _ in range(4)]
    pairs = torch.tensor([[0, 3], [5, 7], [1, 2]])
    want = [c.clone() for c in caches]
    for cache in want:
        cache[pairs[:, 1]] = cache[pairs[:, 0]]
    function(caches[:2], caches[2:], pairs)
    yield from checks_of("cache", caches, want, 0.0)


def _reshape_and_cache(function: Callable[..., Any]) -> Iterator[Check]:
    slots = torch.tensor([3, 17, 40, 0, 100])
    rows = [recipes.normal(len(slots), _KEY_HEADS, _FEATURES) for _ in range(2)]
    caches = list(_caches())
    want = [c.clone() for c in caches]
    for cache, new in zip(want, rows, strict=True):
        cache[slots // _PAGE, slots % _PAGE] = new
    function(*rows, *caches, slots, strict=True)
    yield from checks_of("cache", caches, want, 0.0)


CASES: Mapping[str, Case] = {
    "attention.paged_attention.paged_attention": _paged_attention,
    "attention.varlen_attention.varlen_attention": _varlen_attention,
    "vllm.copy_blocks.copy_blocks": _copy_blocks,
    "vllm.reshape_and_cache.reshape_and_cache": _reshape_and_cache,
}
