"""A store elsewhere, below the user's own: read where that has nothing, written beside it, never waited for long.

Every entry is signed (:mod:`tri_core.cache.signing`).  A call waits ``patience`` seconds at most; one that lasts longer, or
three that fail one after the other, set the remote store aside for the rest of the process, with one warning.
"""

from __future__ import annotations

import atexit
import logging
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from tri_core import forks
from tri_core.cache.signing import sign, verify
from tri_core.cache.transports import Transport, prepare, redacted
from tri_core.errors import RemoteCacheError
from tri_core.notices import CacheWarning, warn

__all__ = ["Remote"]

logger = logging.getLogger(__name__)

_T = TypeVar("_T")
#: calls that fail one after the other before the store is set aside
_FAILURES = 3
#: entries that wait to be written; more are left out
_WAITING = 256


class Remote:
    """The store at ``url``, whose entries are signed by ``secret``.  RemoteCacheError where a library for it lacks.

    ``patience``: seconds that a call may take.  ``behind``: whether entries are written by a thread, after which nobody waits
    but, for ``patience`` seconds, the end of the process.
    """

    def __init__(self, url: str, secret: bytes, *, patience: float = 1.0, behind: bool = True) -> None:
        self.url = redacted(url)
        self.patience = patience
        self.behind = behind
        self._secret = secret
        self._address = url
        self._open = prepare(url)
        self._failures = 0
        self._is_aside = False
        self._lock = forks.Lock(waits=False)
        self._begin()
        forks.in_child(self._begin)
        atexit.register(self.flush)
        if "multiprocessing.util" in sys.modules:
            # its children end without Python's own functions for that
            sys.modules["multiprocessing.util"].Finalize(None, self.flush, exitpriority=10)

    def _begin(self) -> None:
        """No connection and no thread of another process."""
        self._transport: Transport | None = None
        self._writer: threading.Thread | None = None
        self._queue: queue.Queue[tuple[str, bytes]] = queue.Queue(_WAITING)

    @property
    def is_aside(self) -> bool:
        """True if the remote is no longer queried."""
        return self._is_aside

    def get(self, key: str) -> bytes | None:
        """The payload of ``key``; None where there is none that the key vouches for, and where nobody answers in time."""
        content = self._bounded(lambda: self._connected().get(key))
        if content is None:
            return None
        payload = verify(key, content, self._secret)
        if isinstance(payload, str):
            logger.warning("entry %s of the remote cache %s %s: it is made anew", key, self.url, payload)
            return None
        return payload

    def put(self, key: str, payload: bytes) -> None:
        """Write ``payload`` under ``key``, now or soon."""
        if self._is_aside:
            return
        content = sign(key, payload, self._secret)
        if not self.behind:
            self._bounded(lambda: self._connected().put(key, content))
            return
        try:
            self._queue.put_nowait((key, content))
            self._start_writer()
        except (queue.Full, RuntimeError) as error:  # the latter: no thread begins while Python ends
            logger.info("entry %s is not written to the remote cache %s: %s", key, self.url, repr(error))

    def push(self, key: str, payload: bytes) -> None:
        """Write ``payload`` under ``key`` now; RemoteCacheError where that fails."""
        content = sign(key, payload, self._secret)
        self._plainly(lambda: self._connected().put(key, content))

    def pull(self) -> Iterator[tuple[str, bytes | str]]:
        """All payloads by key, or why one is not to be used; RemoteCacheError where it cannot be read."""
        for key in self._plainly(lambda: list(self._connected().keys())):
            content = self._plainly(lambda key=key: self._connected().get(key))  # type: ignore[misc]
            if content is not None:
                yield key, verify(key, content, self._secret)

    def flush(self) -> bool:
        """Wait, ``patience`` seconds at most, until all is written; whether it is."""
        end = time.monotonic() + self.patience
        while self._queue.unfinished_tasks and not self._is_aside and time.monotonic() < end:
            time.sleep(0.005)
        return not self._queue.unfinished_tasks

    def _connected(self) -> Transport:
        """The connection, made by whoever comes first."""
        if self._transport is None:
            self._transport = self._open(self._address, self.patience)
        return self._transport

    def _plainly(self, call: Callable[[], _T]) -> _T:
        """Result of ``call``, however long it takes; RemoteCacheError for any error."""
        try:
            return call()
        except Exception as error:  # whatever a file system's library raises
            raise RemoteCacheError(
                f"the remote cache {self.url} cannot be used ({type(error).__name__}: {error})",
                remedy="look whether its server runs, and whether you may write there",
            ) from error

    def _bounded(self, call: Callable[[], _T]) -> _T | None:
        """Result of ``call``; None if it fails, or takes longer than the patience."""
        if self._is_aside:
            return None
        answers: queue.SimpleQueue[tuple[Any, Exception | None]] = queue.SimpleQueue()

        def answer() -> None:
            try:
                answers.put((call(), None))
            except Exception as error:  # whatever a file system's library raises
                answers.put((None, error))

        try:
            # not one of a pool's, whose threads the process waits for at its end
            threading.Thread(target=answer, name="tri-remote-cache", daemon=True).start()
            found, error = answers.get(timeout=self.patience)
        except queue.Empty:
            self._set_aside(f"gave no answer within {self.patience:g} s")
            return None
        except RuntimeError:
            return None  # no thread begins while Python ends
        self._count(error)
        return found

    def _count(self, error: Exception | None) -> None:
        with self._lock:
            self._failures = 0 if error is None else self._failures + 1
            is_over = self._failures >= _FAILURES
        if error is not None:
            logger.info("the remote cache %s failed: %r", self.url, error)
        if is_over:
            self._set_aside(f"failed {_FAILURES} times ({type(error).__name__}: {error})")

    def _set_aside(self, why: str) -> None:
        with self._lock:
            is_news, self._is_aside = not self._is_aside, True
        if is_news:
            warn(
                f"the remote cache {self.url} {why}; kernels are compiled here, and it is not asked again by this process. "
                "Look whether its server runs, set TRI_CACHE_REMOTE_TIMEOUT (seconds) where it is slow, or unset TRI_CACHE_REMOTE",
                CacheWarning,
            )

    def _start_writer(self) -> None:
        with self._lock:
            if self._writer is None:
                self._writer = threading.Thread(
                    target=self._write, args=(self._queue,), name="tri-remote-cache-writer", daemon=True
                )
                self._writer.start()

    def _write(self, waiting: queue.Queue[tuple[str, bytes]]) -> None:
        """Write what waits, one after the other; what is left after the store is set aside is dropped."""
        while True:
            key, content = waiting.get()
            try:
                if not self._is_aside:
                    self._connected().put(key, content)
                    self._count(None)
            except Exception as error:  # whatever a file system's library raises
                self._count(error)
            finally:
                waiting.task_done()
