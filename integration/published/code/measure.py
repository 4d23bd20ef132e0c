"""What machine code of a kernel takes, and ours of each case."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import tri
from integration.published.code.cases import Case, function_of, source_of
from tri_backend_nvidia.disassembly import sass
from tri_core.occupancy import occupancy
from tri_core.target_selection import resolve

__all__ = ["TARGET", "Figures", "ours"]

TARGET = "nvidia:sm_90a"
_INSTRUCTION = r"\*/\s+(?:@!?U?P\w+ )?"
_COPIES = re.compile(_INSTRUCTION + r"LDGSTS|UTMALDG")
_SPILLS = re.compile(_INSTRUCTION + r"STL(?:\.(64|128))?\b")
_WORD = 32
#: bytes of spills that another version of ptxas may have more
_FEW_SPILLS = 32
_REGISTERS = re.compile(r"REG:(\d+)")


@dataclass(frozen=True)
class Figures:
    """Bytes of ``shared`` memory, ``registers`` of a thread, ``spills`` (bytes of registers stored to memory of the thread's own),
    asynchronous ``copies``, and the ``ctas`` that a multiprocessor has room for.
    """

    shared: int
    registers: int
    spills: int
    copies: int
    ctas: int

    @classmethod
    def of(cls, cubin: bytes, shared: int, registers: int, warps: int) -> Figures:
        """Of the machine code of a kernel for :data:`TARGET`."""
        unit = resolve(TARGET).spec.unit
        assert unit is not None
        text = sass(cubin)
        spilled = sum(int(bits or _WORD) // 8 for bits in _SPILLS.findall(text))
        room = occupancy(unit, warps=warps, registers=registers, shared=shared).blocks
        return cls(shared, registers, spilled, len(_COPIES.findall(text)), room)

    def worse_than(self, record: Mapping[str, int]) -> list[str]:
        """What is worse than in ``record``, in words; registers, and a few spills, are a matter of the version of ptxas."""
        now = asdict(self)
        larger = [n for n, more in (("shared", 0), ("spills", _FEW_SPILLS)) if now[n] > record[n] + more]
        fewer = [n for n in ("copies",) if now[n] < record[n]]
        return [f"{name} {now[name]}, was {record[name]}" for name in (*larger, *fewer)]


def ours(case: Case, packages: Path) -> Figures:
    """Of the kernel of ``case`` as tri compiles it."""
    source = source_of(tri.ASTSource, function_of(case, packages), case)
    made: Any = tri.compile(source, target=TARGET, options=dict(case.options))
    taken = made.metadata.resources
    return Figures.of(made.asm["cubin"], taken["shared"], taken["registers"], case.options["num_warps"])


def registers_of(cubin: Path, cuobjdump: Path) -> int:
    """Registers of a thread, from a cubin that no report of ptxas came with."""
    done = subprocess.run(
        [str(cuobjdump), "-res-usage", str(cubin)], capture_output=True, text=True, timeout=60, check=True
    )
    return max(int(n) for n in _REGISTERS.findall(done.stdout))
