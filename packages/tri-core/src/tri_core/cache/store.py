"""A content-addressed store in a directory: atomic, checked, bounded in size, shared by processes.

Every entry is one file, ``ab/abcdef....entry``, named by its key.  It is written to a temporary file of
its own in the same folder and moved into place by ``os.replace``, so that a reader (also over NFS, also
while the writer is killed) sees all of an entry or nothing.  Two writers of one key write the same
content, and the later one wins.  Reading renews the file's time stamp; the oldest stamps leave first.

Below it may lie layers that are only read (a folder of others, a bundle): what the store has not, they are asked for.
Last comes a remote store, which is written, too; what is found there is kept here.

Folders are made for the user alone.  Nothing is read from, or written to, a store that others own or can write
(:mod:`tri_core.cache.trust`), and an entry is a regular file, opened without waiting.
"""

from __future__ import annotations

import errno
import logging
import os
import random
import re
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from tri_core.cache import claims, entry, trust
from tri_core.cache.noting import note
from tri_core.cache.sweep import sweep
from tri_core.errors import CacheError
from tri_core.notices import CacheWarning, warn

if TYPE_CHECKING:
    from tri_core.cache.remote import Remote

__all__ = ["Layer", "Store"]

logger = logging.getLogger(__name__)

SUFFIX = ".entry"
_KEY = re.compile(r"[0-9a-zA-Z_-]{8,200}")
#: a hit renews the time stamp of an entry that is older than this (seconds)
_STAMP_AGE = 60.0
#: the store is swept after this share of its bound was written
_SWEEP_SHARE = 32


_TRUST_REMEDY = (
    "Take the rights from others (chmod go-w), set TRI_CACHE_DIR to a folder of your own, or, where all who can write it are "
    "trusted, set TRI_CACHE_SHARED=1"
)
_AT_ONCE = getattr(os, "O_NONBLOCK", 0)


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | _AT_ONCE)


