"""The store of this process, as the knobs say: ``TRI_CACHE_DIR``, ``TRI_CACHE_SIZE``, ``TRI_CACHE_SHARED``, and what lies below it."""

from __future__ import annotations

import functools
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tri_core import knobs
from tri_core.cache.store import Layer, Store
from tri_core.errors import BundleError, OptionError
from tri_core.files import read_bytes
from tri_core.notices import CacheWarning, warn

if TYPE_CHECKING:
    from tri_core.cache.bundle import Bundle

__all__ = ["default_store", "forget_bundles", "open_bundle", "served_bundle"]


def default_store() -> Store:
    """The store that the knobs name now; the user's cache folder by default."""
    directory = knobs.get("CACHE_DIR")
    return _store(
        directory if directory is not None else _user_folder(),
        knobs.get("CACHE_SIZE"),
        knobs.get("CACHE_SHARED"),
        knobs.get("CACHE_LAYERS"),
        served_bundle(),
    )


def served_bundle() -> Bundle | None:
    """The bundle that ``TRI_BUNDLE`` names; None without one, and, with a warning, where it cannot be used."""
    path = knobs.get("BUNDLE")
    return None if path is None else _bundle(path, knobs.get("BUNDLE_KEY"), knobs.get("CACHE_SHARED"))


def open_bundle(path: Path, key_file: Path | None = None, *, shared: bool = False) -> Bundle:
    """The bundle in ``path``, signed by what is in ``key_file``.

    BundleError where it cannot be used here, OptionError where the key cannot be read.
    """
    from tri_core.cache.bundle import Bundle

    made = Bundle(path, None if key_file is None else read_bytes(key_file), shared=shared)
    objection = made.objection()
    if objection is not None:
        raise BundleError(
            f"the bundle {path} {objection}",
            remedy="make it again with `tri warm`, by what is installed here",
        )
    return made


def forget_bundles() -> None:
    """Open bundles anew: their files may be others."""
    _bundle.cache_clear()
    _store.cache_clear()


@functools.cache
def _bundle(path: Path, key_file: Path | None, shared: bool) -> Bundle | None:
    try:
        return open_bundle(path, key_file, shared=shared)
    except (BundleError, OptionError) as error:
        warn(f"{error}; kernels are compiled as they are without it", CacheWarning)
        return None


@functools.cache
def _store(
    directory: Path, max_bytes: int, shared: bool, folders: tuple[Path, ...], bundle: Bundle | None
) -> Store:
    below: list[Layer] = [] if bundle is None else [bundle]
    below += [Store(folder, 0, shared=shared, is_read_only=True) for folder in folders]
    return Store(directory, max_bytes, shared=shared, layers=below)


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
