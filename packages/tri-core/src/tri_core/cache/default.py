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
from tri_core.errors import BundleError, OptionError, RemoteCacheError
from tri_core.files import read_bytes
from tri_core.notices import CacheWarning, warn

if TYPE_CHECKING:
    from tri_core.cache.bundle import Bundle
    from tri_core.cache.remote import Remote

__all__ = ["default_store", "forget_bundles", "forget_remotes", "open_bundle", "open_remote", "served_bundle"]


def default_store() -> Store:
    """The store that the knobs name now; the user's cache folder by default."""
    directory, size, shared, layers = _own()
    return _store(
        directory if directory is not None else _user_folder(),
        size,
        shared,
        layers,
        served_bundle(),
        _named_remote(),
    )


def served_bundle() -> Bundle | None:
    """The bundle that ``TRI_BUNDLE`` names; None without one, and, with a warning, where it cannot be used."""
    path, key_file, shared = _served()
    return None if path is None else _bundle(path, key_file, shared)


#: what the knobs say: read once while they stay, since every first launch of a kernel asks for the store
_own: knobs.Made[tuple[Path | None, int, bool, tuple[Path, ...]]] = knobs.Made(
    lambda: (
        knobs.get("CACHE_DIR"),
        knobs.get("CACHE_SIZE"),
        knobs.get("CACHE_SHARED"),
        knobs.get("CACHE_LAYERS"),
    ),
    "CACHE_DIR",
    "CACHE_SIZE",
    "CACHE_SHARED",
    "CACHE_LAYERS",
)
_served: knobs.Made[tuple[Path | None, Path | None, bool]] = knobs.Made(
    lambda: (knobs.get("BUNDLE"), knobs.get("BUNDLE_KEY"), knobs.get("CACHE_SHARED")),
    "BUNDLE",
    "BUNDLE_KEY",
    "CACHE_SHARED",
)
_elsewhere: knobs.Made[str | None] = knobs.Made(lambda: knobs.get("CACHE_REMOTE"), "CACHE_REMOTE")


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


def forget_remotes() -> None:
    """Open remote stores anew, those, too, that were set aside."""
    _refused.clear()
    _remote.cache_clear()
    _store.cache_clear()


def open_remote(url: str | None = None) -> Remote:
    """The remote store at ``url`` (``TRI_CACHE_REMOTE`` where None), as the knobs say.

    RemoteCacheError where there is no URL, no key, or no library for it; OptionError where the key cannot be read.
    """
    address = knobs.get("CACHE_REMOTE") if url is None else url
    if address is None:
        raise RemoteCacheError(
            "no remote cache is named", remedy="give its URL, or set TRI_CACHE_REMOTE, as in s3://bucket/tri"
        )
    return _remote(
        address,
        knobs.get("CACHE_KEY"),
        knobs.get("CACHE_KEY_FILE"),
        knobs.get("CACHE_REMOTE_TIMEOUT"),
        knobs.get("CACHE_REMOTE_WRITE"),
    )


def _named_remote() -> Remote | None:
    """The remote store that the knobs name; None without one, and, with one warning, where it cannot be used."""
    address = _elsewhere()
    if address is None or address in _refused:
        return None
    try:
        return open_remote(address)
    except (OptionError, RemoteCacheError) as error:
        _refused.add(address)
        warn(f"{error}; kernels are compiled as they are without it", CacheWarning)
        return None


#: remote stores that could not be opened, of which a warning was given
_refused: set[str] = set()


@functools.cache
def _remote(url: str, text: str | None, file: Path | None, patience: float, write: str) -> Remote:
    from tri_core.cache.remote import Remote
    from tri_core.cache.signing import secret_of
    from tri_core.cache.transports import redacted

    secret = secret_of(text, file)
    if secret is None:
        raise RemoteCacheError(
            f"the remote cache {redacted(url)} has no key, so others could have programs of theirs run here",
            remedy="set TRI_CACHE_KEY, or TRI_CACHE_KEY_FILE: openssl rand -hex 32 > FILE",
        )
    return Remote(url, secret, patience=patience, behind=write == "behind")


@functools.cache
def _bundle(path: Path, key_file: Path | None, shared: bool) -> Bundle | None:
    try:
        return open_bundle(path, key_file, shared=shared)
    except (BundleError, OptionError) as error:
        warn(f"{error}; kernels are compiled as they are without it", CacheWarning)
        return None


@functools.cache
def _store(
    directory: Path,
    max_bytes: int,
    shared: bool,
    folders: tuple[Path, ...],
    bundle: Bundle | None,
    remote: Remote | None,
) -> Store:
    below: list[Layer] = [] if bundle is None else [bundle]
    below += [Store(folder, 0, shared=shared, is_read_only=True) for folder in folders]
    return Store(directory, max_bytes, shared=shared, layers=below, remote=remote)


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
