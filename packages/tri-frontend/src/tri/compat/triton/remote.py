"""Remote caches of ``triton.runtime.cache``: programs' back ends, by which tri's kernels go, too."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tri.compat.triton.cache import CacheManager, FileCacheManager, get_cache_manager
from tri.compat.triton.groups import group
from tri_core.errors import RemoteCacheError

__all__ = ["ManagerTransport", "RedisRemoteCacheBackend", "RemoteCacheBackend", "RemoteCacheManager"]

#: the file that holds a kernel of tri
_ENTRY = "kernel.tri"


class RemoteCacheBackend(ABC):
    """Files under ``key``, somewhere else: what a program derives from for its own storage."""

    def __init__(self, key: str) -> None:
        self.key = key

    @abstractmethod
    def get(self, filenames: Sequence[str]) -> dict[str, bytes]:
        """The contents of those ``filenames`` that are there."""

    @abstractmethod
    def put(self, filename: str, data: bytes) -> None:
        """Lay ``data`` under ``filename``."""


class RedisRemoteCacheBackend(RemoteCacheBackend):
    """Files in the Redis server that ``triton.knobs.redis`` names.  RemoteCacheError where redis is not installed."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        try:
            import redis
        except ImportError as error:
            raise RemoteCacheError(
                "Redis cannot be used for a cache: redis is not installed",
                remedy="pip install 'tri-frontend[redis]'",
            ) from error
        theirs = group("redis")
        self._key_format = theirs.key_format
        self._redis: Any = redis.Redis(host=theirs.host, port=theirs.port)

    def _get_key(self, filename: str) -> str:
        return str(self._key_format.format(key=self.key, filename=filename))

    def get(self, filenames: Sequence[str]) -> dict[str, bytes]:
        """See :class:`RemoteCacheBackend`."""
        found = self._redis.mget([self._get_key(name) for name in filenames])
        return {name: data for name, data in zip(filenames, found, strict=True) if data is not None}

    def put(self, filename: str, data: bytes) -> None:
        """See :class:`RemoteCacheBackend`."""
        self._redis.set(self._get_key(filename), data)


class RemoteCacheManager(CacheManager):
    """Files of the back end that ``TRITON_REMOTE_CACHE_BACKEND`` names; a copy of each lies in the folder of ``key``."""

    def __init__(self, key: str, override: bool = False, dump: bool = False) -> None:
        super().__init__(key, override, dump)
        backend = group("cache").remote_manager_class
        if backend is None:
            raise RemoteCacheError(
                "the remote cache has no back end",
                remedy="set TRITON_REMOTE_CACHE_BACKEND=module:Class, as triton.runtime.cache:RedisRemoteCacheBackend",
            )
        self._backend: Any = backend(key)
        self._files = FileCacheManager(key, override, dump)

    def get_file(self, filename: str) -> str | None:
        """The path of a copy of ``filename``; None where the back end has none."""
        content = self._backend.get([filename]).get(filename)
        return None if content is None else self._files.put(content, filename)

    def put(self, data: str | bytes, filename: str, binary: bool = True) -> str:
        """Lay ``data`` under ``filename`` in the back end; the path of a copy."""
        content = data if isinstance(data, bytes) else data.encode()
        self._backend.put(filename, content)
        return self._files.put(content, filename, binary)

    def get_group(self, filename: str) -> dict[str, str] | None:
        """Paths of copies of the group put under ``filename``, those of its files that are there; None without one."""
        path = self.get_file(f"__grp__{filename}")
        if path is None:
            return None
        found = self._backend.get(json.loads(Path(path).read_text())["child_paths"])
        return {name: self._files.put(content, name) for name, content in found.items()}

    def put_group(self, filename: str, group: Mapping[str, str]) -> str:
        """Remember ``group`` (name to path) under ``filename``."""
        return self.put(json.dumps({"child_paths": sorted(group)}), f"__grp__{filename}")


class ManagerTransport:
    """The way to kernels of tri that lie where Triton's cache manager puts them: a file for each key."""

    def __init__(self, url: str, timeout: float) -> None:
        del url, timeout

    def get(self, key: str) -> bytes | None:
        """The entry of ``key``; None where there is none."""
        path = get_cache_manager(key).get_file(_ENTRY)
        return None if path is None else Path(path).read_bytes()

    def put(self, key: str, content: bytes) -> None:
        """Lay ``content`` under ``key``."""
        get_cache_manager(key).put(content, _ENTRY, binary=True)

    def keys(self) -> Iterator[str]:
        """RemoteCacheError: a manager does not list what it has."""
        raise RemoteCacheError(
            "Triton's cache managers do not list their keys",
            remedy="have kernels fetched as they are launched, or give tri cache pull another URL",
        )
