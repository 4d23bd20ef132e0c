"""Calls of vLLM's launchers and kernels for AMD's GPUs: shapes and types alone."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import torch

from integration.strangers.amd.device import without_init

__all__ = ["NAME", "calls"]

NAME = "vllm"
_OPS = "vllm.v1.attention.ops"
_LAYERS = "vllm.model_executor.layers"
_HALF = torch.bfloat16
_M, _N, _K = 256, 1024, 1024
_HEADS, _GROUPS, _FEATURES, _TIME, _BATCH = 8, 8, 128, 512, 2
#: what kernels' files import beside kernels: a server and its settings
_NOTHING = (
    "vllm.logger", "vllm._custom_ops", "vllm.scalar_type", "vllm.model_executor.parameter",
    "vllm.model_executor.utils", "vllm.utils.platform_utils", "vllm.utils.torch_utils", "vllm.utils.deep_gemm",
    "vllm.v1.kv_cache_interface", "vllm.v1.attention.backends.utils", "vllm.triton_utils.allocation",
    f"{_LAYERS}.fused_moe.modular_kernel", f"{_LAYERS}.fused_moe.activation", f"{_LAYERS}.fused_moe.config",
    f"{_LAYERS}.fused_moe.moe_align_block_size", f"{_LAYERS}.fused_moe.utils", f"{_LAYERS}.quantization.utils.quant_utils",
    f"{_LAYERS}.quantization.utils.w8a8_utils",
)  # fmt: skip
#: packages whose ``__init__`` imports more than kernels
_PLAIN = (
    "vllm.v1", "vllm.v1.attention", _OPS, "vllm.model_executor", _LAYERS, f"{_LAYERS}.fused_moe", f"{_LAYERS}.quantization",
    f"{_LAYERS}.quantization.utils", "vllm.utils",
)  # fmt: skip

Call = tuple[str, Callable[[], Any]]


def calls(folder: Path) -> Iterator[Call]:
    """Launches by label, of the package in ``folder``."""
    without_init("vllm", folder, nothing=_NOTHING)
    for name in _PLAIN:
        module = ModuleType(name)
        module.__path__ = [str(folder.joinpath(*name.split(".")))]
        sys.modules[name] = module
    float8 = torch.float8_e4m3fnuz if _architecture() == "gfx942" else torch.float8_e4m3fn
    _settle(float8)
    for part in (_attention, _decoding, _experts, _quantized):
        yield from part(float8)


def _architecture() -> str:
    triton = importlib.import_module("triton")
    return str(triton.runtime.driver.active.get_current_target().arch)


def _settle(float8: Any) -> None:
    """The modules that kernels' files ask: which platform, which Triton, numbers."""
    platforms: Any = ModuleType("vllm.platforms")
    platforms.current_platform = mock.MagicMock()
    platform = platforms.current_platform
    platform.fp8_dtype.return_value = float8
    platform.is_rocm.return_value = platform.is_cuda_alike.return_value = True
    platform.is_cuda.return_value = platform.is_xpu.return_value = platform.is_cpu.return_value = False
    platform.is_device_capability_family.return_value = platform.is_device_capability.return_value = False
    platform.get_device_capability.return_value = (9, 4)
    settled: Any = ModuleType("vllm.triton_utils")
    settled.__path__ = []
    settled.triton = importlib.import_module("triton")
    settled.tl = importlib.import_module("triton.language")
    settled.tldevice = importlib.import_module("triton.language.extra.libdevice")
    settled.LOG2E, settled.LOGE2 = 1.4426950408889634, 0.6931471805599453
    settled.use_tensor_descriptor = _no
    settings: Any = ModuleType("vllm.envs")
    settings.__getattr__ = _no
    platforms.__path__ = []
    rocm: Any = ModuleType("vllm.platforms.rocm")
    rocm.__getattr__ = lambda name: _no
    sys.modules |= {
        "vllm.platforms": platforms, "vllm.platforms.rocm": rocm, "vllm.triton_utils": settled, "vllm.envs": settings,
    }  # fmt: skip
    importlib.import_module(f"{_LAYERS}.fused_moe.utils").enable_swap_ab = _no  # type: ignore[attr-defined]
    sys.modules["vllm"].envs = settings  # type: ignore[attr-defined]


