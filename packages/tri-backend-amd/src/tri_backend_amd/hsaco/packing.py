"""Choice of LLVM's SLP vectorizer, which pairs scalar operations: on if it makes a kernel shorter.

MI200 and later compute on two f32 in one instruction, ``v_pk_fma_f32`` and its like, whose operands are neighbouring registers.  What pairs
save may be lost in moves, which only the machine code shows, and where products are rounded to f16 (:mod:`.pairs`), which the kernel shows.  So
a small kernel is compiled both ways; a large one as its text says, and the other way where that spills.
"""

from __future__ import annotations

import re
from dataclasses import replace

from tri_backend_amd.architectures import ARCHITECTURES
from tri_backend_amd.hsaco.pairs import PACKABLE, repeats, saved_by_pairs
from tri_core.api import CodegenReply, CodegenRequest, CodegenService

__all__ = ["LARGE", "generate", "spilt"]

_FAMILIES = frozenset(("cdna2", "cdna3", "cdna4", "cdna5"))
#: characters of LLVM IR from which on a second run costs too much time (about 0.2 s)
LARGE = 100_000
_INSTRUCTION = re.compile(r"\t[a-z]+_")
_LABEL = re.compile(r"(\.\w+):")
_JUMP = re.compile(r"\ts_c?branch\w*\s+(\S+)")
_SPILLED = re.compile(r"\.vgpr_spill_count: *(\d+)")


def generate(service: CodegenService, request: CodegenRequest) -> CodegenReply:
    """The reply to ``request``, with operations paired where that is worth it."""
    if ARCHITECTURES[request.cpu].family not in _FAMILIES or not PACKABLE.search(request.llvm_ir):
        return service.compile(request)
    in_pairs = saved_by_pairs(request.llvm_ir) >= 0
    first = service.compile(replace(request, slp_vectorize=in_pairs))
    if len(request.llvm_ir) > LARGE and not spilt(first.texts["asm"]):
        return first
    return min((first, service.compile(replace(request, slp_vectorize=not in_pairs))), key=_cost)


def _cost(reply: CodegenReply) -> tuple[int, int]:
    """Registers spilt, and instructions that run, of the kernel in the reply's assembly."""
    text = reply.texts["asm"]
    return spilt(text), _instructions_run(text)


def spilt(text: str) -> int:
    """Registers spilt by the kernels in the assembly ``text``."""
    return sum(map(int, _SPILLED.findall(text)))


def _instructions_run(text: str) -> int:
    """Instructions of ``text``, each as often as it runs."""
    lines = text.splitlines()
    times = repeats(lines, _LABEL.match, lambda line: _JUMP.findall(line)[:1])
    return sum(count for line, count in zip(lines, times, strict=True) if _INSTRUCTION.match(line))
