"""Places in LLVM IR as text: debug metadata."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import field

from tri_core.lazy_dataclasses import dataclass
from tri_core.listings.places import Listing, Place, Places

__all__ = ["read_llvm"]

_NODE = re.compile(r"^(!\d+) = (?:distinct )?(!DI\w+)\((.*)\)$")
_FIELD = re.compile(r'(\w+): (?:"((?:[^"\\]|\\.)*)"|([^,]+))')
_ATTACHED = re.compile(r",? !dbg (!\d+)")
_UNITS = "!llvm.dbg.cu = "
_ESCAPE = re.compile(r"\\([0-9A-Fa-f]{2}|\\)")


def read_llvm(text: str) -> Listing:
    """The lines of LLVM IR without debug metadata, and their places."""
    lines, nodes = [], {}
    for line in text.rstrip("\n").split("\n"):
        found = _NODE.match(line)
        if line.startswith(_UNITS):
            continue
        if found is None:
            lines.append(line)
        else:
            nodes[found[1]] = _Node(
                found[2], {f[1]: f[2] if f[3] is None else f[3] for f in _FIELD.finditer(found[3])}
            )
    metadata = _Metadata(nodes)
    places = tuple(metadata.places(a[1]) if (a := _ATTACHED.search(line)) else () for line in lines)
    return Listing(tuple(_ATTACHED.sub("", line) for line in lines), places)


@dataclass(frozen=True)
class _Node:
    """One specialised metadata node: its kind and its fields as text."""

    kind: str
    fields: Mapping[str, str]


@dataclass(frozen=True)
class _Metadata:
    """The debug metadata of a module."""

    nodes: Mapping[str, _Node]
    known: dict[str, Places] = field(default_factory=dict)

    def places(self, name: str) -> Places:
        """The places of a ``DILocation``, or of the start of a ``DISubprogram``."""
        found = self.known.get(name)
        if found is None:
            self.known[name] = ()
            found = self.known[name] = self._places(name)
        return found

    def _places(self, name: str) -> Places:
        node = self.nodes.get(name)
        if node is None or node.kind not in ("!DILocation", "!DISubprogram"):
            return ()
        file = self._file(name if node.kind == "!DISubprogram" else node.fields.get("scope", ""))
        line = int(node.fields.get("line", 0))
        own = (Place(file, line, int(node.fields.get("column", 0))),) if file and line else ()
        return own + self.places(node.fields.get("inlinedAt", ""))

    def _file(self, scope: str) -> str:
        """The file of a scope, or of the nearest one around it that has one."""
        for _ in range(len(self.nodes)):
            node = self.nodes.get(scope)
            if node is None:
                break
            file = self.nodes.get(node.fields.get("file", ""))
            if file is not None:
                directory, name = (_unescaped(file.fields.get(n, "")) for n in ("directory", "filename"))
                return os.path.join(directory, name)
            scope = node.fields.get("scope", "")
        return ""


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda m: "\\" if m[1] == "\\" else chr(int(m[1], 16)), text)
