"""Calls of vLLM's launchers and kernels for AMD's GPUs: shapes and types alone."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from integration.published.vllm_package import LAYERS as _LAYERS
from integration.published.vllm_package import OPS as _OPS
from integration.published.vllm_package import opened
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

NAME = "vllm"
_GROUPS = 8


def calls(folder: Path) -> Iterator[Call]:
    """Launches by label, of the package in ``folder``."""
    float8 = torch.float8_e4m3fnuz if _architecture() == "gfx942" else torch.float8_e4m3fn
    opened(folder, float8, rocm=True)
    for part in (_attention, _decoding, _experts, _quantized):
        yield from part(float8)


def _architecture() -> str:
    triton = importlib.import_module("triton")
    return str(triton.runtime.driver.active.get_current_target().arch)


def _of(home: str, name: str) -> Any:
    return importlib.import_module(f"{home}.{name}")


def _attention(float8: Any) -> Iterator[Call]:
    lengths = repeated(BATCH, TIME)

    def unified(queries: int, dtype: Any) -> Any:
        q = random(BATCH * queries, HEADS * _GROUPS, FEATURES)
        caches = [random(64, 16, HEADS, FEATURES).to(dtype) for _ in range(2)]
        scale = ones(BATCH, HEADS) if dtype is float8 else None
        heads, padded = HEADS * _GROUPS, FEATURES
        return _of(_OPS, "triton_unified_attention").unified_attention(
            q,
            *caches,
            torch.empty_like(q),
            ends(queries),
            queries,
            lengths,
            TIME,
            0.1,
            True,
            (-1, -1),
            zeros(BATCH, 32),
            0,
            None,
            scale,
            scale,
            seq_threshold_3D=8,
            num_par_softmax_segments=16,
            softmax_segm_output=ones(BATCH, heads, 16, padded),
            softmax_segm_max=ones(BATCH, heads, 16),
            softmax_segm_expsum=ones(BATCH, heads, 16),
            kv_quant_mode=0,
        )

    def prefill() -> Any:
        q, k, v, o = (random(BATCH * TIME, HEADS, FEATURES) for _ in range(4))
        starts = ends(TIME)[:-1].contiguous()
        return _of(_OPS, "triton_prefill_attention").context_attention_fwd(q, k, v, o, starts, lengths, TIME)

    def merge() -> Any:
        o, p, s = (random(M, HEADS, FEATURES) for _ in range(3))
        return _of(_OPS, "triton_merge_attn_states").merge_attn_states(
            o, p, ones(HEADS, M), s, ones(HEADS, M), ones(HEADS, M)
        )

    def prefix() -> Any:
        q, o = (random(BATCH * 128, HEADS * _GROUPS, FEATURES) for _ in range(2))
        k, v = (random(BATCH * 128, HEADS, FEATURES) for _ in range(2))
        caches = random(64, HEADS, FEATURES // 8, 16, 8), random(64, HEADS, FEATURES, 16)
        return _of(_OPS, "prefix_prefill").context_attention_fwd(
            q, k, v, o, "auto", *caches, zeros(BATCH, 32), ends(128), lengths, TIME, 128, ones(1), ones(1)
        )

    yield "unified_attention 2d", lambda: unified(64, HALF)
    yield "unified_attention 2d, fp8 cache", lambda: unified(64, float8)
    yield "unified_attention 3d", lambda: unified(1, HALF)
    yield "prefill_attention", prefill
    yield "merge_attn_states", merge
    yield "prefix_prefill", prefix


def _decoding(float8: Any) -> Iterator[Call]:
    del float8
    lengths = repeated(BATCH, TIME)

    def decode(heads: int, kv: int, k: int, v: int, *, latent: bool) -> Any:
        q, splits = random(BATCH, heads, k), 8
        buffers = random(1024, 16, kv, k), random(1024, 16, kv, v)
        return _of(_OPS, "triton_decode_attention").decode_attention_fwd(
            q,
            *buffers,
            random(BATCH, heads, v),
            ones(BATCH, heads),
            zeros(BATCH, 64),
            lengths,
            ones(BATCH, heads, splits, v + 1),
            splits,
            0.1,
            16,
            k_scale=ones(1),
            v_scale=ones(1),
            is_mla=latent,
        )

    def paged() -> Any:
        module = _of(_OPS, "chunked_prefill_paged_decode")
        q = random(BATCH, HEADS * _GROUPS, FEATURES)
        k, v = (random(BATCH, HEADS, FEATURES) for _ in range(2))
        caches = random(64, HEADS, FEATURES // 8, 16, 8), random(64, HEADS, FEATURES, 16)
        return module.chunked_prefill_paged_decode(
            q,
            k,
            v,
            torch.empty_like(q),
            "auto",
            *caches,
            zeros(BATCH, 32),
            ends(1),
            lengths,
            TIME,
            1,
            ones(1),
            ones(1),
            sm_scale=0.1,
        )

    yield "decode_attention", lambda: decode(8, 8, 128, 128, latent=False)
    yield "decode_attention grouped", lambda: decode(64, 8, 128, 128, latent=False)
    yield "decode_attention mla", lambda: decode(16, 1, 576, 512, latent=True)
    yield "chunked_prefill_paged_decode", paged


def _experts(float8: Any) -> Iterator[Call]:
    block = {"BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 64, "GROUP_SIZE_M": 4, "SPLIT_K": 1}
    experts, top = 8, 2
    tokens = M * top + experts * 64

    def routed() -> tuple[torch.Tensor, ...]:
        return ones(M, top), zeros(tokens), zeros(tokens // 64), zeros(1)

    def moe(dtype: Any, scale: Any, block_shape: Any, **kinds: bool) -> Any:
        tl = importlib.import_module("triton.language")
        narrow = dtype is not HALF
        chosen = {
            name: kinds.get(name, False)
            for name in ("use_fp8_w8a8", "use_int8_w8a8", "use_int8_w8a16", "use_int4_w4a16")
        }
        a_scale = ones(M, K // 128) if narrow else None
        return _of(_LAYERS, "fused_moe.fused_moe").invoke_fused_moe_triton_kernel(
            random(M, K).to(dtype),
            random(experts, N, K).to(dtype),
            random(M, top, N),
            a_scale,
            scale,
            *routed(),
            False,
            top,
            dict(block),
            tl.bfloat16,
            per_channel_quant=False,
            block_shape=block_shape,
            **chosen,
        )

    def four() -> Any:
        tl = importlib.import_module("triton.language")
        weights = torch.zeros(experts, N, K // 2, dtype=torch.uint8)
        return _of(_LAYERS, "fused_moe.fused_moe").invoke_fused_moe_wna16_triton_kernel(
            random(M, K),
            weights,
            random(M, top, N),
            random(experts, N, K // 128),
            None,
            *routed(),
            False,
            top,
            dict(block),
            tl.bfloat16,
            False,
            True,
            [0, 128],
        )

    yield "fused_moe", lambda: moe(HALF, None, None)
    yield (
        "fused_moe fp8 blocks",
        lambda: moe(float8, ones(experts, N // 128, K // 128), [128, 128], use_fp8_w8a8=True),
    )
    yield "fused_moe int4", four


def _quantized(float8: Any) -> Iterator[Call]:
    awq = "quantization.awq_triton"
    weights, scales, points = (
        zeros(K, N // 8),
        random(K // 128, N, dtype=torch.float16),
        zeros(K // 128, N // 8),
    )
    x = random(M, K, dtype=torch.float16)
    yield "awq_dequantize", lambda: _of(_LAYERS, awq).awq_dequantize_triton(weights, scales, points)
    yield "awq_gemm", lambda: _of(_LAYERS, awq).awq_gemm_triton(x, weights, scales, points, 8)
    yield (
        "scaled_mm",
        lambda: _of(_LAYERS, "quantization.compressed_tensors.triton_scaled_mm").triton_scaled_mm(
            random(M, K).to(float8), random(N, K).to(float8).t(), ones(M, 1), ones(N, 1), HALF
        ),
    )
    yield (
        "w8a8_block_scaled",
        lambda: _of(_LAYERS, "quantization.utils.fp8_utils").w8a8_triton_block_scaled_mm(
            random(M, K).to(float8),
            random(N, K).to(float8),
            ones(M, K // 128),
            ones(N // 128, K // 128),
            [128, 128],
        ),
    )
