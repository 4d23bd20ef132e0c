"""Sequence layers of fla-core, step by step in float64, where the package has no plain version that stays in float64.

States are (batch, heads, features of keys, features of values); q, k, v and gates are (batch, time, heads[, features]).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F

__all__ = [
    "REFERENCES",
    "cyfa",
    "lightning_attn",
    "momentum_delta_rule",
    "rwkv7",
    "wall_attn_decode",
    "wall_cache",
]


def _read(q: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
    return torch.einsum("bhk,bhkv->bhv", q, state)


def _outer(k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return k[..., :, None] * v[..., None, :]


def _empty(k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return k.new_zeros(k.shape[0], k.shape[2], k.shape[3], v.shape[3])


def lightning_attn(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, layer_idx: int, num_layers: int, scale: float
) -> torch.Tensor:
    """Lightning attention (Qin et al., arXiv:2405.17381): head ``h`` forgets by ``exp(-8 h / heads (1 - layer / layers))`` a step."""
    heads = q.shape[2]
    rate = 8 / heads * (1 - layer_idx / num_layers)
    decay = torch.exp(-rate * torch.arange(heads, dtype=q.dtype))[:, None, None]
    state, rows = _empty(k, v), []
    for t in range(q.shape[1]):
        state = decay * state + _outer(k[:, t], v[:, t])
        rows.append(_read(q[:, t] * scale, state))
    return torch.stack(rows, 1)


def rwkv7(
    r: torch.Tensor,
    w: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    a: torch.Tensor,
    b: torch.Tensor,
    scale: float,
) -> torch.Tensor:
    """RWKV-7 (Peng et al., arXiv:2503.14456): the state decays by exp(``w``), adds what ``a`` reads of it at ``b``, and the new pair."""
    state, rows = _empty(k, v), []
    for t in range(r.shape[1]):
        moved = _outer(b[:, t], _read(a[:, t], state))
        state = w[:, t].exp()[..., None] * state + moved + _outer(k[:, t], v[:, t])
        rows.append(_read(r[:, t] * scale, state))
    return torch.stack(rows, 1)


def momentum_delta_rule(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    log_alpha: torch.Tensor,
    log_mu: torch.Tensor,
    p: torch.Tensor,
    beta: torch.Tensor,
    eta: torch.Tensor,
    scale: float,
) -> torch.Tensor:
    """The delta rule with momentum: the error of what ``p`` reads gathers in a second state, which the first follows by ``beta``."""
    state, momentum, rows = _empty(k, v), _empty(k, v), []
    for t in range(q.shape[1]):
        error = _read(p[:, t], state) - v[:, t]
        momentum = log_mu[:, t].exp()[..., None, None] * momentum + _outer(
            eta[:, t][..., None] * k[:, t], error
        )
        state = log_alpha[:, t].exp()[..., None, None] * state - beta[:, t][..., None, None] * momentum
        rows.append(_read(q[:, t] * scale, state))
    return torch.stack(rows, 1)


def wall_cache(k: torch.Tensor, prefix: torch.Tensor, chunk: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Keys by the gates since the first row of their chunk, and the prefix of those rows: what decoding keeps in its cache."""
    anchors = prefix[:, ::chunk]
    own = anchors.repeat_interleave(chunk, 1)[:, : k.shape[1]]
    return k * torch.exp2(own - prefix), anchors.contiguous()


def wall_attn_decode(
    q: torch.Tensor,
    v: torch.Tensor,
    p_curr: torch.Tensor,
    k_tilde: torch.Tensor,
    r_cache: torch.Tensor,
    scale: float,
    cache_chunk_size: int,
) -> torch.Tensor:
    """Attention of the last rows, each pair by a gate for each feature: ``2 ** (prefix of the query's row - prefix of the key's)``."""
    rows, keys = q.shape[1], v.shape[1]
    anchors = r_cache.repeat_interleave(cache_chunk_size, 1)[:, :keys]
    gates = torch.exp2(p_curr[:, :, None] - anchors[:, None])
    scores = (q[:, :, None] * gates * k_tilde[:, None]).sum(-1) * scale
    allowed = torch.arange(keys)[None, :] <= torch.arange(keys - rows, keys)[:, None]
    weights = scores.masked_fill(~allowed[None, :, :, None], -torch.inf).softmax(2)
    return torch.einsum("bqkh,bkhv->bqhv", weights, v)


def _turned(readout: torch.Tensor, angle: torch.Tensor) -> torch.Tensor:
    """Weight of each frequency in each row of ``readout``: (heads, rows, frequencies), complex."""
    period = readout.shape[-1]
    waves = torch.exp(1j * torch.arange(period, dtype=angle.dtype)[:, None] * angle)
    return readout.to(waves.dtype) @ (waves * _lengths(period, angle))


def _lengths(period: int, angle: torch.Tensor) -> torch.Tensor:
    """Scales by which the waves of a period become vectors of length 1."""
    return torch.where(angle == 0, period**-0.5, (2 / period) ** 0.5).to(angle.dtype)


def cyfa(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    g: torch.Tensor,
    delta: torch.Tensor,
    beta: torch.Tensor,
    readout: torch.Tensor,
    q_norm_weight: torch.Tensor,
    k_norm_weight: torch.Tensor,
    q_norm_eps: float,
    k_norm_eps: float,
    scale: float,
) -> torch.Tensor:
    """Attention over slots on a circle (the package's ``ops/cyfa``), with a pair of slots, a cosine and a sine, as a complex number.

    A clock turns by ``delta`` a step; a pair is written at the clock's place, and read by ``readout`` about it.
    """
    q = F.rms_norm(q, q.shape[-1:], q_norm_weight, q_norm_eps)
    k = F.rms_norm(k, k.shape[-1:], k_norm_weight, k_norm_eps)
    period = readout.shape[-1]
    frequencies = (period + 1) // 2
    angle = 2 * torch.pi / period * torch.arange(frequencies, dtype=q.dtype)
    lengths = _lengths(period, angle)
    table = _turned(readout, angle)
    keys = values = torch.zeros(())
    rows, clock = [], delta.cumsum(1)
    for t in range(q.shape[1]):
        turn = torch.exp(1j * clock[:, t, :, None] * angle)
        written = beta[:, t, :, None] * lengths * turn.conj()
        decay = g[:, t, :, None, None].exp()
        keys = decay * keys + _outer(k[:, t].to(turn.dtype), written)
        values = decay * values + _outer(written, v[:, t].to(turn.dtype))
        found = turn * torch.einsum("bhk,bhkp->bhp", (q[:, t] * scale).to(turn.dtype), keys)
        weights = torch.einsum("hrp,bhp->bhr", table.conj(), found).real.softmax(-1)
        chosen = turn.conj() * torch.einsum("hrp,bhr->bhp", table, weights.to(turn.dtype))
        rows.append(torch.einsum("bhp,bhpv->bhv", chosen.conj(), values).real)
    return torch.stack(rows, 1)


#: by the family of operators that have it
REFERENCES: Mapping[str, Callable[..., Any]] = {
    "cyfa": cyfa,
    "lightning_attn": lightning_attn,
    "rwkv7": rwkv7,
    "momentum_delta_rule": momentum_delta_rule,
    "wall_attn_decode": wall_attn_decode,
}
