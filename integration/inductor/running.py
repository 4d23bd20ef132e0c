"""One case in this process: compiled by Inductor's workers, and by nobody else, compared with eager."""

# mypy: disable-error-code="import-not-found,import-untyped,no-untyped-call,misc"

from __future__ import annotations

import importlib
import time
from typing import Any

import torch
from torch._inductor import config, metrics
from torch._inductor.async_compile import AsyncCompile

from integration.inductor.models import CASES, Case
from tri_core.lazy_dataclasses import dataclass

__all__ = ["Outcome", "run", "start_workers"]

WORKERS = 2
TOLERANCE = 1e-4
#: seconds that the pool may take to be ready
PATIENCE = 300


@dataclass(frozen=True)
class Outcome:
    """Result of a case: the largest relative error, kernels, seconds of the first step, ms of the later ones."""

    case: str
    error: float
    kernels: int
    first: float
    steady: float

    @property
    def is_right(self) -> bool:
        """True if it is eager's result."""
        return self.error < TOLERANCE


def start_workers(*, caches: bool = False, alone: bool = True) -> None:
    """Have kernels of CPU tensors compiled by Inductor's workers, which are ready: AssertionError if not.

    ``caches``: use Inductor's; ``alone``: this process itself may compile nothing.
    """
    config.cpu_backend = "triton"
    config.compile_threads = WORKERS
    config.force_disable_caches = not caches
    AsyncCompile.wait_pool_ready(PATIENCE)
    assert AsyncCompile.use_process_pool(), "Inductor's workers are not ready"
    if not alone:
        return
    triton: Any = importlib.import_module("triton")

    def refused(*args: Any, **options: Any) -> Any:
        raise AssertionError("a kernel was compiled in the process itself, and not by a worker")

    triton.compile = refused


def run(name: str) -> Outcome:
    """The outcome of case ``name``; :func:`start_workers` has been called."""
    torch.manual_seed(0)
    found = CASES[name]()
    metrics.reset()
    torch.compiler.reset()
    with config.patch(dict(found.settings)):
        return _compared(name, found)


def _compared(name: str, found: Case) -> Outcome:
    step = torch.compile(found.step, dynamic=found.dynamic or None, fullgraph=found.whole)
    begin = time.perf_counter()
    error = _error(found, step, found.inputs)
    first = time.perf_counter() - begin
    kernels = metrics.generated_kernel_count
    error = max([error, *(_error(found, step, inputs) for inputs in found.further)])
    assert kernels or not config.force_disable_caches, f"{name} has no kernel"
    return Outcome(name, error, kernels, first, _steady(step, found.inputs))


def _error(found: Case, step: Any, inputs: tuple[Any, ...]) -> float:
    got = _tuple(step(*inputs))
    mask = (got[-1].detach(),) if found.eager is not None else ()
    wanted = _tuple((found.wanted or found.eager or found.step)(*inputs, *mask))
    pairs = [
        *zip(got, wanted, strict=True),
        *zip(_gradients(got, inputs), _gradients(wanted, inputs), strict=True),
    ]
    return max(_relative(one, other) for one, other in pairs)


def _tuple(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else (results,)


def _gradients(results: tuple[Any, ...], inputs: tuple[Any, ...]) -> list[Any]:
    """Of a sum over the results, with weights that differ."""
    total = sum(
        (r * torch.arange(1, r.numel() + 1).view(r.shape).cos()).sum() for r in results if r.requires_grad
    )
    asked = [i for i in inputs if i.requires_grad]
    return list(torch.autograd.grad(total, asked)) if asked else []


def _relative(got: Any, wanted: Any) -> float:
    difference = (got - wanted).detach().abs().max()
    return float(difference / wanted.detach().abs().max().clamp_min(1e-30))


def _steady(step: Any, inputs: tuple[Any, ...]) -> float:
    """The least of some steps, in ms."""
    with torch.no_grad():
        step(*inputs)
        times = []
        for _ in range(20):
            begin = time.perf_counter()
            step(*inputs)
            times.append(time.perf_counter() - begin)
    return 1e3 * min(times)
