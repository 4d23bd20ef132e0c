"""The simulator: runs the last level before LLVM text, ``llvm`` plus machine ops, on NumPy, a CTA at a time."""

from __future__ import annotations

from tri_runtime.simulator.clocks import Clocks
from tri_runtime.simulator.cta import CTA, Executable, as_cta
from tri_runtime.simulator.launch import Machine, simulate
from tri_runtime.simulator.memory import Access, Allocation, Memory
from tri_runtime.simulator.program import External, Program
from tri_runtime.simulator.scene import Scene, Site
from tri_runtime.simulator.subword import SubwordMemory
from tri_runtime.simulator.tracking import Tracker

__all__ = [
    "CTA",
    "Access",
    "Allocation",
    "Clocks",
    "Executable",
    "External",
    "Machine",
    "Memory",
    "Program",
    "Scene",
    "Site",
    "SubwordMemory",
    "Tracker",
    "as_cta",
    "simulate",
]
