"""Names of Triton's language that this version does not build yet, and what to do meanwhile."""

from __future__ import annotations

__all__ = ["LATER_METHODS", "LATER_NAMES"]

_SCALED = "scale the operands, and use tl.dot"

#: functions of :mod:`tri.language`
LATER_NAMES: dict[str, str] = {
    "dot_scaled": _SCALED,
}

#: methods of :class:`tri.language.tensor`
LATER_METHODS: dict[str, str] = {}
