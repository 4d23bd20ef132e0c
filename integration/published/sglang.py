"""sglang: a serving engine's kernels; attention over a pool of keys, state-space models, quantization, routing, sampling."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from typing import Any
from unittest import mock

import torch
import torch.nn.functional as F

from integration.published.cases import Bench, Check, case
from integration.published.oracles import causal_attention, four_bits, single_attention

_NAME = "sglang"


def _module(bench: Bench, name: str) -> Any:
    return bench.load(_NAME, f"sglang.kernels.ops.{name}")


def _pool(bench: Bench, lengths: list[int], heads: int, size: int) -> tuple[torch.Tensor, ...]:
    """Keys and values of a pool of tokens, where each sequence's tokens begin, and which they are."""
    k, v = (bench.randn(300, heads, size, dtype=torch.float16) for _ in range(2))
    indices = torch.randperm(300, generator=torch.Generator().manual_seed(5))[: sum(lengths)]
    ends = torch.tensor([0, *lengths]).cumsum(0).to(torch.int32)
    return k, v, ends.to(bench.device), indices.to(bench.device)


@case(_NAME, "decode_attention", "paged attention", "split-K")
def decode_attention(bench: Bench) -> Iterable[Check]:
    """One query a sequence, keys anywhere in a pool, parts combined; groups of heads and one head each."""
    lengths = [90, 7, 130]
    for heads in (2, 8):
        k, v, ends, indices = _pool(bench, lengths, heads, 64)
        q = bench.randn(3, 8, 64, dtype=torch.float16)
        out = torch.empty_like(q)
        parts = torch.full((3,), 4, dtype=torch.int32, device=bench.device)
        logits, lse = torch.empty(3, 8, 4, 64, device=bench.device), torch.empty(3, 8, 4, device=bench.device)
        _module(bench, "attention.decode_attention").decode_attention_fwd(
            q, k, v, out, ends, indices, logits, lse, parts, 4, 64**-0.5, 1.0, 1.0
        )
        for i in range(3):
            chosen = indices[ends[i] : ends[i + 1]].cpu()
            want = single_attention(q[i], k.cpu()[chosen], v.cpu()[chosen])
            yield Check(f"{heads} heads, {i}", out[i], want, 3e-3)


@case(_NAME, "extend_attention", "fused attention", "paged attention")
def extend_attention(bench: Bench) -> Iterable[Check]:
    """New tokens attend to a prefix in the pool, and causally to each other."""
    prefixes, news = [40, 0, 75], [33, 70, 1]
    k, v, ends, indices = _pool(bench, prefixes, 2, 64)
    q = bench.randn(sum(news), 8, 64, dtype=torch.float16)
    own = [bench.randn(sum(news), 2, 64, dtype=torch.float16) for _ in range(2)]
    starts = torch.tensor([0, *news]).cumsum(0).to(torch.int32).to(bench.device)
    out = torch.empty_like(q)
    _module(bench, "attention.extend_attention").extend_attention_fwd(
        q, *own, out, k, v, starts, ends, indices, None, True, None, max(news), 1.0, 1.0
    )
    for i in range(3):
        at = slice(int(starts[i]), int(starts[i + 1]))
        chosen = indices[ends[i] : ends[i + 1]].cpu()
        keys, values = (
            torch.cat([pool.cpu()[chosen], new[at].cpu()]) for pool, new in ((k, own[0]), (v, own[1]))
        )
        yield Check(f"sequence {i}", out[at], causal_attention(q[at], keys, values), 3e-3)


@case(_NAME, "merge_state", "split-K")
def merge_state(bench: Bench) -> Iterable[Check]:
    """Two parts of an attention joined by their logarithms of sums; one of them may be empty."""
    a, b = (bench.randn(17, 4, 80, dtype=torch.float16) for _ in range(2))
    first, second = (bench.randn(17, 4) for _ in range(2))
    first[3] = float("-inf")
    out, lse = _module(bench, "attention.merge_state").merge_state_triton(a, first, b, second)
    both = torch.stack([first, second]).cpu().double()
    share = both.softmax(0)[..., None]
    yield Check("out", out, share[0] * a.cpu().double() + share[1] * b.cpu().double(), 2e-3)
    yield Check("lse", lse, both.logsumexp(0), 1e-6)


@case(_NAME, "selective_state_update", "recurrence")
def selective_state_update(bench: Bench) -> Iterable[Check]:
    """A step of a state-space model: decay by softplus, outer product, gate."""
    state, heads, dim, n = bench.randn(3, 4, 48, 32), 4, 48, 32
    before = state.cpu().double()
    x, dt, z = (bench.randn(3, heads, dim) for _ in range(3))
    a, bias = -bench.randn(heads, dim, n).abs(), bench.randn(heads, dim)
    b, c = bench.randn(3, 2, n), bench.randn(3, 2, n)
    d = bench.randn(heads, dim)
    out = torch.empty_like(x)
    function = _module(bench, "mamba.triton_ops.mamba_ssm").selective_state_update
    # torch.cpu has no ``device``, which launchers make current
    with mock.patch.object(torch.cpu, "device", create=True, return_value=nullcontext()):
        function(state, x, dt, a, b, c, d, z, bias, dt_softplus=True, out=out)
    step = F.softplus(dt.cpu().double() + bias.cpu().double())[..., None]
    wide = [t.cpu().double().repeat_interleave(2, 1)[:, :, None, :] for t in (b, c)]
    after = before * (a.cpu().double() * step).exp() + step * wide[0] * x.cpu().double()[..., None]
    want = (after * wide[1]).sum(-1) + d.cpu().double() * x.cpu().double()
    yield Check("state", state, after, 1e-5)
    yield Check("out", out, want * F.silu(z.cpu().double()), 1e-5)


