"""The store of this process, as the knobs say: ``TRI_CACHE_DIR``, ``TRI_CACHE_SIZE``, ``TRI_CACHE_SHARED``."""

from __future__ import annotations

import functools
import os
import tempfile
from contextlib import suppress
from pathlib import Path

from tri_core import knobs
from tri_core.cache.store import Store

__all__ = ["default_store"]


def default_store() -> Store:
    """The store that the knobs name now; the user's cache folder by default."""
    directory = knobs.get("CACHE_DIR")
    shared = knobs.get("CACHE_SHARED")
    return _store(directory if directory is not None else _user_folder(), knobs.get("CACHE_SIZE"), shared)


@functools.cache
def _store(directory: Path, max_bytes: int, shared: bool) -> Store:
    return Store(directory, max_bytes, shared=shared)


@functools.cache
def _user_folder() -> Path:
    import platformdirs  # 24 ms, not needed when the folder is named

    # For a user without a home, as in containers that run under any id, platformdirs raises, or gives a relative path.
    with suppress(RuntimeError):
        found = Path(platformdirs.user_cache_dir("tri", appauthor=False))
        if found.is_absolute():
            return found
    name = str(os.geteuid()) if hasattr(os, "geteuid") else "cache"
    return Path(tempfile.gettempdir()) / f"tri-{name}"
