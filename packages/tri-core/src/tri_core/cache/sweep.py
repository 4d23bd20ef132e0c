"""Bounding a store: the least recently used entries leave, and so does what killed writers left behind."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

__all__ = ["sweep"]

logger = logging.getLogger(__name__)

#: a temporary file or lock of this age (seconds) belongs to no living writer
_ORPHAN_AGE = 3600.0
#: sweeping goes below the bound by this factor, so that the next write does not sweep again
_TARGET = 0.9


def _files(directory: Path) -> Iterator[os.DirEntry[str]]:
    """Files of the store's own folders (two characters); what else lies in ``directory`` is not ours."""
    with os.scandir(directory) as folders:
        names = [f.path for f in folders if len(f.name) == 2 and f.is_dir(follow_symlinks=False)]
    for folder in names:
        with suppress(OSError), os.scandir(folder) as files:
            yield from files


def sweep(directory: Path, max_bytes: int) -> int:
    """Remove the oldest entries until the rest fits ``max_bytes``; the bytes that are left.

    Safe at any time from any number of processes: whatever disappears under it counts as removed, and a
    reader that loses an entry misses and makes it anew.
    """
    now = time.time()
    entries: list[tuple[float, int, str]] = []
    for file in _files(directory):
        try:
            status = file.stat(follow_symlinks=False)
        except OSError:
            continue
        if file.name.endswith(".entry"):
            entries.append((status.st_mtime, status.st_size, file.path))
        elif file.name.endswith((".tmp", ".lock")) and now - status.st_mtime > _ORPHAN_AGE:
            with suppress(OSError):
                os.unlink(file.path)
    total = sum(size for _, size, _ in entries)
    if total <= max_bytes:
        return total
    for _, size, path in sorted(entries):
        if total <= max_bytes * _TARGET:
            break
        with suppress(OSError):
            os.unlink(path)
        total -= size
    logger.debug("cache %s swept to %d bytes", directory, total)
    return total
