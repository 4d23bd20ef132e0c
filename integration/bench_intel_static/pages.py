"""The page of the figures, and the table of a device's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from integration.bench_intel_static import goals
from integration.bench_intel_static.figures import Figures

__all__ = ["PAGE", "page", "table"]

PAGE = Path(__file__).parents[2] / "docs" / "measurements" / "intel.md"

_INTRODUCTION = """# Intel GPUs without one

`nox -s bench-intel-static -- --record` writes this page and what the tests hold. Counted is a step of k: the
innermost loop that has both DPAS and block loads (for dg2, which has no blocks, DPAS). *operations* are
SPIR-V's, *instructions* the GPU's, by the driver's own compiler (IGC, through `ocloc`); *moves* are
copies (`mov`, whether it converts or not, and messages) of what a block load gave or of what was computed of
it, on its way to DPAS: the arithmetic of a conversion is none; *ahead* is the distance of prefetches in
iterations; *spills*, *local* and *private* memory are bytes, of the register mode that spills least. Kernels
are those of `integration/kernels`; fp32 is multiplied as tf32. *SIMD* is the instructions of a step by
`path="simd"`, in the register mode that spills less; a dash where that path refuses the kernel. It is counted
on pvc. *Unrolled* is the DPAS of a step of machine code where that is several of SPIR-V's, and *per_dpas* of
the goals a step's instructions for each DPAS.

*Sketch* is what a kernel by hand takes where there is one. No kernel should spill; those that do, and why,
are the last rows of the goals.
"""

_COLUMNS = ("operations", "instructions", "dpas", "loads", "moves", "distance", "local", "registers", "spills", "private", "bytes", "simd", "simd_spills", "unrolled")  # fmt: skip
_TITLES = {
    "dpas": "DPAS",
    "distance": "ahead",
    "bytes": "module",
    "simd": "SIMD",
    "simd_spills": "its spills",
}


def page(figures: Mapping[str, Mapping[str, Figures]]) -> str:
    """All of it, a table for each device."""
    devices = list(dict.fromkeys(d for own in figures.values() for d in own))
    parts = [_INTRODUCTION, "## Goals\n", goals.table(figures) + "\n"]
    for device in devices:
        rows = [(name, own[device]) for name, own in figures.items() if device in own]
        parts += [f"## {device}\n", table(rows) + "\n"]
    return "\n".join(parts)


def table(rows: Sequence[tuple[str, Figures]]) -> str:
    """A row for each case; a column for each figure that some case has."""
    columns = [c for c in _COLUMNS if any(getattr(figures, c) >= 0 for _, figures in rows)]
    lines = [
        "| kernel | " + " | ".join(_TITLES.get(c, c) for c in columns) + " |",
        "| --- " + "| ---: " * len(columns) + "|",
    ]
    for name, figures in rows:
        cells = (getattr(figures, c) for c in columns)
        lines.append(f"| {name} | " + " | ".join("-" if n < 0 else str(n) for n in cells) + " |")
    return "\n".join(lines)
