"""Names of Triton's language that this version does not build yet, and what to do meanwhile."""

from __future__ import annotations

__all__ = ["LATER_METHODS", "LATER_NAMES"]

_DESCRIPTORS = "load through a block of pointers with a mask"
_SCALED = "scale the operands, and use tl.dot"

#: functions of :mod:`tri.language`
LATER_NAMES: dict[str, str] = {
    "advance": _DESCRIPTORS,
    "dot_scaled": _SCALED,
    "make_block_ptr": _DESCRIPTORS,
}

#: methods of :class:`tri.language.tensor`
LATER_METHODS: dict[str, str] = {name: LATER_NAMES[name] for name in ("advance",)}
