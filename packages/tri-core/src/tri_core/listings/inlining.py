"""Call sites for texts that know only the innermost place of a line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field

from tri_core.lazy_dataclasses import dataclass
from tri_core.listings.places import Listing, Place, Places

__all__ = ["Inlining"]


@dataclass(frozen=True)
class Inlining:
    """Call sites of inlined code by place, where unique; places without column are kept too."""

    callers: Mapping[Place, Places] = field(default_factory=dict)

    @classmethod
    def of(cls, listings: Iterable[Listing]) -> Inlining:
        """Call sites in those lines of ``listings`` that have some."""
        found: dict[Place, set[Places]] = {}
        for listing in listings:
            for innermost, *callers in (places for places in listing.places if len(places) > 1):
                for key in (innermost, Place(innermost.file, innermost.line)):
                    found.setdefault(key, set()).add(tuple(callers))
        return cls({key: next(iter(known)) for key, known in found.items() if len(known) == 1})

    def complete(self, listing: Listing) -> Listing:
        """``listing`` with the call sites of places that stand alone."""
        return Listing(listing.lines, tuple(self._completed(places) for places in listing.places))

    def _completed(self, places: Places) -> Places:
        return places + self.callers.get(places[0], ()) if len(places) == 1 else places
