"""Kernels that PyTorch's Inductor wrote into a file: their errors name the graph's nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tri_core.errors import TriError

__all__ = ["in_graph", "nodes_of"]

_HEURISTICS = "torch._inductor.runtime.triton_heuristics"
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
    """A block that compiles ``src``: errors of tri's say whose graph's nodes it is and how to leave tri."""
    nodes = nodes_of(src)
    if nodes is None:
        yield
        return
    try:
        yield
    except TriError as error:
        own = nodes.startswith("node triton_kernel_wrapper")
        error.during = ", ".join(filter(None, (error.during, f"PyTorch's graph, {nodes}")))
        error.remedy = "; ".join(filter(None, (error.remedy, _OWN if own else _LEAVE)))
        raise
