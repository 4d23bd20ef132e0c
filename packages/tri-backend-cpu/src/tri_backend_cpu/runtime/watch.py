"""Signals during launches of the main thread: a flag that is set while a launch lasts.

Python handles signals in the main thread, between two of its instructions; a launch is one.  A thread sets the flag
every 50 ms while one launch goes on, and compiled code that sees it lets Python handle them.  Launches that are shorter
pay for two counters.
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
    """The flag of one process, for launches of its ``main`` thread.

    A launch adds one to ``begun`` and to ``depth``, and passes on ``address`` where the thread is ``awake`` or can be
    woken (:meth:`wake`); when it has ended it takes one from ``depth``.  There are no methods for it: launches are short.
    """

    def __init__(self) -> None:
        self._flag = ctypes.c_int32(0)
        self.address = ctypes.addressof(self._flag)
        self._renew()
        forks.in_child(self._renew)

    def _renew(self) -> None:
        """No thread yet."""
        self._flag.value = 0
        self._wake = threading.Event()
        self.begun = 0
        self.depth = 0
        self.awake = False
        self._thread: threading.Thread | None = None
        self.main = threading.main_thread().ident

    def wake(self) -> bool:
        """Have the thread look; False where the system has no more threads."""
        if self._thread is None:
            thread = threading.Thread(target=self._look, name="tri-cpu-watch", daemon=True)
            try:
                thread.start()
            except RuntimeError as error:
                logger.warning("signals wait until a launch has ended: %s", error)
                return False
            # the thread writes the flag until the process ends, longer than Python keeps what modules hold
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._flag))
            self._thread = thread
        self.awake = True
        self._wake.set()
        return True

    def _look(self) -> None:
        wake, idle = self._wake, 0
        while True:
            seen = self.begun
            time.sleep(PERIOD)
            if self.begun != seen:
                idle = 0
            elif self.depth:
                self._flag.value, idle = 1, 0
            else:
                idle += 1
            if idle > _IDLE:
                idle = 0
                wake.clear()
                self.awake = False
                # a launch that began before it could see that has to be seen here
                if self.begun == seen:
                    wake.wait()
