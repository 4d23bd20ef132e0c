"""Loops in machine code, and ours of each case."""

from __future__ import annotations

import importlib
import re

import tri
from integration.steady_loops.cases import Case, source_of

__all__ = ["compiled", "loops", "steady"]

_LABEL = re.compile(r"\s*(\.L_x_\d+):")
_INSTRUCTION = re.compile(r"\s*/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;")
#: a loop's branch back has a condition; one without comes from a wait that was put behind the code
_BRANCH = re.compile(r"@!?U?P\d.*\bBRA.*`\((\.L_x_\d+)\)")


def loops(sass: str) -> list[list[str]]:
    """The instructions of each piece of code that ends in a branch back and multiplies on tensor cores."""
    labels: dict[str, int] = {}
    code: list[str] = []
    found = []
    for line in sass.splitlines():
        if label := _LABEL.match(line):
            labels[label[1]] = len(code)
        elif instruction := _INSTRUCTION.match(line):
            code.append(instruction[1])
            target = _BRANCH.search(instruction[1])
            if target and target[1] in labels:
                body = code[labels[target[1]] :]
                found += [body] if any("GMMA" in x or "HMMA" in x for x in body) else []
    return found


def steady(sass: str) -> list[str]:
    """The shortest of the loops: innermost, and without a mask where another one has it."""
    return min(loops(sass), key=len)


def compiled(case: Case) -> tri.CompiledKernel:
    """Ours."""
    kernel = getattr(importlib.import_module(f"integration.kernels.{case.module}"), case.kernel)
    options = {"num_warps": case.warps, "num_stages": case.stages, **case.schedule}
    return tri.compile(source_of(tri.ASTSource, kernel, case), target="nvidia:sm_90a", options=options)
