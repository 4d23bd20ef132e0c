"""The store of this process, as the knobs say: ``TRI_CACHE_DIR`` and ``TRI_CACHE_SIZE``."""

from __future__ import annotations

import functools
from pathlib import Path

from tri_core import knobs
from tri_core.cache.store import Store

__all__ = ["default_store"]


def default_store() -> Store:
    """The store that the knobs name now; the user's cache folder by default."""
    directory = knobs.get("CACHE_DIR")
    return _store(directory if directory is not None else _user_folder(), knobs.get("CACHE_SIZE"))


@functools.cache
def _store(directory: Path, max_bytes: int) -> Store:
    return Store(directory, max_bytes)


@functools.cache
def _user_folder() -> Path:
    import platformdirs  # 24 ms, not needed when the folder is named

    return Path(platformdirs.user_cache_dir("tri", appauthor=False))
