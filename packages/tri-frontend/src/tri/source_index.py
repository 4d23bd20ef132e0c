"""Index of a file's definitions that avoids parsing it, kept by the file's content.

`tri warm` and `tri record` put one for each file of their kernels into the bundle.  A program that serves the bundle then neither parses the
sources of kernels nor walks over their trees, a third of the time of a first launch.  The index is found by the content that the file has
now, so a file that was changed has none, and its kernels are parsed.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tri_core.cache.default import default_store, served_bundle
from tri_core.plugins.fingerprint import package_fingerprint

__all__ = ["Definition", "definitions_of", "index_entry"]


class Definition(NamedTuple):
    """A function of a file: its ``name``, the lines of ``def`` and of its end (from 1), and the names that it uses, dotted ones too."""

    name: str
    first: int
    last: int
    paths: tuple[str, ...]


#: by file: its lines as ``linecache`` keeps them while they are the same, and what is known of them
_known: dict[str, tuple[Sequence[str], Mapping[int, Definition]]] = {}


def definitions_of(file: str, lines: Sequence[str]) -> Mapping[int, Definition]:
    """The definitions in ``lines``, what ``file`` is now, by the line where each begins; none where no bundle that is served knows them."""
    if served_bundle() is None:
        return {}
    known = _known.get(file)
    if known is None or known[0] is not lines:
        known = _known[file] = (lines, _read(default_store().get(_key(lines))))
    return known[1]


def index_entry(lines: Sequence[str], definitions: Mapping[int, Definition]) -> tuple[str, bytes]:
    """Key and payload by which a bundle knows the ``definitions`` of a file of these ``lines``."""
    return _key(lines), json.dumps(definitions).encode()


def _read(payload: bytes | None) -> dict[int, Definition]:
    if payload is None:
        return {}
    found: dict[str, tuple[str, int, int, list[str]]] = json.loads(payload)
    return {
        int(line): Definition(name, first, last, tuple(map(sys.intern, paths)))
        for line, (name, first, last, paths) in found.items()
    }


def _key(lines: Sequence[str]) -> str:
    """Key of the index of a file of such lines, by this package and this Python's grammar."""
    made = f"definitions {package_fingerprint('tri')} {sys.version_info[:2]}\n"
    return hashlib.sha256("".join((made, *lines)).encode("utf-8", "surrogatepass")).hexdigest()
