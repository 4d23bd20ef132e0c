"""Kernels that PyTorch's Inductor wrote into a file: their errors name the graph's nodes, and in compile workers they have a time limit."""

from __future__ import annotations

import faulthandler
import multiprocessing
import re
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tri_core import knobs
from tri_core.errors import CompilationError, SourceLocation, TriError

__all__ = ["in_graph", "nodes_of"]

_HEURISTICS = "torch._inductor.runtime.triton_heuristics"
#: seconds past its limit that a compile may go on in native code, which no signal interrupts, before its worker ends
_GRACE = 30.0
_LEAVE = (
    "leave tri for this graph: torch.compile(..., backend='aot_eager'), or torch.compiler.disable on the function around it; "
    "for CPU tensors torch._inductor.config.cpu_backend = 'cpp'"
)
_OWN = "the program launches this kernel itself, so that it is refused outside of the graph, too"


def nodes_of(src: Any) -> str | None:
    """The graph's nodes that the kernel of ``src`` computes, in words; None for kernels that Inductor has not written into its files."""
    function = getattr(src, "fn", None)
    python = getattr(function, "fn", None)
    heuristics = getattr(python, "__globals__", {}).get("triton_heuristics")
    if getattr(heuristics, "__name__", None) != _HEURISTICS:
        return None
    name = str(getattr(function, "__name__", ""))
    fused = re.fullmatch(r"triton_[a-z]+_fused_(\w+?)(_\d+)?", name)
    if fused is not None:
        return f"nodes {fused[1]} (kernel {name})"
    return f"node {name if name.startswith('triton_') else f'triton_kernel_wrapper of {name}'}"


@contextmanager
def in_graph(src: Any) -> Iterator[None]:
    """A block that compiles ``src``: errors of tri's say whose graph's nodes it is and how to leave tri; a worker's compile is limited."""
    nodes = nodes_of(src)
    if nodes is None:
        yield
        return
    try:
        with _limit(src):
            yield
    except TriError as error:
        own = nodes.startswith("node triton_kernel_wrapper")
        error.during = ", ".join(filter(None, (error.during, f"PyTorch's graph, {nodes}")))
        error.remedy = "; ".join(filter(None, (error.remedy, _OWN if own else _LEAVE)))
        raise


@contextmanager
def _limit(src: Any) -> Iterator[None]:
    """In a worker, CompilationError after ``TRI_COMPILE_TIMEOUT`` seconds; one that does not come back to Python is ended.

    PyTorch waits for its workers for ever, and tells of one that ended.
    """
    seconds = knobs.get("COMPILE_TIMEOUT")
    if seconds <= 0 or not _can_be_limited():
        yield
        return

    def late(*_: object) -> None:
        raise CompilationError(
            f"{src.fn.__name__} has been compiling for {seconds:g} s in a compile worker of PyTorch's",
            remedy="TRI_COMPILE_TIMEOUT allows more seconds (0: any number); smaller blocks make less code",
            location=_place(src.fn),
        )

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    faulthandler.dump_traceback_later(seconds + _GRACE, exit=True, file=sys.__stderr__ or 2)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        faulthandler.cancel_dump_traceback_later()
        signal.signal(signal.SIGALRM, before)


def _can_be_limited() -> bool:
    """True if this process was forked or spawned by another, in the thread of signals, with its alarm free."""
    return (
        multiprocessing.parent_process() is not None
        and threading.current_thread() is threading.main_thread()
        and hasattr(signal, "setitimer")
        and signal.getsignal(signal.SIGALRM) == signal.SIG_DFL
        and signal.getitimer(signal.ITIMER_REAL)[0] == 0
    )


def _place(function: Any) -> SourceLocation | None:
    """Source location of the JIT function ``function``; None for one without a source."""
    try:
        source = function.source
        return source.locate(source.tree)
    except (AttributeError, OSError, TriError):
        return None
