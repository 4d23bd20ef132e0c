"""Content hashes of what takes part in a compile: core, plugins, and the distributions they stand on.

A distribution's fingerprint covers itself and what it requires.  Distributions that depend on ``tri-core``
are followed through to *their* requirements; other libraries count with their version and file list.  What
identifies core and plugins is the content of the files that are imported, however they were installed: a
``RECORD`` says what was installed once, and stays as it is when a file is edited.  Time stamps are not asked:
an edit within their resolution, or by a tool that keeps them, would be missed.
Everything is computed once per process, when first needed.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import importlib.util
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tri_core.plugins.headers import canonical, name_of, requirements_of, version_of

__all__ = [
    "core_fingerprint",
    "distribution_fingerprint",
    "forget",
    "module_fingerprint",
    "package_fingerprint",
    "stands_on",
]

CORE = "tri-core"
#: the top-level package or module of a recorded file
_RECORDED = re.compile(r"^([A-Za-z_]\w*)(?:\.py(?=,)|/)", re.MULTILINE)
#: bytes that are read at once: more than nearly all files have
_PART = 1 << 17
_SKIPPED_FOLDERS = frozenset({"__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache"})


def _digest(parts: Iterable[bytes]) -> str:
    state = hashlib.sha256()
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.hexdigest()


def _files(folder: str, prefix: str = "", linked: frozenset[str] = frozenset()) -> Iterator[tuple[str, str]]:
    """The name below ``folder``, and the path, of every file in it but byte code; each folder sorted.

    ``linked`` are the links to folders that led here: one that leads to itself is followed once.
    """
    with os.scandir(folder) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        if entry.is_dir():
            links = linked | {os.path.realpath(entry.path)} if entry.is_symlink() else linked
            if entry.name not in _SKIPPED_FOLDERS and (links is linked or links > linked):
                yield from _files(entry.path, f"{prefix}{entry.name}/", links)
        elif not entry.name.endswith(".pyc"):
            yield prefix + entry.name, entry.path


def _content(path: str) -> bytes:
    """Contents of a file; the reason if it cannot be read, empty if it is not a regular file (a pipe, a
    socket).
    """
    if not os.path.isfile(path):
        return b""
    try:
        # a thousand files: an object for each and its questions would double the time
        file = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        try:
            parts = list(iter(lambda: os.read(file, _PART), b""))
        finally:
            os.close(file)
    except OSError as error:
        return f"unreadable: {error.errno}".encode()
    return b"".join(parts)


def _folder_digest(folder: Path) -> str:
    return _digest(part for name, path in _files(str(folder)) for part in (name.encode(), _content(path)))


def _location(package: str) -> Path | None:
    """Path that ``package`` is, or would be, imported from: its folder, or its file; never imports a
    top-level one.
    """
    module = sys.modules.get(package)
    try:
        spec = module.__spec__ if module is not None else importlib.util.find_spec(package)
    except (ImportError, ValueError):
        spec = None
    origin = spec.origin if spec is not None else getattr(module, "__file__", None)
    if origin is None or not Path(origin).is_file():
        return None
    path = Path(origin)
    return path.parent if path.name == "__init__.py" else path


@functools.cache
def package_fingerprint(package: str) -> str:
    """The hash of ``package``'s files as they are imported here; of its name when it has none."""
    location = _location(package)
    if location is None:
        return _digest([package.encode()])
    return _folder_digest(location) if location.is_dir() else _digest([_content(str(location))])


def module_fingerprint(module: str) -> str:
    """The hash of the outermost package, itself no namespace, in which the imported ``module`` lies."""
    parts = module.split(".")
    packages = (".".join(parts[: i + 1]) for i in range(len(parts)))
    return package_fingerprint(next((p for p in packages if _location(p) is not None), module))


def _editable_packages(distribution: importlib.metadata.Distribution, name: str) -> Sequence[str]:
    """The packages of an editable install: those in the folders its ``.pth`` names, else its own name."""
    folders = [Path(str(f.locate())) for f in distribution.files or () if f.suffix == ".pth"]
    lines = [line for file in folders if file.is_file() for line in file.read_text().splitlines()]
    roots = [Path(line) for line in lines if Path(line).is_dir()]
    found = [init.parent.name for root in roots for init in root.glob("*/__init__.py")]
    return sorted({*found, name.replace("-", "_")})


