"""lmdeploy: a serving engine's kernels; attention over pages of keys, quantized dots, experts, sampling."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
import torch.nn.functional as F

from integration.published.cases import Bench, Check, case
from integration.published.oracles import causal_attention, single_attention

_NAME = "lmdeploy"
_HOME = "lmdeploy.pytorch.kernels.cuda"


def _module(bench: Bench, name: str) -> Any:
    """A module of kernels; its launchers ask for a GPU's properties, here those of an H100."""
    utils = bench.load(_NAME, f"{_HOME}.utils")
    if bench.device == "cpu":
        utils.get_device_props = lambda device=None: {
            "multi_processor_count": 4,
            "compute_capability": (9, 0),
            "warps_per_sm": 64,
            "blocks_per_sm": 32,
        }
    return bench.load(_NAME, f"{_HOME}.{name}")


@case(_NAME, "rms_norm", "normalization")
def rms_norm(bench: Bench) -> Iterable[Check]:
    """Rows divided by their root mean square, with a residual and without."""
    function = _module(bench, "rms_norm").rms_norm
    x, residual = (bench.randn(3, 21, 200, dtype=torch.float16) for _ in range(2))
    weight = bench.randn(200, dtype=torch.float16)

    def want(rows: torch.Tensor) -> torch.Tensor:
        exact = rows.cpu().double()
        return exact * (exact.square().mean(-1, keepdim=True) + 1e-6).rsqrt() * weight.cpu().double()

    yield Check("plain", function(x, weight), want(x), 2e-3)
    out, total = function(x, weight, residual=residual)
    yield Check("sum", total, x.cpu().double() + residual.cpu().double(), 1e-3)
    yield Check("residual", out, want(total), 2e-3)


@case(_NAME, "silu_and_mul", "activation")
def silu_and_mul(bench: Bench) -> Iterable[Check]:
    """SwiGLU of rows that hold gate and value."""
    x = bench.randn(37, 2 * 96, dtype=torch.float16)
    gate, up = x.cpu().double().chunk(2, -1)
    yield Check("out", _module(bench, "activation").silu_and_mul(x), F.silu(gate) * up, 2e-3)


@case(_NAME, "apply_rotary_pos_emb", "rotary embedding")
def apply_rotary_pos_emb(bench: Bench) -> Iterable[Check]:
    """Halves of rows turned by an angle for each token; queries and keys in one launch."""
    q, k = bench.randn(33, 4, 64, dtype=torch.float16), bench.randn(33, 2, 64, dtype=torch.float16)
    angles = bench.randn(33, 32)
    cos, sin = (torch.cat([f(angles)] * 2, -1).to(torch.float16) for f in (torch.cos, torch.sin))

    def want(x: torch.Tensor) -> torch.Tensor:
        exact = x.cpu().double()
        turned = torch.cat([-exact[..., 32:], exact[..., :32]], -1)
        return exact * cos.cpu().double()[:, None] + turned * sin.cpu().double()[:, None]

    q_out, k_out = _module(bench, "apply_rotary_pos_emb").apply_rotary_pos_emb(q, k, cos, sin)
    yield Check("q", q_out, want(q), 2e-3)
    yield Check("k", k_out, want(k), 2e-3)


@case(_NAME, "bitonic_topk", "sort")
def bitonic_topk(bench: Bench) -> Iterable[Check]:
    """Indices of the largest scores, by a bitonic network over blocks, then over blocks' winners."""
    scores = bench.randn(5, 700)
    lengths = torch.tensor([700, 64, 333, 700, 257], device=bench.device)
    ones = torch.ones_like(lengths)
    got = _module(bench, "bitonic_topk").bitonic_topk(scores, ones, lengths, 64)
    for i, length in enumerate(lengths.tolist()):
        want = scores[i, :length].topk(64).values
        yield Check(f"row {i}", scores[i][got[i].long()].sort(descending=True).values, want, 0.0)


