"""Contents of a page of the explorer."""

from __future__ import annotations

from collections.abc import Mapping

from tri_core.lazy_dataclasses import dataclass
from tri_core.listings import Listing
from tri_core.occupancy import Occupancy

__all__ = ["Column", "Excerpt", "Fact", "Page", "Picture", "Tab", "Version"]


@dataclass(frozen=True)
class Fact:
    """One number that people ask for, with its unit in words."""

    name: str
    value: str


@dataclass(frozen=True)
class Excerpt:
    """Lines of a source file from line ``first`` on; ``note`` says why there are none."""

    file: str
    first: int
    lines: tuple[str, ...]
    note: str = ""


@dataclass(frozen=True)
class Picture:
    """The layout ``definition`` for a tensor of ``shape``: basis vectors of its places, or why it cannot be drawn."""

    definition: str
    shape: tuple[int, ...]
    vectors: Mapping[str, tuple[tuple[int, ...], ...]]
    shared: bool = False
    padding: tuple[tuple[int, int], ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Version:
    """A text of a stage: ``title`` is the pass that made it; ``layouts`` maps encodings in it to their definitions."""

    title: str
    listing: Listing
    layouts: Mapping[str, str]


@dataclass(frozen=True)
class Column:
    """A stage: its texts in the order in which they were made, the last being what the next stage got."""

    name: str
    versions: tuple[Version, ...]


@dataclass(frozen=True)
class Tab:
    """One compile of one kernel."""

    name: str
    target: str
    facts: tuple[Fact, ...]
    occupancy: Occupancy | None
    sources: tuple[Excerpt, ...]
    columns: tuple[Column, ...]
    pictures: tuple[Picture, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Page:
    """Contents of one file."""

    title: str
    tabs: tuple[Tab, ...]
