"""One model by one compiler in a process of its own: it compiles at once, and takes times when it is told to.

It reads words from its input (``time SECONDS``, ``kernels``, ``eager SECONDS``, ``quit``) and answers each by a line of JSON on
the descriptor that it is given; the first line comes unasked: what compiling and comparing gave.
"""

# mypy: disable-error-code="import-not-found,import-untyped,no-untyped-call,misc"

from __future__ import annotations

import gc
import importlib
import json
import os
import sys
import time
import traceback
from typing import Any

from tri_core.lazy_dataclasses import dataclass

__all__ = ["Job", "serve"]


@dataclass(frozen=True)
class Job:
    """The work of the process: ``model`` in ``dtype`` on ``device`` by ``compiler`` (tri, triton or cpp) in ``mode``."""

    model: str
    compiler: str
    device: str
    dtype: str
    mode: str
    small: bool
    processes: int


def serve(job: Job, descriptor: int) -> None:
    """Compile, tell, and answer until the input ends."""
    with os.fdopen(descriptor, "w", buffering=1) as answers:
        try:
            _answer(job, answers)
        except Exception as error:
            print(json.dumps({"error": _reported(error)}), file=answers)


def _answer(job: Job, answers: Any) -> None:
    if job.compiler == "tri":
        importlib.import_module("tri.compat.triton").install()
    import torch

    from integration.inductor.whole.step import Step, kernel_times, milliseconds

    _prepare(job)
    dtype = getattr(torch, job.dtype)
    compiled, eager, first = _compiled(job, dtype)
    print(json.dumps(first), file=answers)
    steps: dict[str, Step] = {"time": compiled, "eager": eager}
    for line in sys.stdin:
        word, *rest = line.split()
        if word == "quit":
            return
        try:
            if word == "kernels":
                answer: dict[str, Any] = {"kernels": kernel_times(compiled)}
            else:
                answer = {"ms": milliseconds(steps[word], job.device, float(rest[0]))}
        except Exception as error:
            answer = {"error": _reported(error)}
        print(json.dumps(answer), file=answers)


def _prepare(job: Job) -> None:
    """Inductor's settings and its workers, as they are by default, the workers ready; libraries of the device loaded."""
    import torch
    from torch._inductor import config
    from torch._inductor.async_compile import AsyncCompile

    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    config.compile_threads = job.processes
    if job.device == "cpu":
        config.cpu_backend = "cpp" if job.compiler == "cpp" else "triton"
    else:
        x = torch.ones(64, 64, device=job.device, dtype=getattr(torch, job.dtype))
        torch.nn.functional.conv2d((x @ x).view(1, 64, 8, 8), x.view(64, 64, 1, 1)).sum().item()
    importlib.import_module("torch._inductor.compile_fx")
    if job.processes > 1 and job.compiler != "cpp":
        AsyncCompile.wait_pool_ready(120)


def _compiled(job: Job, dtype: Any) -> tuple[Any, Any, dict[str, Any]]:
    """The compiled step and eager's, after their first run, and what came out."""
    import torch
    from torch._dynamo.utils import counters
    from torch._inductor import metrics

    from integration.inductor.whole.models import MODELS
    from integration.inductor.whole.step import WIDER, Distance, Step

    model = MODELS[job.model][1](job.small)
    eager = Step.made(model, job.device, dtype)
    theirs = eager.results()
    wide = Step.made(model, job.device, WIDER[dtype]).results()
    step = Step.made(model, job.device, dtype, compiled=job.mode)
    begin = time.perf_counter()
    step()
    if job.device == "cuda":
        torch.cuda.synchronize()
    cold = time.perf_counter() - begin
    distance = Distance.between(step.results(), theirs, wide, dtype)
    return step, eager, {
        "right": not distance.bad,
        "error": distance.compiled,
        "eager error": distance.eager,
        "bad": distance.bad[:8],
        "cold s": cold,
        "kernels": metrics.generated_kernel_count,
        "graph breaks": sum(counters["graph_break"].values()),
        "static": _static(),
        "torch": torch.__version__,
    }  # fmt: skip


def _static() -> list[int]:
    """Number of launchers of Inductor's that are its static ones, and of all."""
    from torch._inductor.runtime.triton_heuristics import CachingAutotuner

    # by their types: of what lies there, proxies whose object is gone can be asked for nothing
    tuners: list[Any] = [o for o in gc.get_objects() if issubclass(type(o), CachingAutotuner)]
    launchers = [one for tuner in tuners for one in tuner.launchers]
    return [sum(bool(getattr(one, "_is_static", False)) for one in launchers), len(launchers)]


def _reported(error: BaseException) -> dict[str, Any]:
    """The error and that which it comes from, with the innermost frames."""
    inner = error
    while (cause := inner.__cause__ or inner.__context__) is not None:
        inner = cause
    frames = [f"{f.filename}:{f.lineno} {f.name}" for f in traceback.extract_tb(inner.__traceback__)[-5:]]
    return {
        "said": f"{type(error).__name__}: {error}"[-1500:],
        "from": f"{type(inner).__name__}: {inner}"[:1500],
        "at": frames,
    }
