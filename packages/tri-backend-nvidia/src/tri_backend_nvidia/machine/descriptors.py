"""Matrix descriptors within inline assembly: 64 bits of a low word, which moves with the step, and a constant high word.

Each step has registers of its own.  ptxas from 13.3 on takes a matrix instruction for a second one of its predecessor, and drops it, where
both name the same registers, although these are written in between.
"""

from __future__ import annotations

__all__ = ["descriptor", "descriptor_registers"]


def descriptor_registers(operands: str, steps: int) -> list[str]:
    """Declarations of ``da0``, ``da1``, ... and their low words for each of ``operands`` (``"ab"``) and ``steps`` instructions."""
    return [f".reg .b64 d{name}<{steps}>; .reg .b32 l{name}<{steps}>;" for name in operands]


def descriptor(name: str, step: int, operand: int, offset: int, high: int) -> str:
    """Instructions that set ``d<name><step>`` to operand ``operand``, the low word, plus ``offset``, and to ``high``."""
    low = f"l{name}{step}"
    return f"add.u32 {low}, ${operand}, {offset}; mov.b64 d{name}{step}, {{{low}, {high}}};"
