"""Names of Triton's language that this version does not build yet, and what to do meanwhile."""

from __future__ import annotations

__all__ = ["LATER_METHODS", "LATER_NAMES"]

#: functions of :mod:`tri.language`
LATER_NAMES: dict[str, str] = {}

#: methods of :class:`tri.language.tensor`
LATER_METHODS: dict[str, str] = {}
