"""Loops in machine code, and ours of each case."""

from __future__ import annotations

import importlib

import tri
from integration.steady_loops.cases import Case, source_of
from tri_backend_nvidia.disassembly import loops
from tri_core.compiler import CompiledKernel

__all__ = ["compiled", "matmuls", "steady"]


def matmuls(sass: str) -> list[list[str]]:
    """The loops that multiply on tensor cores."""
    return [body for body in loops(sass) if any("GMMA" in x or "HMMA" in x for x in body)]


def steady(sass: str) -> list[str]:
    """The shortest of those loops: innermost, and without a mask where another one has it."""
    return min(matmuls(sass), key=len)


def compiled(case: Case) -> CompiledKernel:
    """Ours."""
    kernel = getattr(importlib.import_module(f"integration.kernels.{case.module}"), case.kernel)
    options = {"num_warps": case.warps, "num_stages": case.stages, **case.schedule}
    return tri.compile(source_of(tri.ASTSource, kernel, case), target="nvidia:sm_90a", options=options)
