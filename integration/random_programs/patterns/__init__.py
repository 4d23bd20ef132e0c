"""All patterns."""

from __future__ import annotations

from integration.random_programs.patterns.flags import GridBarrier, LookBack, Partials, PingPong
from integration.random_programs.patterns.locks import Lock, Ticket, Turns
from integration.random_programs.patterns.shared import Atomics, Queue, Rows
from integration.random_programs.patterns.together import WorkUntil
from integration.random_programs.program import Pattern

__all__ = ["LATER", "PATTERNS"]

_ALL: tuple[Pattern, ...] = (
    Lock(), Turns(), Ticket(), Partials(), GridBarrier(), PingPong(), Atomics(), Queue(), Rows(),
)  # fmt: skip
#: those that came later, drawn by themselves: kernels of a seed without one stay as they were
LATER: dict[str, Pattern] = {pattern.name: pattern for pattern in (LookBack(), WorkUntil())}
PATTERNS: dict[str, Pattern] = {pattern.name: pattern for pattern in _ALL} | LATER
