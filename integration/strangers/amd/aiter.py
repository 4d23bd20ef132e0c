"""Calls of aiter's launchers, by the names of their files: shapes and types alone."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch

import tri.language as tl
from integration.strangers.amd.device import without_init

__all__ = ["NAME", "calls"]

NAME = "amd-aiter"
_HALF = torch.bfloat16
_M, _N, _K = 256, 1024, 1024
_HEADS, _FEATURES, _TIME, _BATCH = 8, 128, 512, 2
_EXPERTS, _TOP = 8, 2

Call = tuple[str, Callable[[], Any]]


def _r(*shape: int, dtype: Any = _HALF) -> torch.Tensor:
    return torch.randn(*shape).to(dtype)


def _f(*shape: int) -> torch.Tensor:
    return torch.ones(*shape)


def _u8(*shape: int) -> torch.Tensor:
    return torch.full(shape, 127, dtype=torch.uint8)


def _i(*shape: int) -> torch.Tensor:
    return torch.zeros(*shape, dtype=torch.int32)


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


def _gemms(float8: Any) -> Iterator[Call]:
    def one(name: str, function: str, *arguments: Any, **options: Any) -> Call:
        return f"{name}.{function}", lambda: getattr(_of(name), function)(*arguments, **options)

    x, w = _r(_M, _K), _r(_N, _K)
    x8, w8 = x.to(float8), w.to(float8)
    x4, w4 = _u8(_M, _K // 2), _u8(_N, _K // 2)
    xs, ws = _u8(_M, _K // 32), _u8(_N, _K // 32)
    yield one("gemm_a16w16", "gemm_a16w16", x, w)
    yield one("gemm_a16w16", "gemm_a16w16", _r(16, _K), w)
    yield one("gemm_a16w16_atomic", "gemm_a16w16_atomic", x, w)
    yield one("gemm_a16w16_gated", "gemm_a16w16_gated", x, w, activation="silu")
    yield one("gemm_a8w8", "gemm_a8w8", x8, w8, _f(_M, 1), _f(1, _N))
    yield one(
        "gemm_a8w8_blockscale", "gemm_a8w8_blockscale", x8, w8, _f(_M, _K // 128), _f(_N // 128, _K // 128)
    )
    yield one("gemm_a8w8_per_token_scale", "gemm_a8w8_per_token_scale", x8, w8, _f(_M, 1), _f(_N, 1))
    yield one("gemm_a16w8_blockscale", "gemm_a16w8_blockscale", x, w8, _f(_N // 128, _K // 128))
    yield one("gemm_afp4wfp4", "gemm_afp4wfp4", x4, w4, xs, ws)
    yield one(
        "gemm_afp4wfp4",
        "gemm_afp4wfp4_preshuffled_scales",
        x4,
        w4,
        xs.view(_M // 32, -1),
        ws.view(_N // 32, -1),
    )
    yield one("gemm_a8wfp4", "gemm_a8wfp4", x8, w4, _r(_M, _N), _f(_M, 1), ws)
    yield one("gemm_afp4wfp4_pre_quant_atomic", "gemm_afp4wfp4_pre_quant", x, w4, ws, y=torch.zeros(_M, _N))
    yield one("batched_gemm_bf16", "batched_gemm_bf16", _r(4, _M, _K), _r(4, _N, _K))
    yield one(
        "batched_gemm_a8w8",
        "batched_gemm_a8w8",
        _r(4, _M, _K).to(torch.int8),
        _r(4, _N, _K).to(torch.int8),
        _f(4, _M, 1),
        _f(4, 1, _N),
    )
    yield one(
        "batched_gemm_afp4wfp4",
        "batched_gemm_afp4wfp4",
        _u8(4, _M, _K // 2),
        _u8(4, _N, _K // 2),
        _u8(4, _M, _K // 32),
        _u8(4, _N, _K // 32),
        y=_r(4, _M, _N),
    )
    yield one(
        "ff_a16w16_fused_gated", "ff_a16w16_fused_gated", x, _r(2 * _N, _K), _r(_N, _K), activation="silu"
    )
    yield one("gmm", "gmm", _r(_M, _K), _r(4, _K, _N), torch.full((4,), _M // 4, dtype=torch.int32))
    yield one(
        "fused_gemm_a8w8_blockscale_a16w16",
        "fused_gemm_a8w8_blockscale_a16w16",
        x8,
        w8,
        _f(_M, _K // 128),
        _f(_N // 128, _K // 128),
        x,
        _r(256, _K),
    )


def _attention(float8: Any) -> Iterator[Call]:
    del float8
    shape = (_BATCH, _TIME, _HEADS, _FEATURES)

    def forward(**options: Any) -> Any:
        q, k, v = (_r(*shape).requires_grad_() for _ in range(3))
        return _of("mha").flash_attn_func(q, k, v, **options)

    def backward(name: str, function: str) -> Any:
        q, k, v, o, do, dq, dk, dv = (_r(*shape) for _ in range(8))
        lse = _f(_BATCH, _HEADS, _TIME)
        return getattr(_of(name), function)(
            do, q, k, v, o, lse, dq, dk, dv, None, 0.1, None, True, None, None, _TIME, _TIME, 0.0
        )

    def varlen() -> Any:
        q, k, v = (_r(_BATCH * _TIME, _HEADS, _FEATURES) for _ in range(3))
        ends = torch.arange(0, _BATCH + 1, dtype=torch.int32) * _TIME
        return _of("mha").flash_attn_varlen_func(q, k, v, ends, ends, _TIME, _TIME, causal=True)

    def prefill() -> Any:
        q, k, v, o = (_r(_BATCH * _TIME, _HEADS, _FEATURES) for _ in range(4))
        starts = torch.arange(0, _BATCH, dtype=torch.int32) * _TIME
        lengths = torch.full((_BATCH,), _TIME, dtype=torch.int32)
        return _of("prefill_attention").context_attention_fwd(q, k, v, o, starts, lengths, _TIME)

    def extend() -> Any:
        q, k, v, o = (_r(_BATCH * _TIME, _HEADS, _FEATURES) for _ in range(4))
        ends = torch.arange(0, _BATCH + 1, dtype=torch.int32) * _TIME
        buffers = _r(_BATCH * _TIME, _HEADS, _FEATURES), _r(_BATCH * _TIME, _HEADS, _FEATURES)
        return _of("extend_attention").extend_attention_fwd(
            q, k, v, o, *buffers, ends, ends, _i(_BATCH * _TIME), None, True, None, _TIME
        )

    yield "mha.forward", lambda: forward(causal=True, return_lse=True)
    yield "mha.forward plain", lambda: forward()
    yield "mha.varlen", varlen
    yield "mha_onekernel_bwd", lambda: backward("mha_onekernel_bwd", "flash_attn_onekernel_backward")
    yield "mha_fused_bwd", lambda: backward("mha_fused_bwd", "flash_attn_fused_backward")
    yield "prefill_attention", prefill
    yield "extend_attention", extend


def _decoding(float8: Any) -> Iterator[Call]:
    blocks, size, groups = 64, 16, 8
    tables, lengths = _i(_BATCH, 32), torch.full((_BATCH,), _TIME, dtype=torch.int32)

    def paged(length: int, scales: int) -> Any:
        q = _r(_BATCH, _HEADS * groups, _FEATURES)
        caches = [_r(blocks, _HEADS, size, _FEATURES) for _ in range(2)]
        scale = [_f(*((blocks, _HEADS, size) if scales > 1 else (1,))) for _ in range(2)]
        return _of("pa_decode").paged_attention_decode(
            torch.empty_like(q), q, *caches, lengths, tables, 0.1, length, tl.bfloat16, *scale
        )

    def unified(queries: int, length: int) -> Any:
        q = _r(_BATCH * queries, _HEADS * groups, _FEATURES)
        caches = [_r(blocks, size, _HEADS, _FEATURES) for _ in range(2)]
        ends = torch.arange(0, _BATCH + 1, dtype=torch.int32) * queries
        return _of("unified_attention").unified_attention(
            q,
            *caches,
            torch.empty_like(q),
            ends,
            queries,
            lengths,
            length,
            0.1,
            True,
            (-1, -1),
            tables,
            0,
            None,
            None,
            None,
        )

    def latent() -> Any:
        heads, rank, rope, splits = 16, 512, 64, 8
        q = _r(_BATCH, heads, rank + rope)
        ends = torch.arange(0, _BATCH + 1, dtype=torch.int32) * _TIME
        k = _r(_BATCH * _TIME, 1, rank + rope)
        return _of("mla_decode_rope").decode_attention_fwd_grouped_rope(
            q,
            k,
            k[..., :rank],
            _r(_BATCH, heads, rank),
            ends,
            _i(_BATCH * _TIME),
            _r(_BATCH, rope),
            rank,
            rope,
            _r(4096, rope),
            torch.zeros(_BATCH, dtype=torch.int64),
            _f(_BATCH, heads, splits, rank + 1),
            splits,
            0.1,
            use_rope=True,
        )

    def logits() -> Any:
        q, kv = _r(_TIME, 64, _FEATURES).to(float8), _r(_TIME, _FEATURES).to(float8)
        return _of("fp8_mqa_logits").fp8_mqa_logits(q, kv, _f(_TIME), _f(_TIME, 64), _i(_TIME), _i(_TIME))

    yield "pa_decode v1", lambda: paged(256, 1)
    yield "pa_decode v2", lambda: paged(16384, 1)
    yield "pa_decode v2 of scaled tokens", lambda: paged(16384, 2)
    yield "unified_attention 2d", lambda: unified(64, _TIME)
    yield "unified_attention 3d", lambda: unified(1, 8192)
    yield "mla_decode_rope", latent
    yield "fp8_mqa_logits", logits


def _experts(float8: Any) -> Iterator[Call]:
    block = {"BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 64, "GROUP_SIZE_M": 4}

    def routed() -> tuple[Any, ...]:
        tokens = _M * _TOP + _EXPERTS * 64
        return _f(_M, _TOP), _i(_M, _TOP), _i(tokens), _i(tokens // 64), _i(1)

    def moe(name: str, function: str, w: torch.Tensor, scale: Any, **kinds: bool) -> Any:
        more = {} if name == "moe_op_gelu" else {"use_int4_w4a16": kinds.pop("use_int4_w4a16", False)}
        points = [] if name == "moe_op_gelu" else [None]
        kind = {"use_fp8_w8a8": False, "use_int8_w8a16": False} | kinds | more
        shape = [0, 128] if kind.get("use_int4_w4a16") else None
        columns = w.shape[1] // (2 if "silu" in name else 1)
        return getattr(_of(name), function)(
            _r(_M, _K),
            w,
            _r(_M, _TOP, columns),
            None,
            scale,
            *points,
            *routed(),
            False,
            _TOP,
            tl.bfloat16,
            block_shape=shape,
            config=dict(block),
            **kind,
        )

    def end_to_end() -> Any:
        half = _N // 2
        return _of("moe_op_e2e").e2e_moe(
            _r(_M, _K),
            _r(_EXPERTS, _N, _K),
            _r(_EXPERTS, _K, half),
            _f(_M * _TOP, half),
            _r(_M, _TOP, _K),
            None,
            None,
            None,
            *_ordered(routed()),
            False,
            _TOP,
            False,
            False,
            config={
                "BLOCK_SIZE_M": 32,
                "BLOCK_SIZE_N": 64,
                "BLOCK_SIZE_K1": 64,
                "BLOCK_SIZE_K2": 64,
                "GROUP_SIZE_M": 4,
            },
        )

    def four(name: str, function: str) -> Any:
        return getattr(_of(name), function)(
            _u8(_M, _K // 2),
            _u8(_EXPERTS, _N, _K // 2),
            _r(_M, _TOP, _N),
            _f(1),
            _f(_EXPERTS),
            _u8(_M, _K // 32),
            _u8(_EXPERTS, _N, _K // 32),
            *routed(),
            False,
            _TOP,
            False,
            False,
            block | {"BLOCK_SIZE_K": 128},
            tl.bfloat16,
        )

    weights = _r(_EXPERTS, _N, _K)
    for name, function in (
        ("moe_op", "fused_moe"),
        ("moe_op_silu_fused", "fused_moe_silu"),
        ("moe_op_gelu", "fused_moe_gelu"),
    ):
        yield name, partial(moe, name, function, weights, None)
    yield (
        "moe_op fp8",
        lambda: moe("moe_op", "fused_moe", weights.to(float8), _f(_EXPERTS), use_fp8_w8a8=True),
    )
    yield (
        "moe_op int4",
        lambda: moe(
            "moe_op",
            "fused_moe",
            _u8(_EXPERTS, _N, _K // 2),
            _r(_EXPERTS, _N, _K // 128),
            use_int4_w4a16=True,
        ),
    )
    yield "moe_op_e2e", end_to_end
    yield "moe_op_mxfp4", lambda: four("moe_op_mxfp4", "fused_moe_mxfp4")
    yield "moe_op_mxfp4_silu_fused", lambda: four("moe_op_mxfp4_silu_fused", "fused_moe_mxfp4_silu")
    yield (
        "moe_align_block_size",
        lambda: _of("moe_align_block_size").moe_align_block_size_triton(
            _i(_M, _TOP), _EXPERTS, 64, _i(2048), _i(32), _i(1)
        ),
    )
    yield (
        "moe_routing_sigmoid_top1",
        lambda: _of("moe_routing_sigmoid_top1_fused").routing_sigmoid_top1(_r(_M, _K), _r(_K, 16), 1),
    )


def _ordered(routed: tuple[Any, ...]) -> tuple[Any, ...]:
    weights, ids, sorted_ids, *more = routed
    return weights, sorted_ids, ids, *more


def _rows(float8: Any) -> Iterator[Call]:
    x, weight, bias = _r(_M, _N), _r(_N), _r(_N)

    def out(dtype: Any = _HALF) -> torch.Tensor:
        return torch.empty(_M, _N, dtype=dtype)

    def add() -> tuple[torch.Tensor, ...]:
        return out(), x, _r(_M, _N), out()

    yield "rmsnorm", lambda: _of("rmsnorm").rms_norm(x, weight, 1e-5)
    yield "rmsnorm add", lambda: _of("rmsnorm").rmsnorm2d_fwd_with_add(*add(), weight, 1e-5)
    yield (
        "rmsnorm dynamicquant",
        lambda: _of("rmsnorm").rmsnorm2d_fwd_with_dynamicquant(out(torch.int8), x, _f(_M, 1), weight, 1e-5),
    )
    yield "layer_norm", lambda: _of("norm").layer_norm(x, weight, bias)
    yield (
        "layer_norm smoothquant",
        lambda: _of("norm").layernorm2d_fwd_with_smoothquant(
            out(torch.int8), x, _f(_N), _f(_M, 1), weight, bias
        ),
    )
    yield "softmax", lambda: _of("softmax").softmax(x)
    yield "quant static", lambda: _of("quant").static_per_tensor_quant_fp8_i8(out(float8), x, _f(1))
    yield "quant tensor", lambda: _of("quant").dynamic_per_tensor_quant_fp8_i8(out(float8), x, _f(1))
    yield "quant token", lambda: _of("quant").dynamic_per_token_quant_fp8_i8(out(float8), x, _f(_M))
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
        lambda: _of("fused_add_rmsnorm_pad").fused_add_rmsnorm_pad(x, weight, 1e-5, _r(_M, _N), 256),
    )
    yield "topk", lambda: _of("topk").topk(_r(8, 4096, dtype=torch.float32), 8)
    yield "split_qkv", lambda: _of("split_qkv").split_qkv(_r(_M, 1536), 1024, 256)
    yield "fused_mul_add", lambda: _of("fused_mul_add").fused_mul_add(x, 2.0, 1.0)


def _rotated(float8: Any) -> Iterator[Call]:
    del float8
    x, freqs = _r(_TIME, _BATCH, _HEADS, _FEATURES), _r(_TIME, 1, 1, _FEATURES // 2)
    heads = 64
    positions = torch.zeros(_TIME, dtype=torch.int64)

    def split() -> Any:
        qkv = _r(_TIME, (_HEADS + 2) * heads)
        cos, sin = _r(4096, heads // 2), _r(4096, heads // 2)
        return _of("fused_qkv_split_qk_rope").fused_qkv_split_qk_rope(
            qkv, cos, sin, positions, _HEADS, 1, heads
        )

    yield "rope", lambda: _of("rope").rope_fwd(x, freqs, 0, True, False)
    yield "rope backward", lambda: _of("rope").rope_bwd(x, freqs, 1, True, False)
    yield "rope cached", lambda: _of("rope").rope_cached_fwd(x, freqs, freqs, 0, True, False)
    yield "fused_qkv_split_qk_rope", split
