"""Contents of a store's folder: kernels by name, damaged files, and all of it as a bundle."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tri_core.cache import entry
from tri_core.cache.bundle import write_bundle
from tri_core.cache.store import SUFFIX
from tri_core.compiler import record
from tri_core.compiler.kernel import CompiledKernel
from tri_core.errors import TriError
from tri_core.files import read_bytes
from tri_core.lazy_dataclasses import dataclass

__all__ = ["StoredKernel", "damaged", "entry_files", "kernels", "pack", "payloads"]


@dataclass(frozen=True)
class StoredKernel:
    """A kernel of a store: its ``key``, ``name``, ``target``, the ``bytes`` of its file and when it was ``used`` (seconds since the epoch)."""

    key: str
    name: str
    target: str
    bytes: int
    used: float


def entry_files(folder: Path) -> Iterator[Path]:
    """The files of entries of the store in ``folder``: no locks, and nothing that a writer has begun."""
    return (path for path in sorted(folder.glob(f"*/*{SUFFIX}")) if path.is_file())


def _entries(folder: Path) -> Iterator[tuple[Path, entry.Entry | None]]:
    for path in entry_files(folder):
        with suppress(OSError):  # another process may have removed it
            found = entry.unpack(path.read_bytes())
            yield path, found if found is not None and found.key == path.stem else None


def _kernel(payload: bytes) -> CompiledKernel | None:
    """The kernel that an entry is; None for other entries."""
    try:
        return record.decode(payload)
    except (ValueError, KeyError, TypeError, TriError):
        return None


def kernels(folder: Path) -> Iterator[StoredKernel]:
    """The kernels of the store in ``folder``."""
    for path, found in _entries(folder):
        kernel = None if found is None else _kernel(found.payload)
        if kernel is not None:
            with suppress(OSError):
                status = path.stat()
                target = str(kernel.metadata.target)
                yield StoredKernel(path.stem, kernel.name, target, status.st_size, status.st_mtime)


def damaged(folder: Path) -> Iterator[Path]:
    """The files of the store in ``folder`` that do not hold their entry."""
    return (path for path, found in _entries(folder) if found is None)


def payloads(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Whole entries of the store in ``folder``, by key."""
    return ((found.key, found.payload) for _, found in _entries(folder) if found is not None)


def pack(folder: Path, path: Path, key_file: Path | None = None) -> int:
    """Write the store in ``folder`` to the bundle ``path``, signed by what is in ``key_file``; the number of kernels.

    OptionError where a file cannot be read or written.
    """
    secret = None if key_file is None else read_bytes(key_file)
    entries = {found.key: found.payload for _, found in _entries(folder) if found is not None}
    names: dict[str, str] = {}
    versions: dict[str, str] = {}
    for key, payload in entries.items():
        kernel = _kernel(payload)
        if kernel is not None:
            names[key] = f"{kernel.name} for {kernel.metadata.target}"
            versions |= kernel.metadata.plugins
    write_bundle(path, entries, names, versions, secret)
    return len(names)
