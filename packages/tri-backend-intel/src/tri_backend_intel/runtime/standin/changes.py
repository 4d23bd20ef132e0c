"""Waiting for what other threads do, and the threads that do it; none of them is there in a forked child."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from tri_core import forks

__all__ = ["FOREVER", "Changes"]

#: nanoseconds that stand for no end
FOREVER = (1 << 64) - 1


class Changes:
    """A lock, and those who wait until something holds; ``alone`` in a child, where nobody will make it hold."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self.alone = False
        forks.in_child(self._renew)

    def _renew(self) -> None:
        self._condition, self.alone = threading.Condition(), True

    def lock(self) -> AbstractContextManager[Any]:
        """Hold the lock, for ``with``."""
        return self._condition

    def tell(self) -> None:
        """Something has changed; the lock is held."""
        self._condition.notify_all()

    def wait(self, done: Callable[[], bool], timeout: int = FOREVER) -> bool:
        """Wait until ``done``, up to ``timeout`` ns, while the lock is held; whether it is."""
        if timeout == FOREVER and not self.alone:
            return self._condition.wait_for(done)
        seconds = 0.0 if self.alone else min(timeout * 1e-9, threading.TIMEOUT_MAX)
        return self._condition.wait_for(done, seconds)

    def start(self, work: Callable[[], None]) -> None:
        """Do ``work`` on a thread that the interpreter does not wait for."""
        threading.Thread(target=work, name="tri stand-in driver", daemon=True).start()
