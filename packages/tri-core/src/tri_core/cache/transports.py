"""Ways to a remote store, by URL: file systems that fsspec knows, Redis, and classes of programs (``python:module:Class``).

Nothing here waits less, or fails otherwise, than the library below: :mod:`tri_core.cache.remote` bounds both.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any, Protocol
from urllib.parse import urlsplit

from tri_core.errors import RemoteCacheError

__all__ = ["Transport", "prepare", "redacted"]

SUFFIX = ".entry"
_REDIS = frozenset({"redis", "rediss", "unix"})
_PREFIX = "tri:"
_PYTHON = "python"


class Transport(Protocol):
    """Bytes by key, somewhere else.  Each method may raise whatever the library below raises."""

    def get(self, key: str) -> bytes | None:
        """Bytes under ``key``; None if there are none."""
        ...

    def put(self, key: str, content: bytes) -> None:
        """Lay ``content`` under ``key``, as a whole."""
        ...

    def keys(self) -> Iterator[str]:
        """All keys that there are."""
        ...


def redacted(url: str) -> str:
    """``url`` without name, password and query, for messages."""
    host = urlsplit(url)._replace(query="", fragment="")
    return host._replace(netloc=host.netloc.rpartition("@")[2]).geturl()


class _Opener(Protocol):
    def __call__(self, url: str, timeout: float) -> Transport: ...


def prepare(url: str) -> _Opener:
    """Opener of ``url``: imports libraries, and connects to nothing.  RemoteCacheError where a library lacks."""
    scheme = urlsplit(url).scheme
    if scheme in _REDIS:
        _imported("redis", url, "redis")
        return RedisTransport
    if scheme == _PYTHON:
        return _named(url)
    fsspec = _imported("fsspec", url, "remote")
    try:
        fsspec.get_filesystem_class(scheme or "file")
    except (ImportError, ValueError) as error:
        raise RemoteCacheError(
            f"the remote cache {redacted(url)} cannot be used: {error}",
            remedy="install the package that fsspec names for it, or use another URL",
        ) from error
    return FileTransport


def _named(url: str) -> _Opener:
    """The class of ``python:module:Class``."""
    module, _, name = url.removeprefix(f"{_PYTHON}:").partition(":")
    try:
        found: _Opener = getattr(import_module(module), name)
    except (AttributeError, ImportError, ValueError) as error:
        raise RemoteCacheError(
            f"the remote cache {url} cannot be used: {error}",
            remedy="name a module that can be imported and a class of it: python:module:Class",
        ) from error
    return found


def _imported(name: str, url: str, extra: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise RemoteCacheError(
            f"the remote cache {redacted(url)} cannot be used: {name} is not installed",
            remedy=f"pip install 'tri-core[{extra}]'",
        ) from error


class FileTransport:
    """A folder of a file system of fsspec's, laid out as a store is: ``ab/abcdef....entry``."""

    def __init__(self, url: str, timeout: float) -> None:
        del timeout
        self._files, root = import_module("fsspec.core").url_to_fs(url)
        self._root = str(root).rstrip("/")

    def _path(self, key: str) -> str:
        return f"{self._root}/{key[:2]}/{key}{SUFFIX}"

    def get(self, key: str) -> bytes | None:
        """See :class:`Transport`."""
        try:
            return bytes(self._files.cat_file(self._path(key)))
        except FileNotFoundError:
            return None

    def put(self, key: str, content: bytes) -> None:
        """See :class:`Transport`; file systems that show half a file show one that is not signed."""
        path = self._path(key)
        try:
            self._files.pipe_file(path, content)
        except FileNotFoundError:
            self._files.makedirs(path.rpartition("/")[0], exist_ok=True)
            self._files.pipe_file(path, content)

    def keys(self) -> Iterator[str]:
        """See :class:`Transport`."""
        try:
            found = self._files.find(self._root)
        except FileNotFoundError:
            return
        for path in found:
            name = str(path).rpartition("/")[2]
            if name.endswith(SUFFIX):
                yield name.removesuffix(SUFFIX)


class RedisTransport:
    """Keys of a Redis server, after ``tri:``."""

    def __init__(self, url: str, timeout: float) -> None:
        redis = import_module("redis")
        self._client = redis.Redis.from_url(url, socket_timeout=timeout, socket_connect_timeout=timeout)

    def get(self, key: str) -> bytes | None:
        """See :class:`Transport`."""
        found: bytes | None = self._client.get(_PREFIX + key)
        return found

    def put(self, key: str, content: bytes) -> None:
        """See :class:`Transport`."""
        self._client.set(_PREFIX + key, content)

    def keys(self) -> Iterator[str]:
        """See :class:`Transport`."""
        for name in self._client.scan_iter(match=f"{_PREFIX}*"):
            yield name.decode().removeprefix(_PREFIX)
