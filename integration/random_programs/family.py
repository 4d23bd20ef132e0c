"""The kernels of this package as a family that is swept."""

from __future__ import annotations

from integration.random_kernels.family import Family
from integration.random_programs.drawing import seeded
from integration.random_programs.persist import save
from integration.random_programs.running import difference, run, shrunk

__all__ = ["PROGRAMS"]

PROGRAMS = Family("random kernels of several programs", seeded, run, difference, shrunk, save)
