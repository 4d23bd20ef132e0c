"""The page as HTML: one file, whose script draws what is in it as JSON."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable
from dataclasses import field
from typing import Any

from tri.explore.records import Column, Page, Picture, Tab, Version
from tri_core.lazy_dataclasses import dataclass
from tri_core.listings import Place

__all__ = ["render"]


def render(page: Page) -> str:
    """The HTML document; nothing is fetched by it, and its content security policy lets nothing be."""
    import jinja2

    loader = jinja2.PackageLoader("tri.explore", "page")
    environment = jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    data = [_tab(tab) for tab in page.tabs]
    # in a script element, HTML looks for its end and for comments
    encoded = json.dumps(data, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    return environment.get_template("page.html").render(page=page, data=encoded)


@dataclass
class _Table:
    """Values by their number, each once."""

    numbers: dict[Any, int] = field(default_factory=dict)

    def __call__(self, value: Any) -> int:
        return self.numbers.setdefault(value, len(self.numbers))

    def values(self) -> list[Any]:
        return list(self.numbers)


@dataclass
class _Tables:
    """Tables shared by the texts of a tab: lines (text and places), places (of file and line), files,
    definitions.
    """

    lines: _Table = field(default_factory=_Table)
    places: _Table = field(default_factory=_Table)
    files: _Table = field(default_factory=_Table)
    definitions: _Table = field(default_factory=_Table)

    def place(self, places: Iterable[Place]) -> int:
        """The number of these places; columns do not matter."""
        return self.places(tuple(dict.fromkeys((self.files(p.file), p.line) for p in places)))


def _tab(tab: Tab) -> dict[str, Any]:
    tables = _Tables()
    columns = [_column(column, tables) for column in tab.columns]
    sources = [
        {"file": tables.files(e.file), "first": e.first, "lines": e.lines, "note": e.note}
        for e in tab.sources
    ]
    pictures = [_picture(p, tables) for p in tab.pictures]
    return {
        "columns": columns,
        "sources": sources,
        "pictures": pictures,
        "lines": tables.lines.values(),
        "places": tables.places.values(),
        "files": tables.files.values(),
        "definitions": tables.definitions.values(),
    }


def _column(column: Column, tables: _Tables) -> dict[str, Any]:
    made: list[dict[str, Any]] = []
    previous: list[int] | None = None
    for version in column.versions:
        lines = _lines(version, tables)
        layouts = {written: tables.definitions(text) for written, text in version.layouts.items()}
        entry: dict[str, Any] = {"title": version.title, "layouts": layouts}
        if lines == previous:
            entry["same"] = True  # the text is the one before
        else:
            entry |= {"lines": lines, "changes": _changes(previous, lines)}
        made.append(entry)
        previous = lines
    return {"name": column.name, "versions": made}


def _lines(version: Version, tables: _Tables) -> list[int]:
    listing = version.listing
    pairs = zip(listing.lines, listing.places, strict=True)
    return [tables.lines((text, tables.place(places))) for text, places in pairs]


def _changes(before: list[int] | None, after: list[int]) -> list[tuple[int, int, int, int]]:
    """Ranges of lines that differ: start and end before, start and end after."""
    if before is None:
        return []
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    return [(i, j, k, m) for tag, i, j, k, m in matcher.get_opcodes() if tag != "equal"]


def _picture(picture: Picture, tables: _Tables) -> dict[str, Any]:
    return {
        "definition": tables.definitions(picture.definition),
        "shape": picture.shape,
        "vectors": picture.vectors,
        "shared": picture.shared,
        "padding": picture.padding,
        "note": picture.note,
    }
