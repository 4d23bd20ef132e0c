"""vLLM: a serving engine's kernels for pages of keys, experts and quantized weights, without its server."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from typing import Any

import torch

from integration.published.cases import Bench, Check, case
from integration.published.oracles import causal_attention, four_bits
from integration.published.vllm_package import LAYERS, OPS, opened

_NAME = "vllm"


def _module(bench: Bench, home: str, name: str) -> Any:
    if "vllm" not in sys.modules:
        opened(bench.folder, torch.float8_e4m3fn, rocm=False)
    return importlib.import_module(f"{home}.{name}")


@case(_NAME, "prefill_attention", "fused attention")
def prefill_attention(bench: Bench) -> Iterable[Check]:
    """Causal attention of sequences of several lengths."""
    lengths = [70, 33]
    q = bench.randn(103, 8, 64, dtype=torch.float16)
    k, v = (bench.randn(103, 2, 64, dtype=torch.float16) for _ in range(2))
    out = torch.empty_like(q)
    starts, sizes = (torch.tensor(x, dtype=torch.int32, device=bench.device) for x in ([0, 70], lengths))
    _module(bench, OPS, "triton_prefill_attention").context_attention_fwd(q, k, v, out, starts, sizes, 70)
    for i, (at, n) in enumerate(zip((0, 70), lengths, strict=True)):
        want = causal_attention(*(x[at : at + n] for x in (q, k, v)))
        yield Check(f"sequence {i}", out[at : at + n], want, 3e-3)


@case(_NAME, "unified_attention", "paged attention", "split-K")
def unified_attention(bench: Bench) -> Iterable[Check]:
    """Queries over pages of keys, causal; one query a sequence in parts, too."""
    lengths, heads = [90, 40, 150], 2
    table = torch.randperm(32, generator=torch.Generator().manual_seed(7))[:30].reshape(3, 10)
    k, v = (bench.randn(32, 16, heads, 64, dtype=torch.float16) for _ in range(2))
    for queries in ([33, 1, 50], [1, 1, 1]):
        q = bench.randn(sum(queries), 8, 64, dtype=torch.float16)
        out = torch.empty_like(q)
        ends = torch.tensor([0, *queries]).cumsum(0).to(torch.int32).to(bench.device)
        given = torch.tensor(lengths, dtype=torch.int32, device=bench.device)
        parts = [torch.empty(3, 8, 16, *tail, device=bench.device) for tail in ((64,), (), ())]
        _module(bench, OPS, "triton_unified_attention").unified_attention(
            q, k, v, out, ends, max(queries), given, max(lengths), 64**-0.5, True, (-1, -1),
            table.to(torch.int32).to(bench.device), 0, None, None, None, seq_threshold_3D=8,
            num_par_softmax_segments=16, softmax_segm_output=parts[0], softmax_segm_max=parts[1],
            softmax_segm_expsum=parts[2], kv_quant_mode=0,
        )  # fmt: skip
        for i, n in enumerate(lengths):
            keys, values = (x.cpu()[table[i]].flatten(0, 1)[:n] for x in (k, v))
            want = causal_attention(q[int(ends[i]) : int(ends[i + 1])], keys, values)
            yield Check(f"{max(queries)} queries, {i}", out[int(ends[i]) : int(ends[i + 1])], want, 3e-3)


@case(_NAME, "merge_attn_states", "split-K")
def merge_attn_states(bench: Bench) -> Iterable[Check]:
    """Two parts of an attention joined by their logarithms of sums."""
    a, b = (bench.randn(17, 4, 64, dtype=torch.float16) for _ in range(2))
    first, second = (bench.randn(4, 17) for _ in range(2))
    out, lse = torch.empty_like(a), torch.empty_like(first)
    _module(bench, OPS, "triton_merge_attn_states").merge_attn_states(out, a, first, b, second, lse)
    both = torch.stack([first, second]).cpu().double()
    share = both.softmax(0).transpose(1, 2)[..., None]
    yield Check("out", out, share[0] * a.cpu().double() + share[1] * b.cpu().double(), 2e-3)
    yield Check("lse", lse, both.logsumexp(0), 1e-6)


@case(_NAME, "awq", "quantized GEMM", "split-K")
def awq(bench: Bench) -> Iterable[Check]:
    """Weights of 4 bits back to floats, and multiplied as they are, parts of k side by side."""
    module = _module(bench, LAYERS, "quantization.awq_triton")
    packed, zeros = (
        bench.randint(2**31, 256, 16, dtype=torch.int32),
        bench.randint(2**31, 2, 16, dtype=torch.int32),
    )
    scales, x = bench.randn(2, 128, dtype=torch.float16) / 16, bench.randn(21, 256, dtype=torch.float16)
    wide = [t.repeat_interleave(128, 0) for t in (four_bits(zeros), scales.cpu().double())]
    want = (four_bits(packed) - wide[0]) * wide[1]
    yield Check("weights", module.awq_dequantize_triton(packed, scales, zeros), want, 1e-3)
    got = module.awq_gemm_triton(x, packed, scales, zeros, 8)
    yield Check("product", got, x.cpu().double() @ want, 5e-3)


@case(_NAME, "scaled_mm", "quantized GEMM")
def scaled_mm(bench: Bench) -> Iterable[Check]:
    """Products of int8 with scales for rows and columns."""
    module = _module(bench, LAYERS, "quantization.compressed_tensors.triton_scaled_mm")
    a, b = (bench.randint(255, n, 256).sub(127).to(torch.int8) for n in (40, 96))
    rows, columns = bench.randn(40, 1).abs(), bench.randn(96, 1).abs()
    got = module.triton_scaled_mm(a, b.t(), rows, columns, torch.bfloat16)
    exact = (a.cpu().double() @ b.cpu().double().T) * rows.cpu().double() * columns.cpu().double().T
    yield Check("product", got, exact, 1e-2)