@case(_NAME, "causal_conv1d", "convolution")
def causal_conv1d(bench: Bench) -> Iterable[Check]:
    """Convolutions along sequences of several lengths, with states; then a step."""
    module = _module(bench, "mamba.causal_conv1d_triton")
    lengths = [5, 70, 33]
    x, weight, bias = bench.randn(sum(lengths), 64).T, bench.randn(64, 4), bench.randn(64)
    states = bench.randn(3, 3, 64).transpose(1, 2)
    held = states.cpu().double().clone()
    starts = torch.tensor([0, *lengths]).cumsum(0).to(torch.int32).to(bench.device)
    given = torch.tensor([True, False, True], device=bench.device)
    slots = torch.arange(3, dtype=torch.int32, device=bench.device)
    out = module.causal_conv1d_fn(x, weight, bias, states, starts, lengths, slots, given, "silu")
    exact, w = x.cpu().double(), weight.cpu().double()[:, None, :]
    for i in range(3):
        part = exact[:, int(starts[i]) : int(starts[i + 1])]
        before = held[i] if bool(given[i]) else torch.zeros(64, 3, dtype=torch.float64)
        line = torch.cat([before, part], -1)
        want = F.silu(F.conv1d(line[None], w, bias.cpu().double(), groups=64)[0])
        yield Check(f"sequence {i}", out[:, int(starts[i]) : int(starts[i + 1])], want, 1e-5)
        yield Check(f"state {i}", states[i], line[:, -3:], 0.0)


@case(_NAME, "quantization", "quantization")
def quantization(bench: Bench) -> Iterable[Check]:
    """Rows to int8 and 8-bit floats by groups; weights of 4 bits back to floats."""
    x = bench.randn(37, 512, dtype=torch.bfloat16)
    exact = x.cpu().double()
    q, scale = _module(bench, "quantization.int8_kernel").per_token_quant_int8(x)
    yield Check("row", q.cpu().double() * scale.cpu().double(), exact, 1e-2)
    q, scale = _module(bench, "quantization.int8_kernel").per_token_group_quant_int8(x, 128)
    yield Check("group", q.cpu().double() * scale.cpu().double().repeat_interleave(128, 1), exact, 1e-2)
    for form in (None, "ue8m0"):
        q, scale = _module(bench, "quantization.act_quant_triton").act_quant(x, 128, form)
        back = q.cpu().double() * scale.cpu().double().repeat_interleave(128, 1)
        yield Check(f"floats {form}", back, exact, 5e-2)
    packed = bench.randint(2**31, 128, 16, dtype=torch.int32)
    zeros, scales = bench.randint(2**31, 2, 16, dtype=torch.int32), bench.randn(2, 128, dtype=torch.float16)
    got = _module(bench, "quantization.awq_triton").awq_dequantize_triton(packed, scales, zeros)
    spread = [t.repeat_interleave(64, 0) for t in (four_bits(zeros), scales.cpu().double())]
    yield Check("4 bits", got, (four_bits(packed) - spread[0]) * spread[1], 1e-3)


@case(_NAME, "moe_fused_gate", "mixture of experts")
def moe_fused_gate(bench: Bench) -> Iterable[Check]:
    """Experts by sigmoid scores and biases, weights made to add up to one."""
    scores, bias = bench.randn(19, 64), bench.randn(64)
    weights, ids = _module(bench, "moe.moe_fused_gate").moe_fused_gate(scores, bias, 6)
    exact = scores.cpu().double().sigmoid()
    best = (exact + bias.cpu().double()).topk(6).indices
    yield Check("experts", ids.long().sort(-1).values, best.sort(-1).values, 0.0)
    taken = exact.gather(1, ids.cpu().long())
    yield Check("weights", weights, taken / taken.sum(-1, keepdim=True), 1e-5)


@case(_NAME, "renorm", "sampling")
def renorm(bench: Bench) -> Iterable[Check]:
    """Probabilities beyond the largest k, or below the mass p, become zero; the others add up to one."""
    module = _module(bench, "sampling.renorm_triton")
    if bench.device == "cpu":  # which it refuses
        module._prepare_probs = lambda probs: probs.float().contiguous()
    probabilities = bench.randn(7, 3000).softmax(-1)
    exact = probabilities.cpu().double()
    kept = exact * (exact >= exact.topk(50).values[:, -1:])
    yield Check(
        "k", module.top_k_renorm_probs_triton(probabilities, 50), kept / kept.sum(-1, keepdim=True), 1e-5
    )
    ordered = exact.sort(-1).values
    pivot = ordered.gather(1, (ordered.cumsum(-1) < 0.4).sum(-1, keepdim=True))
    kept = exact * (exact >= pivot)
    yield Check(
        "p", module.top_p_renorm_probs_triton(probabilities, 0.6), kept / kept.sum(-1, keepdim=True), 1e-5
    )


@case(_NAME, "norms", "normalization")
def norms(bench: Bench) -> Iterable[Check]:
    """Norms of rows, with a weight and with one plus a weight."""
    x, weight = bench.randn(21, 200, dtype=torch.bfloat16), bench.randn(200, dtype=torch.bfloat16)
    exact = x.cpu().double()
    want = exact * (exact.square().mean(-1, keepdim=True) + 1e-6).rsqrt()
    made = _module(bench, "layernorm.fused_rmsnorm").fused_rmsnorm(x, weight, 1e-6)
    yield Check("rms", made, want * weight.cpu().double(), 1e-2)
    made = _module(bench, "layernorm.minimax_m3_rmsnorm").gemma_rmsnorm(x, weight, 1e-6)
    yield Check("gemma", made, want * (1 + weight.cpu().double()), 1e-2)
