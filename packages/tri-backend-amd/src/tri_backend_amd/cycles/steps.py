"""Instruction classes for the estimate of cycles."""

from __future__ import annotations

from enum import Enum, auto

from tri_core.lazy_dataclasses import dataclass

__all__ = ["Kind", "Step"]


class Kind(Enum):
    """Part of a compute unit that an instruction keeps busy."""

    MATRIX = auto()
    VECTOR = auto()
    PACKED = auto()
    TRANSCENDENTAL = auto()
    SCALAR = auto()
    READ = auto()
    WRITE = auto()
    LOAD = auto()
    WAIT = auto()
    BARRIER = auto()


@dataclass(frozen=True)
class Step:
    """One instruction.

    ``passes`` of the matrix unit, of four cycles each; ``source``: bytes a lane of its wider operand of A and B; ``bits`` a lane of an access;
    ``ways``: how many times the cycles an access of LDS takes on account of conflicts; ``loads``, ``accesses``: what may be under way after a
    wait, of global memory and of LDS (-1: any number); ``times``: slots that it takes to issue.
    """

    kind: Kind
    passes: int = 0
    source: int = 0
    bits: int = 128
    ways: float = 1.0
    loads: int = -1
    accesses: int = -1
    times: int = 1
