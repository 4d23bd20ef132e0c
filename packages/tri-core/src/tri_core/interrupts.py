"""Signals put off while code runs that an exception of a handler must not leave half done.

Python runs handlers in the main thread, between any two of its instructions; also those that native code has it run, as the
extension modules of bindings do while they define themselves.  There what a handler raises is dropped, or ends the process.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

__all__ = ["deferred"]

_Handler = Callable[[int, FrameType | None], object]


class _Waiting:
    """Stands in for ``handlers``: keeps the numbers of signals while it is ``open``, and forwards them afterwards."""

    def __init__(self) -> None:
        self.handlers: dict[int, _Handler] = {}
        self.arrived: list[int] = []
        self.open = True

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.open:
            self.arrived.append(number)
        else:
            self.handlers[number](number, frame)


@contextmanager
def deferred() -> Iterator[None]:
    """Signals with a handler of Python's are handled when the block has ended, each once, in the order in which they came.

    Elsewhere than in the main thread no handler runs, and nothing changes.  What a handler raises comes out of the block.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting = _Waiting()
    try:
        for number in signal.valid_signals():
            handler = signal.getsignal(number)
            if callable(handler):
                waiting.handlers[number] = handler
                signal.signal(number, waiting)
        yield
    finally:
        waiting.open = False
        for replaced, before in waiting.handlers.items():
            signal.signal(replaced, before)
        _raise(list(dict.fromkeys(waiting.arrived)))


def _raise(numbers: Sequence[int]) -> None:
    """Each of the signals ``numbers``, also when the handler of one before it raises."""
    if numbers:
        try:
            signal.raise_signal(numbers[0])
        finally:
            _raise(numbers[1:])
