"""Claims: the lock of a file, held while an entry is made.

``filelock`` waits for locks; it takes 15 ms to import, a twentieth of a process's first compile.  A lock that nobody holds
is taken here, by the same call of the system (``flock``), and shuts out processes that ask through ``filelock``.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

__all__ = ["take"]

logger = logging.getLogger(__name__)

_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)


def take(path: Path, timeout: float) -> Callable[[], None] | None:
    """The function that lets go of the lock of ``path``, once it is held; None where it is not to be had within ``timeout`` seconds.

    The file is removed while it is held: whoever waits for the old one finds it gone, and makes a new one.
    """
    return _take_free(path) or _wait(path, timeout)


def _take_free(path: Path) -> Callable[[], None] | None:
    """:func:`take` without waiting; None, too, where the system has no such lock."""
    try:
        import fcntl
    except ImportError:
        return None
    try:
        file = os.open(path, _FLAGS, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_held = os.fstat(file).st_nlink > 0  # else another process has removed it meanwhile
    except OSError:
        is_held = False
    if not is_held:
        os.close(file)
        return None

    def release() -> None:
        with suppress(OSError):
            path.unlink(missing_ok=True)
        with suppress(OSError):
            # said, not left to the closing: children forked meanwhile hold the file open
            fcntl.flock(file, fcntl.LOCK_UN)
        os.close(file)

    return release


def _wait(path: Path, timeout: float) -> Callable[[], None] | None:
    import filelock

    lock = filelock.FileLock(path, timeout=timeout, mode=0o600)
    try:
        lock.acquire()
    except (OSError, filelock.Timeout, NotImplementedError) as error:
        logger.debug("no lock on %s: %s", path, error)
        return None

    def release() -> None:
        with suppress(OSError):
            path.unlink(missing_ok=True)
        with suppress(OSError):
            lock.release()

    return release