def _r(*shape: int, dtype: Any = _HALF) -> torch.Tensor:
    return torch.randn(*shape).to(dtype)


def _f(*shape: int) -> torch.Tensor:
    return torch.ones(*shape)


def _i(*shape: int) -> torch.Tensor:
    return torch.zeros(*shape, dtype=torch.int32)


def _of(home: str, name: str) -> Any:
    return importlib.import_module(f"{home}.{name}")


def _ends(length: int) -> torch.Tensor:
    return torch.arange(0, _BATCH + 1, dtype=torch.int32) * length


def _attention(float8: Any) -> Iterator[Call]:
    lengths = torch.full((_BATCH,), _TIME, dtype=torch.int32)

    def unified(queries: int, dtype: Any) -> Any:
        q = _r(_BATCH * queries, _HEADS * _GROUPS, _FEATURES)
        caches = [_r(64, 16, _HEADS, _FEATURES).to(dtype) for _ in range(2)]
        scale = _f(_BATCH, _HEADS) if dtype is float8 else None
        heads, padded = _HEADS * _GROUPS, _FEATURES
        return _of(_OPS, "triton_unified_attention").unified_attention(
            q,
            *caches,
            torch.empty_like(q),
            _ends(queries),
            queries,
            lengths,
            _TIME,
            0.1,
            True,
            (-1, -1),
            _i(_BATCH, 32),
            0,
            None,
            scale,
            scale,
            seq_threshold_3D=8,
            num_par_softmax_segments=16,
            softmax_segm_output=_f(_BATCH, heads, 16, padded),
            softmax_segm_max=_f(_BATCH, heads, 16),
            softmax_segm_expsum=_f(_BATCH, heads, 16),
            kv_quant_mode=0,
        )

    def prefill() -> Any:
        q, k, v, o = (_r(_BATCH * _TIME, _HEADS, _FEATURES) for _ in range(4))
        starts = _ends(_TIME)[:-1].contiguous()
        return _of(_OPS, "triton_prefill_attention").context_attention_fwd(q, k, v, o, starts, lengths, _TIME)

    def merge() -> Any:
        o, p, s = (_r(_M, _HEADS, _FEATURES) for _ in range(3))
        return _of(_OPS, "triton_merge_attn_states").merge_attn_states(
            o, p, _f(_HEADS, _M), s, _f(_HEADS, _M), _f(_HEADS, _M)
        )

    def prefix() -> Any:
        q, o = (_r(_BATCH * 128, _HEADS * _GROUPS, _FEATURES) for _ in range(2))
        k, v = (_r(_BATCH * 128, _HEADS, _FEATURES) for _ in range(2))
        caches = _r(64, _HEADS, _FEATURES // 8, 16, 8), _r(64, _HEADS, _FEATURES, 16)
        return _of(_OPS, "prefix_prefill").context_attention_fwd(
            q, k, v, o, "auto", *caches, _i(_BATCH, 32), _ends(128), lengths, _TIME, 128, _f(1), _f(1)
        )

    yield "unified_attention 2d", lambda: unified(64, _HALF)
    yield "unified_attention 2d, fp8 cache", lambda: unified(64, float8)
    yield "unified_attention 3d", lambda: unified(1, _HALF)
    yield "prefill_attention", prefill
    yield "merge_attn_states", merge
    yield "prefix_prefill", prefix


def _decoding(float8: Any) -> Iterator[Call]:
    del float8
    lengths = torch.full((_BATCH,), _TIME, dtype=torch.int32)

    def decode(heads: int, kv: int, k: int, v: int, *, latent: bool) -> Any:
        q, splits = _r(_BATCH, heads, k), 8
        buffers = _r(1024, 16, kv, k), _r(1024, 16, kv, v)
        return _of(_OPS, "triton_decode_attention").decode_attention_fwd(
            q,
            *buffers,
            _r(_BATCH, heads, v),
            _f(_BATCH, heads),
            _i(_BATCH, 64),
            lengths,
            _f(_BATCH, heads, splits, v + 1),
            splits,
            0.1,
            16,
            k_scale=_f(1),
            v_scale=_f(1),
            is_mla=latent,
        )

    def paged() -> Any:
        module = _of(_OPS, "chunked_prefill_paged_decode")
        q = _r(_BATCH, _HEADS * _GROUPS, _FEATURES)
        k, v = (_r(_BATCH, _HEADS, _FEATURES) for _ in range(2))
        caches = _r(64, _HEADS, _FEATURES // 8, 16, 8), _r(64, _HEADS, _FEATURES, 16)
        return module.chunked_prefill_paged_decode(
            q,
            k,
            v,
            torch.empty_like(q),
            "auto",
            *caches,
            _i(_BATCH, 32),
            _ends(1),
            lengths,
            _TIME,
            1,
            _f(1),
            _f(1),
            sm_scale=0.1,
        )

    yield "decode_attention", lambda: decode(8, 8, 128, 128, latent=False)
    yield "decode_attention grouped", lambda: decode(64, 8, 128, 128, latent=False)
    yield "decode_attention mla", lambda: decode(16, 1, 576, 512, latent=True)
    yield "chunked_prefill_paged_decode", paged


def _no(*unused: Any, **unused_too: Any) -> bool:
    return False


def _experts(float8: Any) -> Iterator[Call]:
    block = {"BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 64, "GROUP_SIZE_M": 4, "SPLIT_K": 1}
    experts, top = 8, 2
    tokens = _M * top + experts * 64

    def routed() -> tuple[torch.Tensor, ...]:
        return _f(_M, top), _i(tokens), _i(tokens // 64), _i(1)

    def moe(dtype: Any, scale: Any, block_shape: Any, **kinds: bool) -> Any:
        tl = importlib.import_module("triton.language")
        narrow = dtype is not _HALF
        chosen = {
            name: kinds.get(name, False)
            for name in ("use_fp8_w8a8", "use_int8_w8a8", "use_int8_w8a16", "use_int4_w4a16")
        }
        a_scale = _f(_M, _K // 128) if narrow else None
        return _of(_LAYERS, "fused_moe.fused_moe").invoke_fused_moe_triton_kernel(
            _r(_M, _K).to(dtype),
            _r(experts, _N, _K).to(dtype),
            _r(_M, top, _N),
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
        weights = torch.zeros(experts, _N, _K // 2, dtype=torch.uint8)
        return _of(_LAYERS, "fused_moe.fused_moe").invoke_fused_moe_wna16_triton_kernel(
            _r(_M, _K),
            weights,
            _r(_M, top, _N),
            _r(experts, _N, _K // 128),
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

    yield "fused_moe", lambda: moe(_HALF, None, None)
    yield (
        "fused_moe fp8 blocks",
        lambda: moe(float8, _f(experts, _N // 128, _K // 128), [128, 128], use_fp8_w8a8=True),
    )
    yield "fused_moe int4", four


def _quantized(float8: Any) -> Iterator[Call]:
    awq = "quantization.awq_triton"
    weights, scales, zeros = _i(_K, _N // 8), _r(_K // 128, _N, dtype=torch.float16), _i(_K // 128, _N // 8)
    x = _r(_M, _K, dtype=torch.float16)
    yield "awq_dequantize", lambda: _of(_LAYERS, awq).awq_dequantize_triton(weights, scales, zeros)
    yield "awq_gemm", lambda: _of(_LAYERS, awq).awq_gemm_triton(x, weights, scales, zeros, 8)
    yield (
        "scaled_mm",
        lambda: _of(_LAYERS, "quantization.compressed_tensors.triton_scaled_mm").triton_scaled_mm(
            _r(_M, _K).to(float8), _r(_N, _K).to(float8).t(), _f(_M, 1), _f(_N, 1), _HALF
        ),
    )
    yield (
        "w8a8_block_scaled",
        lambda: _of(_LAYERS, "quantization.utils.fp8_utils").w8a8_triton_block_scaled_mm(
            _r(_M, _K).to(float8),
            _r(_N, _K).to(float8),
            _f(_M, _K // 128),
            _f(_N // 128, _K // 128),
            [128, 128],
        ),
    )
