"""The main thread's turn to handle signals: a word that is set while a launch of its lasts.

Python handles signals in the main thread, between two of its instructions; a launch is one.  A thread sets the word
every 50 ms while one launch goes on, and compiled code that sees it lets Python handle them.  Launches that are shorter
pay for a counter.
"""

from __future__ import annotations

import ctypes
import logging
import threading
import time

from tri_core import forks

__all__ = ["Watch"]

logger = logging.getLogger(__name__)

#: seconds between two looks
PERIOD = 0.05
#: looks without any launch after which the thread waits to be woken
_IDLE = 20


class Watch:
    """The word of one process; :meth:`begin` and :meth:`end` stand around launches of the main thread."""

    def __init__(self) -> None:
        self._word = ctypes.c_int32(0)
        self._address = ctypes.addressof(self._word)
        self._renew()
        forks.in_child(self._renew)

    def _renew(self) -> None:
        """No thread yet."""
        self._word.value = 0
        self._wake = threading.Event()
        self._begun = 0
        self._depth = 0
        self._asleep = True
        self._thread: threading.Thread | None = None
        self.main = threading.main_thread().ident

    def begin(self) -> int:
        """A launch of the main thread begins; the word's address, 0 where signals have to wait until it ends."""
        self._begun += 1
        self._depth += 1
        if self._asleep and not self._woken():
            return 0
        return self._address

    def end(self) -> None:
        """It has ended."""
        self._depth -= 1

    def _woken(self) -> bool:
        """Have the thread look; False where the system has no more threads."""
        if self._thread is None:
            thread = threading.Thread(target=self._look, name="tri-cpu-watch", daemon=True)
            try:
                thread.start()
            except RuntimeError as error:
                logger.warning("signals wait until a launch has ended: %s", error)
                return False
            # the thread writes the word until the process ends, longer than Python keeps what modules hold
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._word))
            self._thread = thread
        self._asleep = False
        self._wake.set()
        return True

    def _look(self) -> None:
        wake, idle = self._wake, 0
        while True:
            seen = self._begun
            time.sleep(PERIOD)
            if self._begun != seen:
                idle = 0
            elif self._depth:
                self._word.value, idle = 1, 0
            else:
                idle += 1
            if idle > _IDLE:
                idle = 0
                wake.clear()
                self._asleep = True
                # a launch that began before it could see that has to be seen here
                if self._begun == seen:
                    wake.wait()
