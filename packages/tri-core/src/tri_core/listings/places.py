"""Places in source files, and texts with the places of their lines."""

from __future__ import annotations

from collections.abc import Iterable

from tri_core.lazy_dataclasses import dataclass

__all__ = ["Listing", "Place", "Places", "merged", "plain"]


@dataclass(frozen=True, order=True)
class Place:
    """A place in a source file; lines and columns count from 1, column 0 is not known."""

    file: str
    line: int
    column: int = 0


#: the innermost place first, then the call sites that led there
Places = tuple[Place, ...]


@dataclass(frozen=True)
class Listing:
    """A text, line by line, with the places that each line came from: ``len(places) == len(lines)``.

    ValueError when the lengths differ.
    """

    lines: tuple[str, ...]
    places: tuple[Places, ...]

    def __post_init__(self) -> None:
        if len(self.lines) != len(self.places):
            raise ValueError(f"{len(self.lines)} lines with the places of {len(self.places)}")

    @property
    def text(self) -> str:
        """The lines as one text."""
        return "\n".join(self.lines)

    def files(self) -> tuple[str, ...]:
        """The files named, each once, in the order of their first mention."""
        return tuple(dict.fromkeys(p.file for places in self.places for p in places))


def merged(parts: Iterable[Places]) -> Places:
    """All places of ``parts``, each once, in order."""
    return tuple(dict.fromkeys(place for part in parts for place in part))


def plain(text: str) -> Listing:
    """A text whose lines came from nowhere."""
    lines = tuple(text.rstrip("\n").split("\n"))
    return Listing(lines, ((),) * len(lines))
