"""``triton.runtime.cache``: folders of files under a key, beside tri's own store of kernels."""

from __future__ import annotations

import atexit
import base64
import functools
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tri.compat.triton.groups import group, keeps_files
from tri_core.errors import TriError

if TYPE_CHECKING:
    from tri_core.plugin_records import BackendInfo

__all__ = [
    "CacheManager",
    "FileCacheManager",
    "_base32",
    "get_cache_key",
    "get_cache_manager",
    "get_dump_manager",
    "get_override_manager",
    "triton_key",
]


def triton_key() -> str:
    """A text that changes with the compiler: versions of tri's packages and of its tools, for every backend.

    No driver is called, whatever device there is: PyTorch's Inductor asks before it forks processes that compile.
    """
    from tri.compat.triton.torch_versions import check_torch
    from tri.compat.triton.torch_workers import preload
    from tri_core.plugins import manager

    check_torch()
    preload()
    facts = [fact for info in manager().backends().values() for fact in _facts(info)]
    return hashlib.sha256(repr(facts).encode()).hexdigest()


def _facts(info: BackendInfo) -> list[Any]:
    """Dependencies of the code of ``info`` for its latest architecture; the reason if a tool is missing."""
    from tri_core.plugins import manager
    from tri_core.target import TargetKey
    from tri_core.target_selection import resolve

    if not info.architectures:
        return [info.name]
    try:
        target = resolve(TargetKey(info.name, info.architectures[-1]))
        return [sorted(manager().versions(target).items()), sorted(manager().cache_key(target).items())]
    except TriError as error:
        return [info.name, str(error)]


def get_cache_key(src: Any, backend: Any, backend_options: Any, env_vars: Any) -> str:
    """A text that changes with the source, the target, the options and the environment."""
    parts = (triton_key(), src.fingerprint(), str(backend), repr(backend_options), repr(env_vars))
    return hashlib.sha256("-".join(parts).encode()).hexdigest()


def _base32(key: str) -> str:
    """A hexadecimal hash in base 32, for shorter paths."""
    return base64.b32encode(bytes.fromhex(key)).decode().rstrip("=")


class CacheManager:
    """The interface: files by name, and groups of them, under one key."""

    def __init__(self, key: str, override: bool = False, dump: bool = False) -> None:
        self.key = key

    def get_file(self, filename: str) -> str | None:
        """The path of ``filename``; None when it is not there."""
        raise NotImplementedError

    def put(self, data: str | bytes, filename: str, binary: bool = True) -> str:
        """Write ``filename``; its path."""
        raise NotImplementedError

    def get_group(self, filename: str) -> dict[str, str] | None:
        """The group put under ``filename``, name to path; None when there is none."""
        raise NotImplementedError

    def put_group(self, filename: str, group: Mapping[str, str]) -> str:
        """Remember ``group`` (name to path) under ``filename``."""
        raise NotImplementedError


class FileCacheManager(CacheManager):
    """Files in a folder named by ``key``, below tri's cache (or, for dumps, its dump folder)."""

    def __init__(self, key: str, override: bool = False, dump: bool = False) -> None:
        super().__init__(key, override, dump)
        self.cache_dir = str(_root(override=override, dump=dump) / key)
        _make_private(Path(self.cache_dir))

    def _make_path(self, filename: str) -> str:
        return os.path.join(self.cache_dir, filename)

    def has_file(self, filename: str) -> bool:
        """True if ``filename`` exists."""
        return os.path.exists(self._make_path(filename))

    def get_file(self, filename: str) -> str | None:
        """The path of ``filename``; None when it is not there."""
        return self._make_path(filename) if self.has_file(filename) else None

    def put(self, data: str | bytes, filename: str, binary: bool = True) -> str:
        """Write ``filename`` in one step that other processes see whole; its path."""
        content = data if isinstance(data, bytes) else data.encode()
        del binary
        handle, temporary = tempfile.mkstemp(dir=self.cache_dir)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, self._make_path(filename))
        return self._make_path(filename)

    def put_group(self, filename: str, group: Mapping[str, str]) -> str:
        """Remember ``group`` (name to path) under ``filename``."""
        return self.put(json.dumps({"child_paths": sorted(group)}), f"__grp__{filename}")

    def get_group(self, filename: str) -> dict[str, str] | None:
        """The group put under ``filename``, those files of it that are there; None when there is none."""
        path = self.get_file(f"__grp__{filename}")
        if path is None:
            return None
        names = json.loads(Path(path).read_text())["child_paths"]
        return {name: self._make_path(name) for name in names if self.has_file(name)}


def _make_private(folder: Path) -> None:
    """Make ``folder``, and those above it that are not there, for the user alone."""
    if not folder.is_dir():
        _make_private(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def _root(*, override: bool, dump: bool) -> Path:
    from tri_core import knobs
    from tri_core.cache import default_store

    theirs = group("cache")
    if dump or override:
        folder = theirs.override_dir if override else theirs.dump_dir
        return Path(folder) if knobs.get("DUMP_DIR") is None or override else Path(knobs.get("DUMP_DIR"))
    if keeps_files():
        return Path(theirs.dir)
    store = default_store()
    return store.directory / "files" if store.is_trusted() else _own_folder()


@functools.cache
def _own_folder() -> Path:
    """A folder of this process, where the cache is not the user's alone: what is in it may be run."""
    folder = tempfile.mkdtemp(prefix="tri-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def get_cache_manager(key: str) -> Any:
    """The files of ``key``, by the class that ``TRITON_CACHE_MANAGER`` names, else :class:`FileCacheManager`."""
    return _manager_class()(_key_folder(key))


def get_dump_manager(key: str) -> Any:
    """The files of ``key`` in the dump folder."""
    return _manager_class()(_key_folder(key), dump=True)


def get_override_manager(key: str) -> Any:
    """As :func:`get_dump_manager`: tri overrides stages through ``tri compile``."""
    return _manager_class()(_key_folder(key), override=True)


def _manager_class() -> Any:
    return group("cache").manager_class or FileCacheManager


def _key_folder(key: str) -> str:
    try:
        return _base32(key)
    except ValueError:
        return key
