"""Python's garbage collector, asked less often while a kernel is compiled.

A compile makes many objects that stay (modules, classes, tables of ops), and few cycles.  With CPython's threshold of 700 or
2,000 the collector walked over them some forty times in a process's first compile, a seventh of its time.  Behind the first
one they count as old at once: the collector would only find that they are all alive.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from tri_core import forks

__all__ = ["YOUNG", "collected_seldom"]

#: new objects between two collections meanwhile: a first compile makes 110,000 that stay, of some 10 MB
YOUNG = 150_000


class _Thresholds:
    """The process's thresholds, and those that come back when the last of ``users`` has ended.

    ``is_first`` until then: what the first compile made stays as long as the process, while later ones leave cycles.
    """

    def __init__(self) -> None:
        self.lock = forks.Lock()
        self.users = 0
        self.is_first = True
        self.before: tuple[int, int, int] | None = None
        # the threads that would bring them back are not in a child
        forks.in_child(self.restore)

    def enter(self) -> None:
        """Raise the first threshold, unless the collector is off or asked as seldom already."""
        with self.lock:
            self.users += 1
            now = gc.get_threshold()
            if self.before is None and 0 < now[0] < YOUNG:
                self.before = now
                gc.set_threshold(YOUNG, *now[1:])

    def leave(self) -> None:
        """Bring the thresholds back behind the last user."""
        with self.lock:
            self.users -= 1
            if self.users <= 0:
                self.restore()

    def restore(self) -> None:
        """Bring them back; what somebody else has set meanwhile stays."""
        before, self.before, self.users = self.before, None, 0
        if before is not None and gc.get_threshold() == (YOUNG, *before[1:]):
            if self.is_first:
                _make_old()
            self.is_first = False
            gc.set_threshold(*before)


def _make_old() -> None:
    """Move all objects to the oldest generation, unlooked at; not where somebody has frozen objects of his own."""
    if not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()


_thresholds = _Thresholds()


@contextmanager
def collected_seldom() -> Iterator[None]:
    """While the block runs, in any thread, young objects are looked through every :data:`YOUNG` new ones."""
    _thresholds.enter()
    try:
        yield
    finally:
        _thresholds.leave()
