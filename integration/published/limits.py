"""A time for what runs in a process: an error in Python, the end of the process in native code."""

from __future__ import annotations

import faulthandler
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["GRACE", "TooLong", "limited"]

#: seconds more, after which the process ends
GRACE = 10


class TooLong(Exception):
    """A block of :func:`limited` took longer than it may."""


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Let the ``with`` block take ``seconds``, then raise TooLong in it; what waits in native code takes no signal: the process ends."""

    def late(signum: int, frame: Any) -> None:
        del signum, frame
        raise TooLong(f"more than {seconds} s")

    signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    faulthandler.dump_traceback_later(seconds + GRACE, exit=True)
    try:
        yield
    finally:
        signal.alarm(0)
        faulthandler.cancel_dump_traceback_later()
