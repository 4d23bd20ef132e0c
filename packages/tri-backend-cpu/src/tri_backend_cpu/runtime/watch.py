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

from tri_backend_cpu.runtime.start_ir import WATCHED
from tri_core import forks

__all__ = ["Watch"]

logger = logging.getLogger(__name__)

#: seconds between two looks
PERIOD = 0.05
#: looks without any launch after which the thread waits to be woken
_IDLE = 20


class Watch:
    """The flag of one process, for launches of its ``main`` thread.

    Of its ``counts``, which compiled code knows too, a launch adds one to ``begun`` and to ``depth``, and passes on
    ``address`` where the thread is ``awake`` or can be woken (:meth:`wake`); when it has ended it takes one from
    ``depth``.  There are no methods for it: launches are short.
    """

    def __init__(self) -> None:
        self.counts = WATCHED.structure()
        #: of the flag, which is the first of the counts
        self.address = ctypes.addressof(self.counts)
        self._renew()
        forks.in_child(self._renew)

    def _renew(self) -> None:
        """No thread yet."""
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self.main = threading.main_thread().ident
        counts = self.counts
        counts.flag = counts.begun = counts.depth = counts.awake = 0
        counts.main = self.main or 0

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
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.counts))
            self._thread = thread
        self.counts.awake = 1
        self._wake.set()
        return True

    def _look(self) -> None:
        wake, counts, idle = self._wake, self.counts, 0
        while True:
            seen = counts.begun
            time.sleep(PERIOD)
            if counts.begun != seen:
                idle = 0
            elif counts.depth:
                counts.flag, idle = 1, 0
            else:
                idle += 1
            if idle > _IDLE:
                idle = 0
                wake.clear()
                counts.awake = 0
                # a launch that began before it could see that has to be seen here
                if counts.begun == seen:
                    wake.wait()
