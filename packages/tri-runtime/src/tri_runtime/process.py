"""Process identity: driver state must not be used on the far side of a fork."""

from __future__ import annotations

import os
from dataclasses import field

from tri_core.api import DeviceError
from tri_core.lazy_dataclasses import dataclass

__all__ = ["ForkGuard"]


@dataclass(frozen=True)
class ForkGuard:
    """The process ``pid`` that started ``what`` (text for a message); :meth:`check` refuses any other.

    Drivers keep threads and mapped memory that a forked child has only a torn copy of: the first call
    there hangs or crashes, so it is refused with words instead.
    """

    what: str
    pid: int = field(default_factory=os.getpid)

    def check(self) -> None:
        """Raise DeviceError in a process that was forked from the one that made the guard."""
        if os.getpid() != self.pid:
            raise DeviceError(
                f"{self.what} was started in process {self.pid} and cannot be used in its fork {os.getpid()}",
                remedy='start the worker with multiprocessing.get_context("spawn")',
            )
