"""A content-addressed store in a directory: atomic, checked, bounded in size, shared by processes.

Every entry is one file, ``ab/abcdef....entry``, named by its key.  It is written to a temporary file of
its own in the same folder and moved into place by ``os.replace``, so that a reader (also over NFS, also
while the writer is killed) sees all of an entry or nothing.  Two writers of one key write the same
content, and the later one wins.  Reading renews the file's time stamp; the oldest stamps leave first.
"""

from __future__ import annotations

import logging
import os
import random
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tri_core.cache import entry
from tri_core.cache.sweep import sweep
from tri_core.errors import CacheError
from tri_core.notices import CacheWarning, warn

__all__ = ["Store"]

logger = logging.getLogger(__name__)

SUFFIX = ".entry"
_KEY = re.compile(r"[0-9a-zA-Z_-]{8,200}")
#: a hit renews the time stamp of an entry that is older than this (seconds)
_STAMP_AGE = 60.0
#: the store is swept after this share of its bound was written
_SWEEP_SHARE = 32


class Store:
    """Byte strings by key below ``directory``, together at most about ``max_bytes``.

    Reading and writing never raise for what the file system does: a directory that is full, read-only or
    gone makes every ``get`` a miss and every ``put`` a no-op, with one warning per store.
    """

    def __init__(self, directory: Path, max_bytes: int) -> None:
        self.directory = Path(directory)
        self.max_bytes = max_bytes
        self._written = 0
        self._warned = False

    def path(self, key: str) -> Path:
        """Where the entry of ``key`` lies; CacheError for a key that is not a plain word."""
        if not _KEY.fullmatch(key):
            raise CacheError(f"{key!r} is not a cache key", remedy="use a hexadecimal digest")
        return self.directory / key[:2] / f"{key}{SUFFIX}"

    def get(self, key: str) -> bytes | None:
        """The payload stored under ``key``; None when absent or damaged (a damaged file is removed)."""
        path = self.path(key)
        try:
            with open(path, "rb") as file:
                age = time.time() - os.fstat(file.fileno()).st_mtime
                content = file.read()
        except OSError as error:
            if not isinstance(error, FileNotFoundError):
                self._warn("read", error)
            return None
        payload = entry.unpack(content)
        if payload is None:
            logger.warning("damaged cache entry %s is dropped and made anew", path)
            self.discard(key)
        elif age > _STAMP_AGE:
            with suppress(OSError):
                os.utime(path)
        return payload

    def put(self, key: str, payload: bytes) -> bool:
        """Store ``payload`` under ``key``; whether it is kept now."""
        size = entry.HEADER.size + len(payload)
        if size > self.max_bytes:
            return False
        try:
            self._write(self.path(key), payload)
        except OSError as error:
            self._warn("written", error)
            return False
        self._bound(size)
        return True

    def discard(self, key: str) -> None:
        """Remove the entry of ``key``, if there is one."""
        with suppress(OSError):
            self.path(key).unlink(missing_ok=True)

    def clear(self) -> None:
        """Remove every entry."""
        with suppress(OSError):
            sweep(self.directory, 0)

    def _write(self, path: Path, payload: bytes) -> None:
        temporary = path.with_name(f"{path.stem}.{os.getpid()}-{random.getrandbits(64):016x}.tmp")
        try:
            try:
                file = open(temporary, "xb")  # noqa: SIM115  closed below, in either branch
            except FileNotFoundError:
                path.parent.mkdir(parents=True, exist_ok=True)
                file = open(temporary, "xb")  # noqa: SIM115
            with file:
                file.write(entry.pack(payload))
                file.write(payload)
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise

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
        if not self._warned:
            self._warned = True
            warn(
                f"the kernel cache {self.directory} cannot be {done} ({error.strerror or error}); kernels are "
                "kept in memory only. Set TRI_CACHE_DIR to a writable folder with space",
                CacheWarning,
            )

    @contextmanager
    def claim(self, key: str, timeout: float) -> Iterator[bool]:
        """Hold the right to make ``key`` while other processes wait, at most ``timeout`` seconds.

        Yields whether it is held.  Look for the entry again inside: another process may have made it.
        The claim only saves work: without a lock two processes make the same entry, which is harmless.
        """
        import filelock  # 20 ms, needed by compiles that miss only

        path = self.path(key).with_suffix(".lock")
        lock = filelock.FileLock(path, timeout=timeout)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            lock.acquire()
        except (OSError, filelock.Timeout, NotImplementedError) as error:
            logger.debug("no lock on %s: %s", path, error)
            yield False
            return
        try:
            yield True
        finally:
            # removed while it is held: whoever waits for the old file finds it gone and makes a new one
            with suppress(OSError):
                path.unlink(missing_ok=True)
            with suppress(OSError):
                lock.release()
