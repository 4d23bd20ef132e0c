"""A bar on a terminal for tuning that takes longer than a second."""

from __future__ import annotations

import sys
import time
from typing import Any

from tri_core import knobs

__all__ = ["Progress"]

#: seconds before anything is shown
_PATIENCE = 1.0


class Progress:
    """Counts steps; shows them once ``patience`` seconds have passed, where stderr is a terminal."""

    def __init__(self, title: str, steps: int, patience: float = _PATIENCE) -> None:
        self._title = title
        self._steps = steps
        self._patience = patience
        self._done = 0
        self._begin = time.monotonic()
        self._bar: Any = None
        self._task: Any = None
        self._wanted = bool(knobs.get("AUTOTUNE_PROGRESS")) and sys.stderr.isatty()

    def step(self) -> None:
        """One more is done."""
        self._done += 1
        if self._bar is None and self._wanted and time.monotonic() - self._begin > self._patience:
            self._show()
        if self._bar is not None:
            self._bar.update(self._task, completed=self._done)

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import Progress as Bar

        self._bar = Bar(console=Console(stderr=True), transient=True)
        self._bar.start()
        self._task = self._bar.add_task(self._title, total=self._steps)

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
