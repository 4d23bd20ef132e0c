"""Errors of kernels that Inductor wrote name the graph's nodes and how to leave tri; those of other kernels are as they were."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tri.compat.triton.graphs import in_graph, nodes_of
from tri_core.errors import CompilationError


def source(name: str, module: str = "torch._inductor.runtime.triton_heuristics") -> Any:
    python = SimpleNamespace(__globals__={"triton_heuristics": ModuleType(module)})
    return SimpleNamespace(fn=SimpleNamespace(fn=python, __name__=name))


def refused(src: Any) -> str:
    with pytest.raises(CompilationError) as caught, in_graph(src):
        raise CompilationError("no", remedy="mend it")
    return str(caught.value)


def test_nodes_and_the_way_out_are_named() -> None:
    reported = refused(source("triton_poi_fused_cos_sin_0"))
    assert "nodes cos_sin (kernel triton_poi_fused_cos_sin_0)" in reported
    assert "remedy: mend it; leave tri for this graph: torch.compile(..., backend='aot_eager')" in reported


def test_a_kernel_of_the_programs_is_refused_everywhere() -> None:
    reported = refused(source("reshaped"))
    assert "node triton_kernel_wrapper of reshaped" in reported
    assert "refused outside of the graph, too" in reported


def test_other_kernels_are_no_graphs() -> None:
    assert nodes_of(source("triton_poi_fused_cos_0", "mine")) is None
    assert nodes_of(object()) is None
    assert refused(object()) == "no\n  remedy: mend it"
