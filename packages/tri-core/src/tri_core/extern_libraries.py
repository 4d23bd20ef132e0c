"""Libraries that a program brings itself: the option ``extern_libs``, and what a function of one means in Python.

An entry is ``(name, path, digest)``: what kernels call the library, its file, and SHA-256 of its content, so that a kernel in a store is
of this content.  What a file is, its first bytes say (:class:`Kind`); which kinds a target links is its backend's.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tri_core.errors import OptionError, Unsupported
from tri_core.lazy_dataclasses import dataclass

__all__ = [
    "BITCODE",
    "SHARED_OBJECT",
    "USER",
    "Kind",
    "checked_libraries",
    "meaning_of",
    "paths_by_kind",
    "register_meaning",
]

#: one library as options have it
Library = tuple[str, str, str]

#: ``libname`` of functions that a program calls without naming a library
USER = "extern"


@dataclass(frozen=True)
class Kind:
    """A kind of library: its name in messages, and whether a file with such first bytes (4096 at most) is one."""

    name: str
    is_one: Callable[[bytes], bool]


BITCODE = Kind("LLVM bitcode", lambda start: start.startswith((b"BC\xc0\xde", b"\xde\xc0\x17\x0b")))
SHARED_OBJECT = Kind("a shared object", lambda start: start.startswith(b"\x7fELF"))
_digests: dict[tuple[str, int, int], str] = {}
_meanings: dict[str, Callable[..., Any]] = {}


def checked_libraries(given: Any) -> tuple[Library, ...]:
    """``given`` (a mapping of names to paths, or pairs, or entries with digests) as entries; OptionError for what cannot be read, or was another file."""
    if not given:
        return ()
    items: Sequence[Any] = list(given.items()) if isinstance(given, Mapping) else list(given)
    return tuple(_entry(item) for item in items)


def _entry(item: Any) -> Library:
    try:
        name, path, *former = item
        name, path = str(name), os.path.abspath(os.fspath(path))
    except (TypeError, ValueError):
        raise OptionError(
            f"option extern_libs holds {item!r}; a name and a path are expected",
            remedy='pass extern_libs={"name": "library.bc"}',
        ) from None
    digest = _digest(name, path)
    if former and former[0] != digest:
        raise OptionError(
            f"library {name!r} at {path!r} is not the file that the options are of (SHA-256 {digest[:12]}, {former[0][:12]} expected)",
            remedy="bring that file back, or compile anew with extern_libs={name: path}",
        )
    return name, path, digest


def _digest(name: str, path: str) -> str:
    try:
        status = os.stat(path)
        key = (path, status.st_mtime_ns, status.st_size)
        if key not in _digests:
            _digests[key] = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError as error:
        raise OptionError(
            f"library {name!r} of option extern_libs cannot be read: {path}: {error.strerror}",
            remedy="give the path of a file that is there",
        ) from None
    return _digests[key]


def paths_by_kind(
    libraries: Sequence[Library], target: object, kinds: Sequence[Kind]
) -> dict[Kind, tuple[str, ...]]:
    """Paths of ``libraries`` by kind; Unsupported for one of another kind than ``target`` links, which are ``kinds``."""
    found: dict[Kind, list[str]] = {kind: [] for kind in kinds}
    for name, path, _ in libraries:
        with open(path, "rb") as file:
            start = file.read(4096)
        kind = next((k for k in kinds if k.is_one(start)), None)
        if kind is None:
            raise Unsupported(
                f"library {name!r} ({path}) is not what {target} links: {' or '.join(k.name for k in kinds)}",
                remedy="compile the library for this target, e.g. with clang -emit-llvm -c",
            )
        found[kind].append(path)
    return {kind: tuple(paths) for kind, paths in found.items()}


def register_meaning(symbol: str, function: Callable[..., Any]) -> None:
    """Let simulated targets carry out ``symbol``, a function of a program's library, as ``function`` of NumPy arrays.

    ``function`` takes the operands, each an array with one value for each thread, and gives an array of results.  It has no effects.
    """
    _meanings[symbol] = function


def meaning_of(symbol: str) -> Callable[..., Any] | None:
    """The function that :func:`register_meaning` has for ``symbol``."""
    return _meanings.get(symbol)
