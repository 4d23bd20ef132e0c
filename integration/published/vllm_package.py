"""vLLM's package of kernels, without the server around them: the modules that their files ask are settled."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

from integration.published.bare import without_init

__all__ = ["LAYERS", "OPS", "opened"]

OPS = "vllm.v1.attention.ops"
LAYERS = "vllm.model_executor.layers"
#: what kernels' files import beside kernels: a server and its settings
_NOTHING = (
    "vllm.logger", "vllm._custom_ops", "vllm.scalar_type", "vllm.model_executor.parameter",
    "vllm.model_executor.utils", "vllm.utils.platform_utils", "vllm.utils.torch_utils", "vllm.utils.deep_gemm",
    "vllm.v1.kv_cache_interface", "vllm.v1.attention.backends.utils", "vllm.triton_utils.allocation",
    f"{LAYERS}.fused_moe.modular_kernel", f"{LAYERS}.fused_moe.activation", f"{LAYERS}.fused_moe.config",
    f"{LAYERS}.fused_moe.moe_align_block_size", f"{LAYERS}.fused_moe.utils", f"{LAYERS}.quantization.utils.quant_utils",
    f"{LAYERS}.quantization.utils.w8a8_utils",
)  # fmt: skip
#: packages whose ``__init__`` imports more than kernels
_PLAIN = (
    "vllm.v1", "vllm.v1.attention", OPS, "vllm.model_executor", LAYERS, f"{LAYERS}.fused_moe", f"{LAYERS}.quantization",
    f"{LAYERS}.quantization.utils", "vllm.utils",
)  # fmt: skip


def opened(folder: Path, float8: Any, *, rocm: bool) -> None:
    """Make vLLM's kernels importable from ``folder``; ``float8``: its type of 8-bit floats, ``rocm``: the platform is AMD's."""
    without_init("vllm", folder, nothing=_NOTHING)
    for name in _PLAIN:
        module = ModuleType(name)
        module.__path__ = [str(folder.joinpath(*name.split(".")))]
        sys.modules[name] = module
    _settle(float8, rocm)


def _no(*unused: Any, **unused_too: Any) -> bool:
    return False


def _settle(float8: Any, rocm: bool) -> None:
    """The modules that kernels' files ask: which platform, which Triton, numbers."""
    platforms: Any = ModuleType("vllm.platforms")
    platforms.current_platform = mock.MagicMock()
    platform = platforms.current_platform
    platform.fp8_dtype.return_value = float8
    platform.is_rocm.return_value = rocm
    platform.is_cuda_alike.return_value = True
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
    of_rocm: Any = ModuleType("vllm.platforms.rocm")
    of_rocm.__getattr__ = lambda name: _no
    sys.modules |= {
        "vllm.platforms": platforms, "vllm.platforms.rocm": of_rocm, "vllm.triton_utils": settled, "vllm.envs": settings,
    }  # fmt: skip
    importlib.import_module(f"{LAYERS}.fused_moe.utils").enable_swap_ab = _no  # type: ignore[attr-defined]
    sys.modules["vllm"].envs = settings  # type: ignore[attr-defined]
