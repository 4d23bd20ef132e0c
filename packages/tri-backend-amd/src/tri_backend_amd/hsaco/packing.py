"""Whether LLVM puts scalar operations in pairs (its SLP vectorizer): where that makes a kernel shorter.

MI200 and later compute on two f32 in one instruction, ``v_pk_fma_f32`` and its like, whose operands are neighbouring registers.  What
pairs save may be lost in moves, which only the machine code shows.  So a small kernel is compiled both ways.
"""

from __future__ import annotations

import re
from dataclasses import replace

from tri_backend_amd.architectures import ARCHITECTURES
from tri_core.api import CodegenReply, CodegenRequest, CodegenService

__all__ = ["generate"]

_FAMILIES = frozenset(("cdna2", "cdna3", "cdna4"))
#: f32 arithmetic that has a packed form
_PACKABLE = re.compile(r"= f(add|sub|mul) .*float|@llvm\.fma\.f32\(")
#: characters of LLVM IR from which on a second run costs too much time (about 0.2 s)
_LARGE = 100_000
_INSTRUCTION = re.compile(r"^\t[a-z]+_", re.MULTILINE)
_SPILLED = re.compile(r"\.vgpr_spill_count: *(\d+)")


def generate(service: CodegenService, request: CodegenRequest) -> CodegenReply:
    """The reply to ``request``, with operations paired where that is worth it."""
    plain = service.compile(request)
    if ARCHITECTURES[request.cpu].family not in _FAMILIES or len(request.llvm_ir) > _LARGE:
        return plain
    if not _PACKABLE.search(request.llvm_ir):
        return plain
    paired = service.compile(replace(request, slp_vectorize=True))
    return min((plain, paired), key=_cost)


def _cost(reply: CodegenReply) -> tuple[int, int]:
    """Registers spilt, and instructions, of the kernel in the reply's assembly."""
    text = reply.texts["asm"]
    return sum(map(int, _SPILLED.findall(text))), len(_INSTRUCTION.findall(text))
