"""All patterns."""

from __future__ import annotations

from integration.random_programs.patterns.flags import GridBarrier, Partials, PingPong
from integration.random_programs.patterns.locks import Lock, Ticket, Turns
from integration.random_programs.patterns.shared import Atomics, Queue, Rows
from integration.random_programs.program import Pattern

__all__ = ["PATTERNS"]

_ALL: tuple[Pattern, ...] = (
    Lock(), Turns(), Ticket(), Partials(), GridBarrier(), PingPong(), Atomics(), Queue(), Rows(),
)  # fmt: skip
PATTERNS: dict[str, Pattern] = {pattern.name: pattern for pattern in _ALL}
