"""Composition of a kernel's assembly, counted alike for either compiler."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass

from tri_backend_amd.cycles import innermost

__all__ = ["Counts", "counted", "instructions", "steady_loop"]

_LINE = re.compile(r"[\w.$]+:$|(?:s|v|ds|global|buffer|flat|scratch)_")
_MATRIX = ("v_mfma", "v_wmma")
_LOADS = ("buffer_load", "global_load", "flat_load")
#: directives of code object metadata, as LLVM writes them in assembly
_FACTS = {
    "vgprs": r"\.vgpr_count:\s*(\d+)",
    "agprs": r"\.agpr_count:\s*(\d+)",
    "spills": r"\.vgpr_spill_count:\s*(\d+)",
    "lds": r"\.group_segment_fixed_size:\s*(\d+)",
    "scratch": r"\.private_segment_fixed_size:\s*(\d+)",
}

#: an instruction that does nothing, of which alignment is made
_PADDING = "s_nop 0"


@dataclass(frozen=True)
class Counts:
    """``loop``: instructions of a K step (0 without a loop of matrix instructions), ``total``: of the kernel.

    ``matrix``: matrix instructions of the loop; ``vgprs`` with ``agprs`` among them where a chip unifies both; ``lds`` bytes; ``waits``:
    ``s_waitcnt vmcnt(0)`` in the loop; ``wide``: percent of the loop's (else the kernel's) memory accesses that have 128 bits; ``spills``:
    registers; ``scratch``: bytes a lane.
    """

    loop: int
    total: int
    matrix: int
    vgprs: int
    agprs: int
    lds: int
    waits: int
    wide: int
    spills: int
    scratch: int

    def as_dict(self) -> dict[str, int]:
        return asdict(self)


def instructions(assembly: str) -> list[str]:
    """Labels and instructions of the kernel but its end, without comments and directives: blocks may stand behind the end, too."""
    lines = (re.split(r"[;#]|//", line)[0].strip() for line in assembly.split(".Lfunc_end")[0].splitlines())
    return [line for line in lines if _LINE.match(line) and line != "s_endpgm"]


def steady_loop(lines: list[str]) -> list[str]:
    """The instructions of the innermost loop with the most matrix instructions; of several such the shortest that loads from memory, if any does."""
    bodies = [
        [line for line in lines[first : last + 1] if line[-1] != ":"] for first, last in innermost(lines)
    ]
    made = [body for body in bodies if _matrix(body)]
    return min(made, key=lambda body: (-_matrix(body), not _loads(body), len(body)), default=[])


def _loads(body: list[str]) -> bool:
    return any(line.startswith(_LOADS) for line in body)


def _matrix(body: list[str]) -> int:
    return sum(line.startswith(_MATRIX) for line in body)


def _without_padding(lines: list[str]) -> list[str]:
    """``lines`` without what aligns the labels behind it."""
    kept: list[str] = []
    for line in lines:
        if line[-1] == ":":
            while kept and kept[-1] == _PADDING:
                kept.pop()
        kept.append(line)
    return kept


def counted(assembly: str) -> Counts:
    """The counts of one kernel."""
    lines = _without_padding(instructions(assembly))
    loop = steady_loop(lines)
    body = [line for line in lines if line[-1] != ":"]
    accesses = [
        line for line in loop or body if re.match(r"(ds_(read|write|load|store)|buffer_|global_)", line)
    ]
    wide = [
        line for line in accesses if re.match(r"\w+_(b128|dwordx4|b64x2)|ds_(read|write)2(st64)?_b64", line)
    ]
    facts = {name: max(map(int, re.findall(found, assembly)), default=0) for name, found in _FACTS.items()}
    return Counts(
        loop=len(loop),
        total=len(body),
        matrix=_matrix(loop),
        waits=sum(bool(re.match(r"s_waitcnt .*vmcnt\(0\)|s_wait_loadcnt 0x0", line)) for line in loop),
        wide=100 * len(wide) // max(len(accesses), 1),
        **facts,
    )
