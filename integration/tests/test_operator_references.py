"""Plain PyTorch that published operators are judged by, against PyTorch's own operators and cases worked by hand."""

from __future__ import annotations

from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")
sequences: Any = pytest.importorskip("integration.published.operators.references.sequences")
quantized: Any = pytest.importorskip("integration.published.operators.references.quantized")
paged: Any = pytest.importorskip("integration.published.operators.references.paged")


def _normal(*shape: int, seed: int = 0) -> Any:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("causal", [False, True])
def test_attention_over_pages_is_attention_over_their_rows(causal: bool) -> None:
    length, heads, features = 12, 2, 8
    keys, values = _normal(4, 4, heads, features), _normal(4, 4, heads, features, seed=1)
    query, table = _normal(length, 2 * heads, features, seed=2), torch.tensor([2, 0, 3])
    got = paged.attended(query, keys, values, table, length, causal=causal)
    k, v = (c[table].flatten(0, 1).repeat_interleave(2, 1).transpose(0, 1) for c in (keys, values))
    want = torch.nn.functional.scaled_dot_product_attention(query.transpose(0, 1), k, v, is_causal=causal)
    assert torch.allclose(got, want.transpose(0, 1))


@pytest.mark.parametrize("kind", ["fp4", "nf4", "fp8"])
def test_levels_are_nearest_and_stand_for_numbers_of_their_block(kind: str) -> None:
    x = _normal(150)
    places, largest = quantized.nearest(x, kind)
    again = quantized.dequantized(places, largest, kind)
    own = largest.repeat_interleave(64)[: x.numel()]
    others = (x[:, None] - own[:, None] * quantized.LEVELS[kind]).abs()
    assert torch.allclose((again - x).abs(), others.amin(1))
    assert torch.equal(largest[:2], x[:128].reshape(2, 64).abs().amax(1))


def test_a_cache_of_wall_attention_decodes_to_what_gates_between_rows_give() -> None:
    rows, keys, chunk, features = 3, 10, 4, 8
    q, k, v = (_normal(1, keys, 2, features, seed=n) for n in range(3))
    prefix = -_normal(1, keys, 2, features, seed=4).abs().cumsum(1)
    tilde, anchors = sequences.wall_cache(k, prefix, chunk)
    got = sequences.wall_attn_decode(q[:, -rows:], v, prefix[:, -rows:], tilde, anchors, 0.5, chunk)
    for row in range(rows):
        last = keys - rows + row
        gates = torch.exp2(prefix[0, last] - prefix[0, : last + 1])
        weights = (0.5 * (q[0, last] * k[0, : last + 1] * gates).sum(-1)).softmax(0)
        assert torch.allclose(got[0, row], torch.einsum("kh,khv->hv", weights, v[0, : last + 1]))


def test_layers_without_gates_are_linear_attention() -> None:
    q, k, v = (_normal(1, 6, 2, 4, seed=n) for n in range(3))
    want = _linear(q, k, v)
    nothing = torch.zeros_like(q)
    none = torch.zeros(1, 6, 2, dtype=torch.float64)
    assert torch.allclose(sequences.rwkv7(q, nothing, k, v, nothing, nothing, 1.0), want)
    assert torch.allclose(sequences.lightning_attn(q, k, v, 4, 4, 1.0), want)
    without = sequences.momentum_delta_rule(q, k, v, none, none - torch.inf, nothing, none + 1, none + 1, 1.0)
    assert torch.allclose(without, want)


def _linear(q: Any, k: Any, v: Any) -> Any:
    scores = torch.einsum("bqhd,bkhd->bhqk", q, k).tril()
    return torch.einsum("bhqk,bkhv->bqhv", scores, v)


def test_slots_on_a_circle_give_back_a_single_value() -> None:
    q, k, v = (_normal(1, 1, 2, 4, seed=n) for n in range(3))
    one, weight = torch.ones(1, 1, 2, dtype=torch.float64), torch.ones(4, dtype=torch.float64)
    readout = torch.eye(5, dtype=torch.float64).repeat(2, 1, 1)
    # a value that is written at a row of the readout is read there alone, by the softmax of five scores, the first not zero
    got = sequences.cyfa(q, k, v, -one, 0 * one, one, readout, weight, weight, 0.0, 0.0, 1.0)
    scores = torch.zeros(2, 5, dtype=torch.float64)
    scores[:, 0] = torch.einsum(
        "hd,hd->h", *(4**0.5 * torch.nn.functional.normalize(t[0, 0], dim=-1) for t in (q, k))
    )
    assert torch.allclose(got[0, 0], scores.softmax(-1)[:, :1] * v[0, 0])
