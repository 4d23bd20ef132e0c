"""State of the interpreter, on or off here and now: queried by the language's functions, so it imports
nothing expensive.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tri.interpreter.builder import EagerBuilder

__all__ = ["Request", "current", "forced", "interpret", "running"]


class Request:
    """Request of a ``with tri.interpret(...)`` block: the arrays that kernels reach through addresses.

    ``races``: whether data races are looked for; None for what the knob ``INTERPRET_RACES`` says.
    ``exact``: whether floats are integers modulo a power of two.
    """

    def __init__(self, arrays: tuple[Any, ...], races: bool | None = None, *, exact: bool = False) -> None:
        self.arrays, self.races, self.exact = arrays, races, exact


_current: ContextVar[EagerBuilder | None] = ContextVar("tri_interpreter", default=None)
_forced: ContextVar[Request | None] = ContextVar("tri_interpret", default=None)

#: the builder of the kernel that is being interpreted in this thread or task, or None
current = _current.get
#: the request of the innermost ``with tri.interpret():`` around this launch, or None
forced = _forced.get


@contextmanager
def interpret(*arrays: Any, races: bool | None = None, exact: bool = False) -> Iterator[None]:
    """Launches inside the ``with`` block, in this thread or task, run as Python on NumPy; InterpreterError where a kernel fails.

    ``arrays``: arrays that are no arguments, but that kernels reach through addresses stored in memory.
    ``races``: whether a data race in global memory is an error (KernelDataRace); None: unless ``TRI_INTERPRET_RACES=0``.
    ``exact``: floats are integers of as many bits, modulo a power of two: what ``tri verify --exact`` compares with.
    """
    token = _forced.set(Request(arrays, races, exact=exact))
    try:
        yield
    finally:
        _forced.reset(token)


@contextmanager
def running(builder: EagerBuilder) -> Iterator[None]:
    """Language functions called inside the ``with`` block compute with ``builder``."""
    token = _current.set(builder)
    try:
        yield
    finally:
        _current.reset(token)
