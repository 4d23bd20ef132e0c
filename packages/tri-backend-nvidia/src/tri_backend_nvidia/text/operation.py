"""An instruction that only computes: the types of its operands, and what becomes of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tri_backend_nvidia.text.syntax import Instruction
from tri_core.api import Unsupported
from tri_core.lazy_dataclasses import dataclass

__all__ = ["Meaning", "Operation", "rest_of", "unknown"]


@dataclass(frozen=True)
class Operation:
    """``compute`` of arrays over threads, one for each of ``inputs`` (PTX types), gives an array, or a tuple for several ``outputs``."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    compute: Callable[..., Any]


#: an instruction's operation, by its modifiers
Meaning = Callable[[Instruction], Operation]


def unknown(instruction: Instruction, why: str = "") -> Unsupported:
    """The error for an instruction whose meaning is not known here."""
    reason = f": {why}" if why else ""
    return Unsupported(
        f"the text level does not know {instruction.name} (PTX line {instruction.line}: {instruction}){reason}",
        location=instruction.location,
        remedy="run the kernel on sim:nvidia:ARCH, the level before LLVM",
    )


def rest_of(instruction: Instruction, *known: str) -> tuple[str, ...]:
    """The modifiers behind the name's first part; Unsupported for one not in ``known`` that is no type (the last one is)."""
    parts = instruction.parts[1:]
    for part in parts[:-1]:
        if part not in known:
            raise unknown(instruction, f".{part}")
    return parts
