"""Resources of a kernel's machine code, and ours of each case."""

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

__all__ = ["TARGET", "Figures", "ours", "outstanding"]

TARGET = "nvidia:sm_90a"
_INSTRUCTION = r"\*/\s+(?:@!?U?P\w+ )?"
_COPIES = re.compile(_INSTRUCTION + r"LDGSTS|UTMALDG")
_GROUPS = re.compile(_INSTRUCTION + r"LDGDEPBAR")
#: a wait for all but the last so many groups of copies
_WAITS = re.compile(_INSTRUCTION + r"DEPBAR\.LE SB0, 0x([0-9a-f]+)")
_SPILLS = re.compile(_INSTRUCTION + r"STL(?:\.(64|128))?\b")
_WORD = 32
#: bytes of spills that another version of ptxas may have more
_FEW_SPILLS = 32
_REGISTERS = re.compile(r"REG:(\d+)")


@dataclass(frozen=True)
class Figures:
    """Bytes of ``shared`` memory, ``registers`` of a thread, ``spills`` (bytes of registers stored to memory of the thread's own),
    asynchronous ``copies``, those of a thread that stay ``outstanding`` while it waits for older ones (0 without waits by groups),
    and the ``ctas`` that a multiprocessor has room for.
    """

    shared: int
    registers: int
    spills: int
    copies: int
    outstanding: int
    ctas: int

    @classmethod
    def of(cls, cubin: bytes, shared: int, registers: int, warps: int) -> Figures:
        """Of the machine code of a kernel for :data:`TARGET`."""
        unit = resolve(TARGET).spec.unit
        assert unit is not None
        text = sass(cubin)
        spilled = sum(int(bits or _WORD) // 8 for bits in _SPILLS.findall(text))
        room = occupancy(unit, warps=warps, registers=registers, shared=shared).blocks
        return cls(shared, registers, spilled, len(_COPIES.findall(text)), outstanding(text), room)

    def worse_than(self, record: Mapping[str, int]) -> list[str]:
        """Figures that are worse than in ``record``, in words; registers, and a few spills, depend on the
        version of ptxas.
        """
        now = asdict(self)
        larger = [n for n, more in (("shared", 0), ("spills", _FEW_SPILLS)) if now[n] > record[n] + more]
        fewer = [n for n in ("copies", "outstanding") if now[n] < record[n]]
        return [f"{name} {now[name]}, was {record[name]}" for name in (*larger, *fewer)]


def outstanding(text: str) -> int:
    """Asynchronous copies of a thread that the longest wait by groups of SASS ``text`` leaves outstanding, groups taken as equally large."""
    groups = len(_GROUPS.findall(text))
    left = max((int(count, 16) for count in _WAITS.findall(text)), default=0)
    return left * len(_COPIES.findall(text)) // groups if groups else 0


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
