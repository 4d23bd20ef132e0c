"""Cycles of an iteration of a steady loop: published rates put together, without a GPU."""

from __future__ import annotations

from tri_backend_amd.cycles.alternation import ahead_of
from tri_backend_amd.cycles.assembly import alternates, steps_of
from tri_backend_amd.cycles.chips import CHIPS, Chip
from tri_backend_amd.cycles.loops import innermost, loop_estimates
from tri_backend_amd.cycles.model import Estimate, estimate
from tri_backend_amd.cycles.steps import Kind, Step

__all__ = [
    "CHIPS",
    "Chip",
    "Estimate",
    "Kind",
    "Step",
    "ahead_of",
    "alternates",
    "estimate",
    "innermost",
    "loop_estimates",
    "steps_of",
]
