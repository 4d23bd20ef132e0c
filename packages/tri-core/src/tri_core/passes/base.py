"""Base of passes: see :class:`tri_core.pipeline.Pass`."""

from __future__ import annotations

from tri_core.pipeline import Pass

__all__ = ["Pass"]
