"""Calls of aiter's launchers, by the names of their files: shapes and types alone."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

import tri.language as tl
from integration.published.bare import without_init
from integration.strangers.amd.shapes import (
    BATCH,
    FEATURES,
    HALF,
    HEADS,
    TIME,
    Call,
    K,
    M,
    N,
    ends,
    ones,
    random,
    repeated,
    zeros,
)

__all__ = ["NAME", "calls"]

NAME = "amd-aiter"
_EXPERTS, _TOP = 8, 2
#: tokens of a page, pages, and heads of queries for one of keys
_PAGE, _PAGES, _GROUPS = 16, 64, 8


def _u8(*shape: int) -> torch.Tensor:
    return torch.full(shape, 127, dtype=torch.uint8)


def calls(folder: Path) -> Iterator[Call]:
    """Launches by label, of the package in ``folder``."""
    package: Any = without_init("aiter", folder, nothing=("cpp_extension",))
    # its compiler of C++, which is left out, would make these importable
    sys.path.append(str(folder / "aiter" / "jit" / "utils"))
    package.dtypes = importlib.import_module("aiter.utility.dtypes")
    float8 = package.dtypes.fp8
    for part in (_gemms, _attention, _decoding, _experts, _rows, _rotated):
        yield from part(float8)


def _of(name: str) -> Any:
    return importlib.import_module(f"aiter.ops.triton.{name}")


def _call(name: str, function: str, *arguments: Any, **options: Any) -> Call:
    return f"{name}.{function}", lambda: getattr(_of(name), function)(*arguments, **options)


def _gemms(float8: Any) -> Iterator[Call]:
    x, w = random(M, K), random(N, K)
    x8, w8 = x.to(float8), w.to(float8)
    by_blocks = ones(M, K // 128), ones(N // 128, K // 128)
    yield _call("gemm_a16w16", "gemm_a16w16", x, w)
    yield _call("gemm_a16w16", "gemm_a16w16", random(16, K), w)
    yield _call("gemm_a16w16_atomic", "gemm_a16w16_atomic", x, w)
    yield _call("gemm_a16w16_gated", "gemm_a16w16_gated", x, w, activation="silu")
    yield _call("gemm_a8w8", "gemm_a8w8", x8, w8, ones(M, 1), ones(1, N))
    yield _call("gemm_a8w8_blockscale", "gemm_a8w8_blockscale", x8, w8, *by_blocks)
    yield _call("gemm_a8w8_per_token_scale", "gemm_a8w8_per_token_scale", x8, w8, ones(M, 1), ones(N, 1))
    yield _call("gemm_a16w8_blockscale", "gemm_a16w8_blockscale", x, w8, by_blocks[1])
    yield from _gemms_of_4_bits(x, x8, w)
    yield from _gemms_in_batches()
    feed_forward = x, random(2 * N, K), random(N, K)
    yield _call("ff_a16w16_fused_gated", "ff_a16w16_fused_gated", *feed_forward, activation="silu")
    yield _call("gmm", "gmm", random(M, K), random(4, K, N), repeated(4, M // 4))
    name = "fused_gemm_a8w8_blockscale_a16w16"
    yield _call(name, name, x8, w8, *by_blocks, x, random(256, K))


def _gemms_of_4_bits(x: torch.Tensor, x8: torch.Tensor, w: torch.Tensor) -> Iterator[Call]:
    x4, w4, xs, ws = _u8(M, K // 2), _u8(N, K // 2), _u8(M, K // 32), _u8(N, K // 32)
    shuffled = xs.view(M // 32, -1), ws.view(N // 32, -1)
    yield _call("gemm_afp4wfp4", "gemm_afp4wfp4", x4, w4, xs, ws)
    yield _call("gemm_afp4wfp4", "gemm_afp4wfp4_preshuffled_scales", x4, w4, *shuffled)
    yield _call("gemm_a8wfp4", "gemm_a8wfp4", x8, w4, random(M, N), ones(M, 1), ws)
    yield _call("gemm_afp4wfp4_pre_quant_atomic", "gemm_afp4wfp4_pre_quant", x, w4, ws, y=torch.zeros(M, N))


def _gemms_in_batches() -> Iterator[Call]:
    x, w = random(4, M, K), random(4, N, K)
    x8, w8 = x.to(torch.int8), w.to(torch.int8)
    x4, w4, xs, ws = _u8(4, M, K // 2), _u8(4, N, K // 2), _u8(4, M, K // 32), _u8(4, N, K // 32)
    yield _call("batched_gemm_bf16", "batched_gemm_bf16", x, w)
    yield _call("batched_gemm_a8w8", "batched_gemm_a8w8", x8, w8, ones(4, M, 1), ones(4, 1, N))
    yield _call("batched_gemm_afp4wfp4", "batched_gemm_afp4wfp4", x4, w4, xs, ws, y=random(4, M, N))


def _attention(float8: Any) -> Iterator[Call]:
    del float8
    shape = (BATCH, TIME, HEADS, FEATURES)

    def forward(**options: Any) -> Any:
        q, k, v = (random(*shape).requires_grad_() for _ in range(3))
        return _of("mha").flash_attn_func(q, k, v, **options)

    def backward(name: str, function: str) -> Any:
        q, k, v, o, do, dq, dk, dv = (random(*shape) for _ in range(8))
        lse = ones(BATCH, HEADS, TIME)
        return getattr(_of(name), function)(
            do, q, k, v, o, lse, dq, dk, dv, None, 0.1, None, True, None, None, TIME, TIME, 0.0
        )

    def varlen() -> Any:
        q, k, v = (random(BATCH * TIME, HEADS, FEATURES) for _ in range(3))
        each = ends(TIME)
        return _of("mha").flash_attn_varlen_func(q, k, v, each, each, TIME, TIME, causal=True)

    def prefill() -> Any:
        q, k, v, o = (random(BATCH * TIME, HEADS, FEATURES) for _ in range(4))
        starts = torch.arange(0, BATCH, dtype=torch.int32) * TIME
        lengths = repeated(BATCH, TIME)
        return _of("prefill_attention").context_attention_fwd(q, k, v, o, starts, lengths, TIME)

    def extend() -> Any:
        q, k, v, o = (random(BATCH * TIME, HEADS, FEATURES) for _ in range(4))
        each = ends(TIME)
        buffers = random(BATCH * TIME, HEADS, FEATURES), random(BATCH * TIME, HEADS, FEATURES)
        return _of("extend_attention").extend_attention_fwd(
            q, k, v, o, *buffers, each, each, zeros(BATCH * TIME), None, True, None, TIME
        )

    yield "mha.forward", lambda: forward(causal=True, return_lse=True)
    yield "mha.forward plain", lambda: forward()
    yield "mha.varlen", varlen
    yield "mha_onekernel_bwd", lambda: backward("mha_onekernel_bwd", "flash_attn_onekernel_backward")
    yield "mha_fused_bwd", lambda: backward("mha_fused_bwd", "flash_attn_fused_backward")
    yield "prefill_attention", prefill
    yield "extend_attention", extend


def _paged(length: int, *, scales: tuple[int, ...] = (1,)) -> Any:
    q = random(BATCH, HEADS * _GROUPS, FEATURES)
    caches = [random(_PAGES, HEADS, _PAGE, FEATURES) for _ in range(2)]
    tables, lengths, scale = zeros(BATCH, 32), repeated(BATCH, TIME), [ones(*scales) for _ in range(2)]
    return _of("pa_decode").paged_attention_decode(
        torch.empty_like(q), q, *caches, lengths, tables, 0.1, length, tl.bfloat16, *scale
    )


def _unified(queries: int, length: int) -> Any:
    q = random(BATCH * queries, HEADS * _GROUPS, FEATURES)
    caches = [random(_PAGES, _PAGE, HEADS, FEATURES) for _ in range(2)]
    return _of("unified_attention").unified_attention(
        q, *caches, torch.empty_like(q), ends(queries), queries, repeated(BATCH, TIME), length, 0.1, True, (-1, -1),
        zeros(BATCH, 32), 0, None, None, None,
    )  # fmt: skip


def _latent() -> Any:
    heads, rank, rope, splits = 16, 512, 64, 8
    q, k = random(BATCH, heads, rank + rope), random(BATCH * TIME, 1, rank + rope)
    return _of("mla_decode_rope").decode_attention_fwd_grouped_rope(
        q, k, k[..., :rank], random(BATCH, heads, rank), ends(TIME), zeros(BATCH * TIME), random(BATCH, rope), rank, rope,
        random(4096, rope), torch.zeros(BATCH, dtype=torch.int64), ones(BATCH, heads, splits, rank + 1), splits, 0.1,
        use_rope=True,
    )  # fmt: skip


def _decoding(float8: Any) -> Iterator[Call]:
    def logits() -> Any:
        q, kv = random(TIME, 64, FEATURES).to(float8), random(TIME, FEATURES).to(float8)
        return _of("fp8_mqa_logits").fp8_mqa_logits(
            q, kv, ones(TIME), ones(TIME, 64), zeros(TIME), zeros(TIME)
        )

    yield "pa_decode v1", lambda: _paged(256)
    yield "pa_decode v2", lambda: _paged(16384)
    yield "pa_decode v2 of scaled tokens", lambda: _paged(16384, scales=(_PAGES, HEADS, _PAGE))
    yield "unified_attention 2d", lambda: _unified(64, TIME)
    yield "unified_attention 3d", lambda: _unified(1, 8192)
    yield "mla_decode_rope", _latent
    yield "fp8_mqa_logits", logits


_BLOCK = {"BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 64, "GROUP_SIZE_M": 4}
_BLOCK_OF_TWO = {"BLOCK_SIZE_M": 32, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K1": 64, "BLOCK_SIZE_K2": 64, "GROUP_SIZE_M": 4}  # fmt: skip


def _routed() -> tuple[Any, ...]:
    """Weights and numbers of each token's experts, the tokens by expert, the experts of blocks, the number of tokens."""
    tokens = M * _TOP + _EXPERTS * 64
    return ones(M, _TOP), zeros(M, _TOP), zeros(tokens), zeros(tokens // 64), zeros(1)


def _fused(name: str, function: str, w: torch.Tensor, scale: Any, **kinds: bool) -> Any:
    more = {} if name == "moe_op_gelu" else {"use_int4_w4a16": kinds.pop("use_int4_w4a16", False)}
    points = [] if name == "moe_op_gelu" else [None]
    kind = {"use_fp8_w8a8": False, "use_int8_w8a16": False} | kinds | more
    shape = [0, 128] if kind.get("use_int4_w4a16") else None
    columns = w.shape[1] // (2 if "silu" in name else 1)
    return getattr(_of(name), function)(
        random(M, K), w, random(M, _TOP, columns), None, scale, *points, *_routed(), False, _TOP, tl.bfloat16,
        block_shape=shape, config=dict(_BLOCK), **kind,
    )  # fmt: skip


def _end_to_end() -> Any:
    half, (weights, ids, sorted_ids, *more) = N // 2, _routed()
    return _of("moe_op_e2e").e2e_moe(
        random(M, K), random(_EXPERTS, N, K), random(_EXPERTS, K, half), ones(M * _TOP, half), random(M, _TOP, K),
        None, None, None, weights, sorted_ids, ids, *more, False, _TOP, False, False, config=dict(_BLOCK_OF_TWO),
    )  # fmt: skip


def _of_4_bits(name: str, function: str) -> Any:
    operands = _u8(M, K // 2), _u8(_EXPERTS, N, K // 2), random(M, _TOP, N)
    scales = ones(1), ones(_EXPERTS), _u8(M, K // 32), _u8(_EXPERTS, N, K // 32)
    block = _BLOCK | {"BLOCK_SIZE_K": 128}
    return getattr(_of(name), function)(
        *operands, *scales, *_routed(), False, _TOP, False, False, block, tl.bfloat16
    )


def _experts(float8: Any) -> Iterator[Call]:
    weights = random(_EXPERTS, N, K)
    narrow = weights.to(float8), ones(_EXPERTS)
    packed = _u8(_EXPERTS, N, K // 2), random(_EXPERTS, N, K // 128)
    yield "moe_op", lambda: _fused("moe_op", "fused_moe", weights, None)
    yield "moe_op_silu_fused", lambda: _fused("moe_op_silu_fused", "fused_moe_silu", weights, None)
    yield "moe_op_gelu", lambda: _fused("moe_op_gelu", "fused_moe_gelu", weights, None)
    yield "moe_op fp8", lambda: _fused("moe_op", "fused_moe", *narrow, use_fp8_w8a8=True)
    yield "moe_op int4", lambda: _fused("moe_op", "fused_moe", *packed, use_int4_w4a16=True)
    yield "moe_op_e2e", _end_to_end
    yield "moe_op_mxfp4", lambda: _of_4_bits("moe_op_mxfp4", "fused_moe_mxfp4")
    yield "moe_op_mxfp4_silu_fused", lambda: _of_4_bits("moe_op_mxfp4_silu_fused", "fused_moe_mxfp4_silu")
    aligned = zeros(M, _TOP), _EXPERTS, 64, zeros(2048), zeros(32), zeros(1)
    yield "moe_align_block_size", lambda: _of("moe_align_block_size").moe_align_block_size_triton(*aligned)
    routing = random(M, K), random(K, 16), 1
    yield (
        "moe_routing_sigmoid_top1",
        lambda: _of("moe_routing_sigmoid_top1_fused").routing_sigmoid_top1(*routing),
    )


def _rows(float8: Any) -> Iterator[Call]:
    x, weight, bias = random(M, N), random(N), random(N)

    def out(dtype: Any = HALF) -> torch.Tensor:
        return torch.empty(M, N, dtype=dtype)

    def add() -> tuple[torch.Tensor, ...]:
        return out(), x, random(M, N), out()

    yield "rmsnorm", lambda: _of("rmsnorm").rms_norm(x, weight, 1e-5)
    yield "rmsnorm add", lambda: _of("rmsnorm").rmsnorm2d_fwd_with_add(*add(), weight, 1e-5)
    yield (
        "rmsnorm dynamicquant",
        lambda: _of("rmsnorm").rmsnorm2d_fwd_with_dynamicquant(out(torch.int8), x, ones(M, 1), weight, 1e-5),
    )
    yield "layer_norm", lambda: _of("norm").layer_norm(x, weight, bias)
    yield (
        "layer_norm smoothquant",
        lambda: _of("norm").layernorm2d_fwd_with_smoothquant(
            out(torch.int8), x, ones(N), ones(M, 1), weight, bias
        ),
    )
    yield "softmax", lambda: _of("softmax").softmax(x)
    yield "quant static", lambda: _of("quant").static_per_tensor_quant_fp8_i8(out(float8), x, ones(1))
    yield "quant tensor", lambda: _of("quant").dynamic_per_tensor_quant_fp8_i8(out(float8), x, ones(1))
    yield "quant token", lambda: _of("quant").dynamic_per_token_quant_fp8_i8(out(float8), x, ones(M))
    yield "quant mxfp4", lambda: _of("quant").dynamic_mxfp4_quant(x)
    yield "fused_rms_mxfp4_quant", lambda: _of("fused_mxfp4_quant").fused_rms_mxfp4_quant(x, weight, 1e-5)
    yield (
        "fused_rms_fp8_group_quant",
        lambda: _of("fused_fp8_quant").fused_rms_fp8_group_quant(x, weight, 1e-5),
    )
    yield "act_mul_and_fp8_group_quant", lambda: _of("activation").act_mul_and_fp8_group_quant(x, "silu", 128)
    yield "act_mul_and_mxfp4_quant", lambda: _of("activation").act_mul_and_mxfp4_quant(x, "silu")
    yield (
        "fused_add_rmsnorm_pad",
        lambda: _of("fused_add_rmsnorm_pad").fused_add_rmsnorm_pad(x, weight, 1e-5, random(M, N), 256),
    )
    yield "topk", lambda: _of("topk").topk(random(8, 4096, dtype=torch.float32), 8)
    yield "split_qkv", lambda: _of("split_qkv").split_qkv(random(M, 1536), 1024, 256)
    yield "fused_mul_add", lambda: _of("fused_mul_add").fused_mul_add(x, 2.0, 1.0)


def _rotated(float8: Any) -> Iterator[Call]:
    del float8
    x, freqs = random(TIME, BATCH, HEADS, FEATURES), random(TIME, 1, 1, FEATURES // 2)
    heads = 64
    positions = torch.zeros(TIME, dtype=torch.int64)

    def split() -> Any:
        qkv = random(TIME, (HEADS + 2) * heads)
        cos, sin = random(4096, heads // 2), random(4096, heads // 2)
        return _of("fused_qkv_split_qk_rope").fused_qkv_split_qk_rope(
            qkv, cos, sin, positions, HEADS, 1, heads
        )

    yield "rope", lambda: _of("rope").rope_fwd(x, freqs, 0, True, False)
    yield "rope backward", lambda: _of("rope").rope_bwd(x, freqs, 1, True, False)
    yield "rope cached", lambda: _of("rope").rope_cached_fwd(x, freqs, freqs, 0, True, False)
    yield "fused_qkv_split_qk_rope", split
