"""Display of how far something is that may take long: a bar where stderr is a terminal, lines in the log elsewhere.

Nothing is shown in the first second, and afterwards between steps only: no thread runs, so forks and the prompt of a debugger
are left alone.
"""

from __future__ import annotations

import logging
import math
import os
import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

__all__ = ["Progress"]

logger = logging.getLogger(__name__)

#: seconds before anything is shown, between looks of a bar, and between lines of the log
_PATIENCE = 1.0
_LOOK = 0.1
_PERIOD = 30.0

#: those with a bar: a second bar, of what the first one waits for, would be drawn over it
_shown: list[Progress] = []


class Progress:
    """Count of the ``steps`` of what ``title`` names; for ``with``.  Never shown where it is not ``wanted``, or under a debugger."""

    def __init__(self, title: str, steps: int, *, wanted: bool = True) -> None:
        self._title = title
        self._steps = steps
        self._done = 0
        self._begin = time.monotonic()
        self._next = self._begin + _PATIENCE if wanted and sys.gettrace() is None else math.inf
        self._opened = False
        self._bar: tuple[Bar, TaskID] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def step(self) -> None:
        """Count one more that is done."""
        self._done += 1
        if self._done < self._steps and time.monotonic() >= self._next:
            self._tell()

    def _tell(self) -> None:
        now = time.monotonic()
        if not self._opened:
            self._opened = True
            self._open()
        if self._bar is not None:
            bar, task = self._bar
            bar.update(task, completed=self._done, refresh=True)
            self._next = now + _LOOK
        elif now - self._begin >= _PERIOD:
            logger.info("%s: %d of %d, %.0f s", self._title, self._done, self._steps, now - self._begin)
            self._next = now + _PERIOD
        else:
            self._next = self._begin + _PERIOD

    def _open(self) -> None:
        is_terminal = getattr(sys.stderr, "isatty", bool)
        if not is_terminal() and "FORCE_COLOR" not in os.environ:
            return  # without rich, which takes a tenth of a second to import
        from rich.console import Console
        from rich.progress import Progress as Bar

        console = Console(stderr=True)
        if _shown or not console.is_terminal:
            return
        # what the program prints stays on stdout unless both are the terminal, where it would be drawn over
        bar = Bar(console=console, transient=True, auto_refresh=False, redirect_stdout=sys.stdout.isatty())
        self._bar = bar, bar.add_task(self._title, total=self._steps, completed=self._done)
        _shown.append(self)
        bar.start()

    def close(self) -> None:
        """Take the bar away."""
        self._next = math.inf
        if self._bar is not None:
            self._bar[0].stop()
            self._bar = None
            _shown.remove(self)
