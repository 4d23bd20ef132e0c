"""Attributes that one pass leaves on an op for another one."""

from __future__ import annotations

__all__ = ["LATE"]

#: on loops in which the buffers of an iteration stay untouched during the next one: ``pipeline`` writes it, ``sink-dot-waits`` removes it
LATE = "ttg.late_dots"
