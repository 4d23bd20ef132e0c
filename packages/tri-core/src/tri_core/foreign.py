"""Code of plugins, run so that whatever it does is an error with a name: it must not end the user's program."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from tri_core import forks
from tri_core.notices import PluginWarning, warn

__all__ = ["Contained", "Ended", "Watch", "describe"]

logger = logging.getLogger(__name__)

#: seconds after which a plugin that is not done is named; each further time after twice as long
PATIENCE = 5.0


class Ended(Exception):
    """Foreign code asked for the end of the program or of a thread or task; ``__cause__`` is what it raised."""


def describe(error: BaseException) -> str:
    """``Type: text`` of an error, whatever its own ``__str__`` does; what an :class:`Ended` stands for is reported."""
    if isinstance(error, Ended) and error.__cause__ is not None:
        return f"{describe(error.__cause__)} ({error})"
    try:
        text = str(error)
    except KeyboardInterrupt:
        raise
    except BaseException as failure:
        text = f"<its text cannot be made: __str__ raised {type(failure).__name__}>"
    return f"{type(error).__name__}: {text}"


class Contained:
    """A ``with`` block of foreign code: out come exceptions and the user's Ctrl-C, in place of anything else Ended."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is not None and not isinstance(error, Exception | KeyboardInterrupt):
            raise Ended("it tried to end the program") from error


class Watch:
    """Names plugins that are not done after a while; Python cannot stop them, the user can leave them out."""

    def __init__(self) -> None:
        self._label = ""
        self._since = self._due = 0.0
        #: the thread that works, what it had used of the processor, and how long it had waited for one
        self._thread, self._used, self._queued = threading.current_thread(), 0.0, 0.0
        #: the system's number of that thread: in a forked child, a Thread's own ``native_id`` may be the parent's (Python 3.11)
        self._task = 0
        self._renew()
        forks.in_child(self._renew)

    def _renew(self) -> None:
        self._lock, self._done = threading.Lock(), threading.Event()

    @contextmanager
    def running(self) -> Iterator[Self]:
        """Look at what :meth:`at` names, in a ``with`` block."""
        thread = threading.Thread(target=self._look, name="tri-plugin-watch", daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._done.set()
            thread.join()

    @contextmanager
    def at(self, plugin: str, doing: str) -> Iterator[None]:
        """``plugin`` is ``doing`` something in a ``with`` block; Ctrl-C in it says so."""
        with self._lock:
            self._label, self._since = f"plugin {plugin} is {doing}", time.monotonic()
            self._due = PATIENCE
            self._thread = threading.current_thread()
            self._task = threading.get_native_id()
            self._used, self._queued = _used(self._thread), _queued(self._task)
        try:
            yield
        except KeyboardInterrupt as error:
            error.add_note(f"{self._label}; leave it out with TRI_DISABLE_PLUGINS")
            raise
        finally:
            with self._lock:
                self._label = ""

    def _look(self) -> None:
        while not self._done.wait(self._pause()):
            self._tell()

    def _pause(self) -> float:
        with self._lock:
            left = self._since + self._due - time.monotonic() if self._label else PATIENCE
        return max(left, 0.01)

    def _tell(self) -> None:
        with self._lock:
            seconds = time.monotonic() - self._since
            if not self._label or seconds < self._due:
                return
            queued = _queued(self._task) - self._queued
            if seconds - queued < self._due:  # the machine is busy, which is nobody's fault: look again later
                self._due += queued
                return
            label, self._due = self._label, 2 * seconds
            used = _used(self._thread) - self._used
        warn(
            f"{label} since {seconds:.0f} s ({used:.1f} s of processor time, {queued:.1f} s in want of a processor); "
            "everything waits for it. Leave it out with TRI_DISABLE_PLUGINS, or repair it",
            PluginWarning,
        )


def _used(thread: threading.Thread) -> float:
    """Seconds that ``thread`` has run on a processor; 0 where the system does not tell."""
    clock = getattr(time, "pthread_getcpuclockid", None)
    if clock is None or thread.ident is None or not thread.is_alive():
        return 0.0
    return time.clock_gettime(clock(thread.ident))


def _queued(task: int) -> float:
    """Seconds for which thread ``task`` could have run, had a processor been free (Linux's ``schedstat``); 0 elsewhere."""
    try:
        text = Path(f"/proc/self/task/{task}/schedstat").read_text()
        return int(text.split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0
