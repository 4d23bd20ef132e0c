"""Content hashes of what takes part in a compile: core, plugins, and the distributions they stand on.

A distribution's fingerprint covers itself and what it requires.  Distributions that depend on ``tri-core``
are followed through to *their* requirements; other libraries count with their version and file list.  An
installed wheel is identified by its ``RECORD`` (which holds a hash of every file); an editable install,
or a package that another ``sys.path`` entry shadows, by the contents of the files that are imported.
Everything is computed once per process, when first needed.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import importlib.util
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tri_core.plugins.discovery import canonical

__all__ = ["core_fingerprint", "distribution_fingerprint", "forget", "package_fingerprint", "stands_on"]

CORE = "tri-core"
_TOP_LEVEL = re.compile(r"^([A-Za-z_]\w*)/__init__\.py,", re.MULTILINE)
_REQUIREMENT = re.compile(r"^Requires-Dist: *([A-Za-z0-9][\w.-]*)([^\n]*)", re.MULTILINE)
_SKIPPED_FOLDERS = frozenset({"__pycache__", ".mypy_cache", ".pytest_cache"})


def _digest(parts: Iterable[bytes]) -> str:
    state = hashlib.sha256()
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.hexdigest()


def _files(folder: Path) -> Iterator[Path]:
    for entry in sorted(folder.iterdir()):
        if entry.is_dir():
            if entry.name not in _SKIPPED_FOLDERS:
                yield from _files(entry)
        elif entry.suffix != ".pyc":
            yield entry


def _folder_digest(folder: Path) -> str:
    parts = []
    for file in _files(folder):
        parts += [str(file.relative_to(folder)).encode(), file.read_bytes()]
    return _digest(parts)


def _location(package: str) -> Path | None:
    """Where top-level ``package`` is, or would be, imported from: its folder, or its file; never imports it."""
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
    """The hash of top-level ``package``'s files as they are imported here; of its name when it has none."""
    location = _location(package)
    if location is None:
        return _digest([package.encode()])
    return _folder_digest(location) if location.is_dir() else _digest([location.read_bytes()])


def _editable_packages(distribution: importlib.metadata.Distribution, name: str) -> Sequence[str]:
    """The packages of an editable install: those in the folders its ``.pth`` names, else its own name."""
    folders = [Path(str(f.locate())) for f in distribution.files or () if f.suffix == ".pth"]
    lines = [line for file in folders if file.is_file() for line in file.read_text().splitlines()]
    roots = [Path(line) for line in lines if Path(line).is_dir()]
    found = [init.parent.name for root in roots for init in root.glob("*/__init__.py")]
    return sorted({*found, name.replace("-", "_")})


def _is_as_recorded(distribution: importlib.metadata.Distribution, packages: Sequence[str]) -> bool:
    return bool(packages) and all(
        _location(package) == Path(str(distribution.locate_file(package))) for package in packages
    )


def _own_parts(distribution: importlib.metadata.Distribution, name: str) -> list[bytes]:
    parts = [name.encode(), distribution.version.encode()]
    record = distribution.read_text("RECORD") or ""
    packages = sorted(set(_TOP_LEVEL.findall(record)))
    if _is_as_recorded(distribution, packages):
        return [*parts, record.encode()]
    packages = packages or list(_editable_packages(distribution, name))
    return [*parts, *(package_fingerprint(package).encode() for package in packages)]


def _requirements(distribution: importlib.metadata.Distribution) -> list[str]:
    """Names of the distributions that ``distribution`` requires, without those of its extras."""
    # The header is plain lines; the email parser of Distribution.requires takes 20 times as long.
    header = (distribution.read_text("METADATA") or "").partition("\n\n")[0]
    found = _REQUIREMENT.findall(header)
    return sorted({canonical(name) for name, rest in found if not re.search(r";.*\bextra\b", rest)})


@functools.cache
def _leaf(name: str) -> bytes:
    """A library as a fact: name, version, hash of its file list; ``absent`` when not installed."""
    try:
        distribution = importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return f"{name} absent".encode()
    record = distribution.read_text("RECORD") or ""
    return f"{name} {distribution.version} {_digest([record.encode()])}".encode()


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
    """Whether ``name`` is core or depends on it: a part of the system rather than a library."""
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
    """Whether distribution ``name`` is, or requires directly or not, the part of the system ``other``."""
    return canonical(other) in _closure(canonical(name))[0]


@functools.cache
def distribution_fingerprint(name: str) -> str:
    """The hash of distribution ``name`` and of all that it stands on; PackageNotFoundError if not installed."""
    name = canonical(importlib.metadata.distribution(name).metadata["Name"])
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
