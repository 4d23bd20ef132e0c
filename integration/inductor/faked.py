"""Kernels that Inductor writes for a GPU that is not here, from programs that are traced on the CPU.

Dynamo and autograd see CPU tensors without data; each graph that comes out of them is moved to a device ``cuda`` that is said to be
an H100, and lowered there: Inductor chooses as it would with one.  Nothing is compiled or run.
"""

# mypy: disable-error-code="import-not-found,import-untyped,no-untyped-call,misc"

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import field
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from torch import fx
from torch._guards import detect_fake_mode
from torch._inductor import compile_fx, config, select_algorithm
from torch._inductor.debug import DebugContext
from torch._inductor.graph import GraphLowering
from torch._inductor.virtualized import V
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._pytree import tree_leaves, tree_map

from tri_core.lazy_dataclasses import dataclass

__all__ = ["GPU", "Written", "an_h100", "kernels_of", "written"]

GPU = torch.device("cuda", 0)
#: a definition of a kernel in Inductor's output
_KERNEL = re.compile(r"async_compile\.triton\('(\w+)', '''(.*?)'''", re.DOTALL)


@dataclass(frozen=True)
class Properties:
    """An H100 as PyTorch describes it; sizes in bytes."""

    name: str = "NVIDIA H100 80GB HBM3"
    major: int = 9
    minor: int = 0
    multi_processor_count: int = 132
    regs_per_multiprocessor: int = 65536
    max_threads_per_multi_processor: int = 2048
    max_threads_per_block: int = 1024
    warp_size: int = 32
    total_memory: int = 80 << 30
    shared_memory_per_block: int = 48 << 10
    shared_memory_per_block_optin: int = 227 << 10
    L2_cache_size: int = 50 << 20
    gcnArchName: str = ""


@contextmanager
def an_h100() -> Iterator[None]:
    """Have PyTorch answer for one CUDA device, an H100, while graphs are lowered."""
    answers: dict[str, Any] = {
        "_lazy_init": lambda: None,
        "current_device": lambda: 0,
        "device_count": lambda: 1,
        "is_available": lambda: True,
        "synchronize": lambda device=None: None,
    }
    with ExitStack() as stack:
        for name, answer in answers.items():
            stack.enter_context(mock.patch.object(torch.cuda, name, answer))
        properties = mock.patch.object(
            torch.cuda, "_get_device_properties", create=True, return_value=Properties()
        )
        stack.enter_context(properties)
        yield


@dataclass(frozen=True)
class Written:
    """Inductor's ``code`` for every graph of a program, the graphs of its backward pass included.

    ``templates``: names by source of the versions of templates that it would measure to choose one.
    """

    code: tuple[str, ...]
    templates: Mapping[str, str] = field(default_factory=dict)

    @property
    def kernels(self) -> dict[str, str]:
        """Names of kernels by their source."""
        return kernels_of(self.code)


def kernels_of(code: tuple[str, ...]) -> dict[str, str]:
    """Names by source of the Triton kernels that ``code`` defines."""
    return {source: name for text in code for name, source in _KERNEL.findall(text)}


def written(
    program: Callable[..., Any],
    inputs: tuple[Any, ...],
    settings: Mapping[str, Any] | None = None,
    *,
    dynamic: bool = False,
) -> Written:
    """The kernels that Inductor writes for ``program`` of CPU tensors ``inputs``, and for its gradient where inputs or parameters want one."""
    torch._dynamo.reset()
    code: list[str] = []

    def lowered(graph: Any, examples: Any, **options: Any) -> Any:
        code.append(_lowered(graph, examples, options))
        return _run(graph)

    def backend(graph: Any, examples: Any) -> Any:
        return compile_fx.compile_fx(graph, examples, inner_compile=lowered)

    with config.patch({"force_disable_caches": True, **(settings or {})}), _chosen() as templates:
        compiled = torch.compile(program, backend=backend, dynamic=dynamic or None)
        results = compiled(*inputs)
        total = _total(results)
        if total is not None:
            total.backward()
    return Written(tuple(code), templates)


@contextmanager
def _chosen() -> Iterator[dict[str, str]]:
    """Have the first version of each template chosen, as nothing can be measured; names by source of all versions."""
    found: dict[str, str] = {}

    def chosen(self: Any, name: str, choices: list[Any], *arguments: Any, **options: Any) -> Any:
        versions = [c for c in choices if isinstance(c, select_algorithm.TritonTemplateCaller)]
        for version in versions:
            found[Path(version.bmreq.module_path).read_text()] = version.bmreq.kernel_name
        choice = (versions or choices)[0]
        return choice.output_node(), choice

    with mock.patch.object(select_algorithm.AlgorithmSelectorCache, "__call__", chosen):
        yield found


def _total(results: Any) -> Any:
    """Sum over all results that have a gradient; None without one."""
    leaves = tree_leaves(results)
    parts = [r.float().sum() for r in leaves if isinstance(r, torch.Tensor) and r.requires_grad]
    return sum(parts) if parts else None


def _run(graph: Any) -> Any:
    """The graph itself, in the convention of compiled ones."""

    def run(arguments: list[Any]) -> Any:
        given = list(arguments)
        arguments.clear()
        return graph(*given)

    run._boxed_call = True  # type: ignore[attr-defined]
    return run


def _lowered(graph: Any, examples: Any, options: dict[str, Any]) -> str:
    mode = detect_fake_mode(examples) or FakeTensorMode()
    passed = {name: options.get(name, False) for name in ("is_inference", "is_backward")}
    passed |= {name: options[name] for name in ("cpp_wrapper", "aot_mode") if name in options}
    with an_h100(), V.set_fake_mode(mode), DebugContext():
        moved, there = _moved(copy.deepcopy(graph), examples, mode)
        compile_fx._recursive_post_grad_passes(moved, is_inference=passed["is_inference"])
        compile_fx.view_to_reshape(moved)
        compile_fx._recursive_record_original_output_strides(moved)
        lowering = GraphLowering(moved, example_inputs=there, shape_env=mode.shape_env, **passed)
        with V.set_graph_handler(lowering):
            lowering.run(*there)
            code, _ = lowering.codegen()
    return str(code.value)


def _moved(graph: Any, examples: Any, mode: FakeTensorMode) -> tuple[Any, list[Any]]:
    """The graph and its inputs on the GPU: all that names the CPU names the GPU."""
    with mode:
        there = [_there(e) for e in examples]
        for module in graph.modules():
            if isinstance(module, fx.GraphModule):
                _rename(module)
    return graph, there


def _rename(module: Any) -> None:
    for node in module.graph.nodes:
        node.args = fx.node.map_aggregate(node.args, _device)
        node.kwargs = fx.node.map_aggregate(node.kwargs, _device)
        if "val" in node.meta:
            node.meta["val"] = tree_map(_there, node.meta["val"])
        if node.op == "get_attr" and isinstance(
            value := getattr(module, str(node.target), None), torch.Tensor
        ):
            setattr(module, str(node.target), _there(value))
    module.recompile()


def _device(value: Any) -> Any:
    return GPU if isinstance(value, torch.device) else value


def _there(value: Any) -> Any:
    """A tensor without data on the GPU; what is no tensor as it is.  Scalars stay: Inductor passes them by value."""
    if not isinstance(value, torch.Tensor):
        return value
    return torch.empty_strided(value.size(), value.stride(), dtype=value.dtype, device=GPU)
