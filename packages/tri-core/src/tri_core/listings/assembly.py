"""Places in assembly as text: the directives ``.file`` and ``.loc``, which DWARF's line tables come from."""

from __future__ import annotations

import os
import re

from tri_core.listings.places import Listing, Place, Places

__all__ = ["read_assembly"]

_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"((?:[^"\\]|\\.)*)"(?:\s+"((?:[^"\\]|\\.)*)")?', re.M)
_LOC = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)(?:\s+(\d+))?")
_INLINED = re.compile(r"\binlined_at\s+(\d+)\s+(\d+)\s+(\d+)")
_END = re.compile(r"^\S*func_end\d*:|^\s*\.(?:section|text)\b|^\}")
#: directives, labels and comments are not code
_CODE = re.compile(r"^\s*(?!\.|//|;|#|\S+:\s*(?:[;#].*)?$|[{}]\s*$|$)\S")


def read_assembly(text: str) -> Listing:
    """The lines of assembly as they are; code has the place of the ``.loc`` before it, to the end of its function.

    Line 0 marks code that came from no line.
    """
    files = {int(f[1]): os.path.join(f[2], f[3] or "") if f[3] else f[2] for f in _FILE.finditer(text)}
    lines = tuple(text.rstrip("\n").split("\n"))
    now: Places = ()
    places = []
    for line in lines:
        found = _LOC.match(line)
        if found is not None:
            now = _at(found, line, files)
        elif _END.match(line):
            now = ()
        places.append(now if found is not None or _CODE.match(line) else ())
    return Listing(lines, tuple(places))


def _at(found: re.Match[str], line: str, files: dict[int, str]) -> Places:
    innermost = (found[1], found[2], found[3] or "0")
    chain = (innermost, *(m.groups() for m in _INLINED.finditer(line)))
    numbers = [(int(file), int(row), int(column)) for file, row, column in chain]
    return tuple(Place(files[f], row, column) for f, row, column in numbers if row and f in files)