def _packages(distribution: importlib.metadata.Distribution, name: str) -> Sequence[str]:
    """The top-level packages and modules of a distribution."""
    record = distribution.read_text("RECORD") or ""
    packages = set(_RECORDED.findall(record))
    if not packages or ".pth," in record:
        packages |= set(_editable_packages(distribution, name))
    return sorted(packages)


def _namespace_parts(distribution: importlib.metadata.Distribution, package: str) -> Iterator[bytes]:
    """The recorded files below ``package``, which other distributions may have files in as well."""
    for file in sorted(map(str, distribution.files or ())):
        if file.startswith(f"{package}/") and not file.endswith(".pyc"):
            yield from (file.encode(), _content(str(distribution.locate_file(file))))


def _own_parts(distribution: importlib.metadata.Distribution, name: str) -> list[bytes]:
    parts = [name.encode(), version_of(distribution).encode()]
    for package in _packages(distribution, name):
        parts.append(package_fingerprint(package).encode())
        if _location(package) is None:
            parts += _namespace_parts(distribution, package)
    return parts


def _requirements(distribution: importlib.metadata.Distribution) -> list[str]:
    """Names of the distributions that ``distribution`` requires, without those of its extras."""
    found = requirements_of(distribution)
    return sorted({canonical(name) for name, rest in found if not re.search(r";.*\bextra\b", rest)})


@functools.cache
def _leaf(name: str) -> bytes:
    """A library as a fact: name, version, hash of its file list; ``absent`` when not installed."""
    try:
        distribution = importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return f"{name} absent".encode()
    record = distribution.read_text("RECORD") or ""
    return f"{name} {version_of(distribution)} {_digest([record.encode()])}".encode()


@functools.cache
def _own(name: str) -> bytes:
    return _digest(_own_parts(importlib.metadata.distribution(name), name)).encode()


@functools.cache
def _installed_requirements(name: str) -> Sequence[str] | None:
    try:
        return _requirements(importlib.metadata.distribution(name))
    except importlib.metadata.PackageNotFoundError:
        return None


def _is_ours(name: str) -> bool:
    """True if ``name`` is core or depends on it: a part of the system rather than a library."""
    return name == CORE or CORE in (_installed_requirements(name) or ())


@functools.cache
def _closure(name: str) -> tuple[frozenset[str], frozenset[str]]:
    """The parts of the system that ``name`` stands on, itself included, and the libraries below them."""
    followed, leaves, waiting = {name}, set(), [name]
    while waiting:
        for required in _installed_requirements(waiting.pop()) or ():
            if not _is_ours(required):
                leaves.add(required)
            elif required not in followed:
                followed.add(required)
                waiting.append(required)
    return frozenset(followed), frozenset(leaves)


def stands_on(name: str, other: str) -> bool:
    """True if distribution ``name`` is, or requires directly or not, the part of the system ``other``."""
    return canonical(other) in _closure(canonical(name))[0]


@functools.cache
def distribution_fingerprint(name: str) -> str:
    """The hash of distribution ``name`` and of all that it stands on; PackageNotFoundError if not installed."""
    name = canonical(name_of(importlib.metadata.distribution(name)))
    followed, leaves = _closure(name)
    return _digest([*(_own(n) for n in sorted(followed)), *(_leaf(n) for n in sorted(leaves))])


def core_fingerprint() -> str:
    """The hash of tri-core and its libraries; of its files alone where it runs without being installed."""
    try:
        return distribution_fingerprint(CORE)
    except importlib.metadata.PackageNotFoundError:
        return package_fingerprint("tri_core")


def forget() -> None:
    """Hash everything anew when next asked: something was installed or edited in this process."""
    for cached in (package_fingerprint, distribution_fingerprint, _own, _leaf, _closure):
        cached.cache_clear()
    _installed_requirements.cache_clear()
