"""The simulator: runs the last level before LLVM text, ``llvm`` plus machine ops, on NumPy, a CTA in lock step."""

from __future__ import annotations

from tri_runtime.simulator.cta import CTA, External, Program
from tri_runtime.simulator.launch import simulate
from tri_runtime.simulator.memory import Memory, RaceChecker

__all__ = ["CTA", "External", "Memory", "Program", "RaceChecker", "simulate"]