def _pages(bench: Bench, lengths: list[int], heads: int, size: int, block: int) -> tuple[torch.Tensor, ...]:
    """Keys and values in pages: (pages, block, heads, size) twice, the table, and both as rows of a batch."""
    count = [-(-n // block) for n in lengths]
    table = torch.zeros(len(lengths), max(count), dtype=torch.int64)
    order = torch.randperm(sum(count), generator=torch.Generator().manual_seed(3))
    at = 0
    for i, n in enumerate(count):
        table[i, :n] = order[at : at + n]
        at += n
    k, v = (bench.randn(sum(count), block, heads, size, dtype=torch.float16) for _ in range(2))
    return k, v, table.to(bench.device)


def _rows(cache: torch.Tensor, table: torch.Tensor, index: int, length: int) -> torch.Tensor:
    return cache.cpu()[table.cpu()[index]].flatten(0, 1)[:length].double()


@case(_NAME, "flash_attn_with_kvcache", "paged attention", "split-K")
def flash_attn_with_kvcache(bench: Bench) -> Iterable[Check]:
    """One query a sequence over pages of keys, parts of a sequence side by side, then combined."""
    lengths = [70, 5, 130]
    k, v, table = _pages(bench, lengths, 2, 64, 16)
    q = bench.randn(3, 8, 64, dtype=torch.float16)
    got = _module(bench, "pagedattention").flash_attn_with_kvcache(
        q, k, v, torch.tensor(lengths, device=bench.device), table, max_seqlen_q=1
    )
    for i, length in enumerate(lengths):
        keys, values = (_rows(c, table, i, length) for c in (k, v))
        yield Check(f"sequence {i}", got[i], single_attention(q[i], keys, values), 3e-3)


@case(_NAME, "fill_kv_cache")
def fill_kv_cache(bench: Bench) -> Iterable[Check]:
    """New keys and values written into their pages."""
    lengths, news = [70, 21, 40], [6, 21, 1]
    k, v, table = _pages(bench, lengths, 2, 64, 16)
    states = [bench.randn(sum(news), 2, 64, dtype=torch.float16) for _ in range(2)]
    starts = torch.tensor([0, 6, 27], device=bench.device)
    given = [torch.tensor(each, device=bench.device) for each in (news, lengths)]
    _module(bench, "fill_kv_cache").fill_kv_cache(*states, k, v, starts, *given, max(news), table)
    for name, cache, state in (("k", k, states[0]), ("v", v, states[1])):
        made = [_rows(cache, table, i, n)[-news[i] :] for i, n in enumerate(lengths)]
        yield Check(name, torch.cat(made), state, 0.0)


@case(_NAME, "flash_attn_varlen", "fused attention")
def flash_attn_varlen(bench: Bench) -> Iterable[Check]:
    """Causal attention of sequences of several lengths, queries fewer than keys."""
    lengths, queries = [70, 33], [70, 17]
    q = bench.randn(sum(queries), 4, 64, dtype=torch.float16)
    # keys as (heads, tokens, size)
    k, v = (bench.randn(2, sum(lengths), 64, dtype=torch.float16) for _ in range(2))
    ends = [
        torch.tensor([0, n[0], sum(n)], dtype=torch.int32, device=bench.device) for n in (queries, lengths)
    ]
    got = _module(bench, "flashattention").flash_attn_varlen_func(
        q, k, v, *ends, max_seqlen_q=70, max_seqlen_k=70, causal=True
    )
    q_at = k_at = 0
    for i, (m, n) in enumerate(zip(queries, lengths, strict=True)):
        keys, values = (x[:, k_at : k_at + n].transpose(0, 1) for x in (k, v))
        want = causal_attention(q[q_at : q_at + m], keys, values)
        yield Check(f"sequence {i}", got[q_at : q_at + m], want, 3e-3)
        q_at, k_at = q_at + m, k_at + n


@case(_NAME, "blocked_gemm_fp8", "quantized GEMM")
def blocked_gemm_fp8(bench: Bench) -> Iterable[Check]:
    """Rows quantized to 8-bit floats by groups of 128, then multiplied by blocks with scales."""
    module = _module(bench, "blocked_gemm_fp8")
    x = bench.randn(70, 256, dtype=torch.float16)
    quantized, scale = module.quant_fp8(x, 128)
    back = quantized.cpu().double().unflatten(-1, (2, 128)) * scale.cpu().double()[..., None]
    yield Check("quantized", back.flatten(-2), x.cpu().double(), 3e-2)
    weight = bench.randn(256, 192).to(torch.float8_e4m3fn)
    scales = bench.randn(2, 2).abs() + 0.5
    got = module.blocked_gemm_fp8(quantized, scale, weight, scales)
    spread = scales.cpu().double().repeat_interleave(128, 0).repeat_interleave(128, 1)[:, :192]
    yield Check("product", got, back.flatten(-2) @ (weight.cpu().double() * spread), 2e-3)


@case(_NAME, "w8a8", "quantized GEMM")
def w8a8(bench: Bench) -> Iterable[Check]:
    """Rows quantized to int8, alone and after a norm, and the product with a weight of int8."""
    module = _module(bench, "w8a8_triton_kernels")
    x, weight = bench.randn(40, 256, dtype=torch.float16), bench.randn(256, dtype=torch.float16)
    quantized, scale = module.per_token_quant_int8(x, 1e-7)
    exact = x.cpu().double()
    yield Check("quantized", quantized.cpu().double() * scale.cpu().double(), exact, 1e-2)
    w = bench.randint(255, 96, 256).sub(127).to(torch.int8)
    columns = bench.randn(96, 1).abs() + 0.1
    got = module.matmul_kernel_dynamic_quant(quantized, w, scale, columns)
    want = (quantized.cpu().double() @ w.cpu().double().T) * scale.cpu().double() * columns.cpu().double().T
    yield Check("product", got, want, 2e-3)
    normed, scale = module.rms_norm_dynamic_quant(x, weight, 1e-6)
    rows = exact * (exact.square().mean(-1, keepdim=True) + 1e-6).rsqrt() * weight.cpu().double()
    yield Check("normed", normed.cpu().double() * scale.cpu().double(), rows, 1e-2)


@case(_NAME, "sampling")
def sampling(bench: Bench) -> Iterable[Check]:
    """One draw by probabilities: with a probability of one it is known; accepted drafts."""
    scores = torch.zeros(6, 300, device=bench.device)
    chosen = bench.randint(300, 6)
    scores[torch.arange(6), chosen] = 1.0
    seeds, offsets = bench.randint(1000, 6), bench.randint(1000, 6)
    got = _module(bench, "multinomial_sampling").multinomial_sampling(scores, seeds, offsets)
    yield Check("certain", got, chosen, 0.0)


@case(_NAME, "fused_noaux_tc_routing", "mixture of experts")
def fused_noaux_tc_routing(bench: Bench) -> Iterable[Check]:
    """Experts by sigmoid scores and biases, of the best groups alone."""
    logits, bias = bench.randn(9, 64), bench.randn(64)
    weights, ids = _module(bench, "moe.route_noaux_tc").fused_noaux_tc_routing(
        logits, bias, num_experts=64, n_group=8, topk_group=4, top_k=6
    )
    scores = logits.cpu().double().sigmoid()
    biased = (scores + bias.cpu().double()).unflatten(-1, (8, 8))
    groups = biased.topk(2).values.sum(-1).topk(4).indices
    kept = torch.zeros(9, 8, dtype=torch.bool).scatter_(1, groups, True)
    best = biased.masked_fill(~kept[..., None], float("-inf")).flatten(-2).topk(6).indices
    yield Check("experts", ids.sort(-1).values, best.sort(-1).values, 0.0)
    taken = scores.gather(1, ids.cpu())
    yield Check("weights", weights, taken / taken.sum(-1, keepdim=True) * 2.5, 1e-5)


@case(_NAME, "fused_moe", "mixture of experts", "grouped GEMM")
def fused_moe(bench: Bench) -> Iterable[Check]:
    """Two products for each chosen expert, SwiGLU between, added up by weights."""
    tokens, experts, chosen, hidden, inner = 40, 4, 2, 64, 96
    x = bench.randn(tokens, hidden, dtype=torch.float16)
    up = bench.randn(experts, 2 * inner, hidden, dtype=torch.float16) / 8
    down = bench.randn(experts, hidden, inner, dtype=torch.float16) / 8
    weights, ids = bench.randn(tokens, experts).softmax(-1).topk(chosen)
    got = _module(bench, "moe.fused_moe").fused_moe(x, up, down, weights, ids, chosen, renormalize=True)
    share = (weights / weights.sum(-1, keepdim=True)).cpu().double()
    of = ids.cpu()
    gate, value = torch.einsum("th,tkih->tki", x.cpu().double(), up.cpu().double()[of]).chunk(2, -1)
    made = torch.einsum("tki,tkhi->tkh", F.silu(gate) * value, down.cpu().double()[of])
    yield Check("out", got, (made * share[..., None]).sum(1), 5e-3)
