"""Names of ``tri.testing`` that are NVIDIA's: its management tool, clocks, graphs and matrix library."""

from __future__ import annotations

import functools
import gc
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tri_core.api import ToolchainError, Unsupported

__all__ = ["cublas", "cuda_graph_without_gc", "cuda_memcheck", "nvsmi", "set_gpu_clock"]

_TOOL = "nvidia-smi"


def _smi(*arguments: str) -> str:
    path = shutil.which(_TOOL)
    if path is None:
        raise ToolchainError(
            f"{_TOOL} is not on the PATH",
            tool=_TOOL,
            returncode=None,
            log="",
            remedy="install NVIDIA's driver with its tools",
        )
    done = subprocess.run([path, *arguments], capture_output=True, text=True, timeout=60)
    if done.returncode:
        raise ToolchainError(
            f"{_TOOL} {' '.join(arguments)} failed: {done.stdout.strip() or done.stderr.strip()}",
            tool=_TOOL,
            returncode=done.returncode,
            log=done.stdout + done.stderr,
        )
    return done.stdout


def nvsmi(attrs: Sequence[str]) -> list[int]:
    """Values of the first GPU, such as ``clocks.max.sm``, as whole numbers."""
    text = _smi("-i", "0", f"--query-gpu={','.join(attrs)}", "--format=csv,noheader,nounits")
    return [int(float(value)) for value in text.split("\n")[0].split(",")]


@contextmanager
def set_gpu_clock(ref_sm_clock: int = 1350, ref_mem_clock: int = 1215) -> Iterator[tuple[int, int]]:
    """Lock the clocks of the first GPU (MHz) inside the ``with`` block; needs the rights to."""
    try:
        _smi("-i", "0", "-pm", "1")
        _smi("-i", "0", f"--lock-gpu-clocks={ref_sm_clock},{ref_sm_clock}")
        _smi("-i", "0", f"--lock-memory-clocks={ref_mem_clock},{ref_mem_clock}")
        yield ref_sm_clock, ref_mem_clock
    finally:
        _smi("-i", "0", "-rgc")
        _smi("-i", "0", "-rmc")


@contextmanager
def cuda_graph_without_gc(*args: Any, **kwargs: Any) -> Iterator[None]:
    """PyTorch's ``torch.cuda.graph`` with garbage collection off: freeing memory would break the recording."""
    import importlib

    torch = importlib.import_module("torch")
    enabled = gc.isenabled()
    gc.disable()
    try:
        with torch.cuda.graph(*args, **kwargs):
            yield
    finally:
        if enabled:
            gc.enable()


def cuda_memcheck(**target_kwargs: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Refused when the decorated test runs: the checker takes a whole program."""

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(test)
        def refuse(*args: Any, **kwargs: Any) -> Any:
            raise Unsupported(
                f"{test.__name__} cannot be checked from inside of its own process",
                remedy="run it under compute-sanitizer",
            )

        return refuse

    del target_kwargs
    return decorate


def cublas() -> Any:
    """Refused: the matrix library is reached through an array framework."""
    raise Unsupported("tri does not bind cuBLAS", remedy="call torch.matmul, or cupy.matmul")
