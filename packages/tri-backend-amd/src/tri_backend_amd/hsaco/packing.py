"""Whether LLVM puts scalar operations in pairs (its SLP vectorizer): where that makes a kernel shorter.

MI200 and later compute on two f32 in one instruction, ``v_pk_fma_f32`` and its like, whose operands are neighbouring registers.  What
pairs save may be lost in moves, which only the machine code shows.  So a small kernel is compiled both ways; a large one in pairs,
and plainly where these spill.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import accumulate

from tri_backend_amd.architectures import ARCHITECTURES
from tri_core.api import CodegenReply, CodegenRequest, CodegenService

__all__ = ["generate"]

_FAMILIES = frozenset(("cdna2", "cdna3", "cdna4"))
#: f32 arithmetic that has a packed form
_PACKABLE = re.compile(r"= f(add|sub|mul) .*float|@llvm\.fma\.f32\(")
#: characters of LLVM IR from which on a second run costs too much time (about 0.2 s)
_LARGE = 100_000
#: how often a loop is taken to run, for each time that what it is in does
_TRIPS = 8
_INSTRUCTION = re.compile(r"\t[a-z]+_")
_LABEL = re.compile(r"(\.\w+):")
_JUMP = re.compile(r"\ts_c?branch\w*\s+(\S+)")
_SPILLED = re.compile(r"\.vgpr_spill_count: *(\d+)")


def generate(service: CodegenService, request: CodegenRequest) -> CodegenReply:
    """The reply to ``request``, with operations paired where that is worth it."""
    if ARCHITECTURES[request.cpu].family not in _FAMILIES or not _PACKABLE.search(request.llvm_ir):
        return service.compile(request)
    paired = service.compile(replace(request, slp_vectorize=True))
    if len(request.llvm_ir) > _LARGE and not _spilt(paired.texts["asm"]):
        return paired
    return min((service.compile(request), paired), key=_cost)


def _cost(reply: CodegenReply) -> tuple[int, int]:
    """Registers spilt, and instructions that run, of the kernel in the reply's assembly."""
    text = reply.texts["asm"]
    return _spilt(text), _instructions_run(text)


def _spilt(text: str) -> int:
    return sum(map(int, _SPILLED.findall(text)))


def _instructions_run(text: str) -> int:
    """Instructions of ``text``, those of a loop (what lies between a jump back and its label) times its trips."""
    lines = text.splitlines()
    labels = {found[1]: number for number, line in enumerate(lines) if (found := _LABEL.match(line))}
    steps = [0] * (len(lines) + 1)
    for number, line in enumerate(lines):
        found = _JUMP.match(line)
        if found and labels.get(found[1], len(lines)) < number:
            steps[labels[found[1]]] += 1
            steps[number + 1] -= 1
    depths = accumulate(steps)
    return sum(_TRIPS**depth for line, depth in zip(lines, depths, strict=False) if _INSTRUCTION.match(line))
