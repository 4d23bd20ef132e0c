"""SASS, what ptxas makes of PTX, run without a card: an evaluator of instructions, and the simulator's levels of each ptxas at hand."""

from __future__ import annotations

from tri_backend_nvidia.sass.program import SassProgram

__all__ = ["SassProgram"]
