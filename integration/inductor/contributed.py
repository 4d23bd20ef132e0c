"""Kernels that Inductor writes for a device which an extension of PyTorch brings and a backend of tri compiles for.

Needs that backend installed, and the stand-in before it is imported.  The extension is one of a few lines, without tensors: graphs are lowered on tensors without data, as :mod:`integration.inductor.faked` does for a GPU that is not here.
"""

# mypy: disable-error-code="import-not-found,import-untyped,no-untyped-call,misc"

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any
from unittest import mock

import torch
from torch._inductor import config, select_algorithm, utils
from torch._inductor.async_compile import AsyncCompile, _load_triton_kernel_from_source
from torch._inductor.codegen.common import (
    DeviceOpOverrides,
    register_backend_for_device,
    register_device_op_overrides,
)
from torch._inductor.debug import DebugContext
from torch._inductor.graph import GraphLowering
from torch._inductor.runtime.compile_tasks import _worker_compile_triton
from torch._inductor.runtime.hints import DeviceProperties
from torch._inductor.virtualized import V
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

from integration.inductor.faked import kernels_of
from tri.compat.triton.current import active_backend
from tri.compat.triton.inductor import contribute

__all__ = ["extension", "lowered", "main"]


class _Overrides(DeviceOpOverrides):
    """Text of wrappers, which nobody runs here."""

    def import_get_raw_stream_as(self, name: str) -> str:
        return f"{name} = None"

    def set_device(self, device_idx: int) -> str:
        return "pass"

    def synchronize(self) -> str:
        return "pass"

    def device_guard(self, device_idx: int) -> str:
        return "torch._ops.contextlib.nullcontext()"


def extension(name: str) -> None:
    """Register the type of device ``name``, as a vendor's extension of PyTorch does when PyTorch loads it."""
    from torch._inductor.codegen.triton import TritonScheduling
    from torch._inductor.codegen.wrapper import PythonWrapperCodegen

    module: Any = ModuleType(f"torch.{name}")
    module.is_available = lambda: True
    module.device_count = lambda: 1
    module.current_device = lambda: 0
    module._is_in_bad_fork = lambda: False
    module.manual_seed_all = lambda seed: None
    torch.utils.rename_privateuse1_backend(name)
    torch._register_device_module(name, module)
    register_backend_for_device(name, TritonScheduling, PythonWrapperCodegen)
    register_device_op_overrides(name, _Overrides())


def lowered(program: Callable[..., Any], *shapes: tuple[int, ...], device: torch.device) -> str:
    """Inductor's code for ``program`` of float32 tensors of ``shapes`` on ``device``."""
    mode = FakeTensorMode()
    with mode:
        inputs = [torch.empty(shape, device=device) for shape in shapes]
    graph = make_fx(program)(*inputs)
    with V.set_fake_mode(mode), DebugContext(), config.patch(force_disable_caches=True):
        lowering = GraphLowering(graph, example_inputs=inputs, is_inference=True)
        with V.set_graph_handler(lowering):
            lowering.run(*inputs)
            code, _ = lowering.codegen()
    return str(code.value)


def _templates(device: torch.device) -> list[str]:
    """Versions of its template of a matmul that Inductor would measure, as it describes them."""
    tried: list[str] = []

    def chosen(self: Any, name: str, choices: list[Any], *arguments: Any, **options: Any) -> Any:
        versions = [c for c in choices if isinstance(c, select_algorithm.TritonTemplateCaller)]
        tried.extend(version.description for version in versions)
        choice = (versions or choices)[0]
        return choice.output_node(), choice

    # PyTorch wants 68 multiprocessors of a GPU that is worth templates
    big = mock.patch.object(utils, "is_big_gpu", return_value=True)
    settings = config.patch(max_autotune_gemm=True, max_autotune_gemm_backends="TRITON")
    with big, settings, mock.patch.object(select_algorithm.AlgorithmSelectorCache, "__call__", chosen):
        lowered(torch.mm, (64, 64), (64, 64), device=device)
    return tried


def _compiled(code: str, target: str) -> list[str]:
    """Names of the kernels in ``code``, each compiled by a worker of Inductor's, which starts no driver."""
    found = kernels_of((code,))
    config.compile_threads = 2
    for source, name in found.items():
        load = partial(_load_triton_kernel_from_source, name, source)
        job = AsyncCompile.process_pool().submit(_worker_compile_triton, load, {"TRI_TARGET": target}, {})
        job.result(timeout=300)
    return list(found.values())


def main(target: str) -> None:
    """Print what Inductor knows and writes, as JSON."""
    info = contribute(target)
    extension(info.device_type)
    device = torch.device(info.device_type, 0)
    code = "".join(
        lowered(program, shape, device=device)
        for program, shape in (
            (lambda x: x + 1, (64, 4096)),
            (lambda x: x.sum(1), (64, 4096)),
            (lambda x: x.sum(1), (64, 64)),
        )
    )
    tiled = lowered(lambda x, y: x.permute(1, 0) + y, (64, 96), (96, 64), device=device)
    with config.patch(max_autotune=True):
        tuned = V.choices.get_flex_attention_fwd_configs(64, torch.float16, device.type)
    said = {
        "device": DeviceProperties.create(device)._asdict(),
        "active": active_backend(),
        "kernels": re.findall(r"@triton_heuristics\.(\w+)\(\s+(config=\S.*?\}|size_hints=)", code + tiled),
        "templates": _templates(device),
        "flex": [
            str(each) for each in V.choices.get_flex_attention_fwd_configs(64, torch.float16, device.type)
        ],
        "flex_tuned": len(tuned),
        "cuda": type(V.choices.get_config_heuristics("cuda")).__name__,
        "key": len(V.choices.uuid()),
        "compiled": _compiled(code, target),
    }
    print(json.dumps(said))