def _open_privately(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


class Layer(Protocol):
    """Layer that a store reads below its own entries."""

    def get(self, key: str) -> bytes | None:
        """The payload of ``key``; None where there is none that can be trusted."""
        ...


class Store:
    """Byte strings by key below ``directory``, together at most about ``max_bytes``.

    Reading and writing never raise for what the file system does: a directory that is full, read-only or
    gone makes every ``get`` a miss and every ``put`` a no-op, with one warning per store.  So does one that others
    can write, unless ``shared`` says that they are trusted.
    """

    def __init__(
        self,
        directory: Path,
        max_bytes: int,
        *,
        shared: bool = False,
        layers: Sequence[Layer] = (),
        is_read_only: bool = False,
        remote: Remote | None = None,
    ) -> None:
        self.remote = remote
        self.directory = Path(directory).absolute()
        self._folder = os.path.join(self.directory, "")
        self.layers = tuple(layers)
        self.is_read_only = is_read_only
        self.max_bytes = max_bytes
        self.shared = shared
        self._written = 0
        self._warned = False
        self._trusted: bool | None = True if shared else None

    def path(self, key: str) -> Path:
        """Path of the entry of ``key``; CacheError for a key that is not a plain word."""
        return Path(self._name(key))

    def _name(self, key: str) -> str:
        """:meth:`path` as text, in a fifth of the time."""
        if not _KEY.fullmatch(key):
            raise CacheError(f"{key!r} is not a cache key", remedy="use a hexadecimal digest")
        return f"{self._folder}{key[:2]}{os.sep}{key}{SUFFIX}"

    def is_trusted(self) -> bool:
        """True if no other user can write to the store; True, but not cached, while there is no folder."""
        if self._trusted is None:
            try:
                found = trust.objection(self.directory)
            except OSError:
                return True  # nothing is there, or nothing can be read: what is done next says so
            self._trusted = found is None
            if found is not None:
                self._warn_once(f"{found}, so others could have programs of theirs run here", _TRUST_REMEDY)
        return self._trusted

    def get(self, key: str, *, is_local: bool = False) -> bytes | None:
        """The payload stored under ``key``, here or in a layer; None when absent, damaged or another key's (the file is removed then).

        ``is_local``: the remote store is not asked, since the entry is of this machine alone.
        """
        payload = self._own(key)
        for layer in self.layers if payload is None else ():
            payload = layer.get(key)
            if payload is not None:
                break
        if payload is None and self.remote is not None and not is_local:
            payload = self.remote.get(key)
            if payload is not None:
                self.keep(key, payload)
        if payload is not None:
            note(key, payload)
        return payload

    def _own(self, key: str) -> bytes | None:
        path = self._name(key)
        if not self.is_trusted():
            return None
        try:
            with open(path, "rb", buffering=0, opener=_open_at_once) as file:
                status = os.fstat(file.fileno())
                content = file.read() if self._is_entry(path, status) else b""
        except OSError as error:
            if not isinstance(error, FileNotFoundError):
                self._warn("read", error)
            return None
        found = entry.unpack(content)
        if found is None or found.key != key:
            self._drop(key, content, found)
            return None
        if not self.is_read_only and time.time() - status.st_mtime > _STAMP_AGE:
            with suppress(OSError):
                os.utime(path)
        return found.payload

    def _drop(self, key: str, content: bytes, found: entry.Entry | None) -> None:
        """Remove the file of ``key``, which does not hold its entry."""
        path = self.path(key)
        if found is not None:
            logger.warning("cache entry %s is that of %s: it is dropped and made anew", path, found.key)
        elif entry.is_of_another_version(content):
            logger.info("cache entry %s is of another version of tri: it is made anew", path)
        else:
            logger.warning("damaged cache entry %s is dropped and made anew", path)
        self.discard(key)

    def _is_entry(self, path: str, status: os.stat_result) -> bool:
        """True if a file may be read: a regular one (a pipe would make readers wait) that no other user can
        write.
        """
        found = None if stat.S_ISREG(status.st_mode) else "is not a file"
        if found is None and not self.shared:
            found = trust.objection_to(status)
        if found is not None:
            logger.warning("cache entry %s %s", path, found)
        return found is None

    def put(self, key: str, payload: bytes, *, is_local: bool = False) -> bool:
        """Store ``payload`` under ``key``, in the remote store, too, unless ``is_local``; whether it is kept here now."""
        note(key, payload)
        if self.remote is not None and not is_local:
            self.remote.put(key, payload)
        return self.keep(key, payload)

    def keep(self, key: str, payload: bytes) -> bool:
        """Store ``payload`` under ``key`` here alone; whether it is kept now."""
        size = entry.size_of(key, payload)
        if self.is_read_only or size > self.max_bytes or not self.is_trusted():
            return False
        try:
            self._write(self.path(key), key, payload)
        except OSError as error:
            self._warn("written", error)
            return False
        self._bound(size)
        return True

    def discard(self, key: str) -> None:
        """Remove the entry of ``key``, if there is one."""
        if self.is_read_only:
            return
        with suppress(OSError):
            self.path(key).unlink(missing_ok=True)

    def clear(self) -> None:
        """Remove every entry."""
        with suppress(OSError):
            sweep(self.directory, 0)

    def _write(self, path: Path, key: str, payload: bytes) -> None:
        temporary = path.with_name(f"{path.stem}.{os.getpid()}-{random.getrandbits(64):016x}.tmp")
        try:
            try:
                file = open(temporary, "xb", opener=_open_privately)  # noqa: SIM115  closed below, in either branch
            except FileNotFoundError:
                self._make_folder(path.parent)
                file = open(temporary, "xb", opener=_open_privately)  # noqa: SIM115
            with file:
                file.write(entry.pack(key, payload))
                file.write(payload)
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise

    def _make_folder(self, folder: Path) -> None:
        """Make a folder of the store, for the user alone; PermissionError where another user owns what was made."""
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not self.is_trusted():
            raise PermissionError(errno.EPERM, "it is not the user's alone", str(self.directory))
        folder.mkdir(mode=0o700, exist_ok=True)

    def _bound(self, size: int) -> None:
        """Sweep once enough was written here, or by chance in proportion to the size.

        The chance makes many short processes sweep as often as one long one, with no shared counter.
        """
        share = max(self.max_bytes // _SWEEP_SHARE, 1)
        self._written += size
        if self._written < share and random.random() >= size / share:
            return
        self._written = 0
        try:
            sweep(self.directory, self.max_bytes)
        except OSError as error:
            logger.info("cache %s is not swept: %s", self.directory, error)

    def _warn(self, done: str, error: OSError) -> None:
        self._warn_once(
            f"cannot be {done} ({error.strerror or error})",
            "Set TRI_CACHE_DIR to a writable folder with space",
        )

    def _warn_once(self, found: str, remedy: str) -> None:
        if not self._warned:
            self._warned = True
            warn(
                f"the kernel cache {self.directory} {found}; kernels are kept in memory only. {remedy}",
                CacheWarning,
            )

    @contextmanager
    def claim(self, key: str, timeout: float) -> Iterator[bool]:
        """Hold the right to make ``key`` while other processes wait, at most ``timeout`` seconds.

        Yields whether it is held.  Look for the entry again inside: another process may have made it.
        The claim only saves work: without a lock two processes make the same entry, which is harmless.
        """
        path = self.path(key).with_suffix(".lock")
        release = None
        with suppress(OSError):
            self._make_folder(path.parent)
            release = claims.take(path, timeout)
        try:
            yield release is not None
        finally:
            if release is not None:
                release()
