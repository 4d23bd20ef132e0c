"""What is happening now: the op that runs, the program that runs it, and how errors tell of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tri_core.errors import SimulationError, SourceLocation
from tri_core.locations import source_location
from tri_core.mlir import ir

__all__ = ["Scene", "Site", "in_kernel"]


@dataclass(frozen=True)
class Site:
    """An op of the kernel, and where in the user's source it comes from."""

    op: str
    location: ir.Location

    def source(self) -> SourceLocation | None:
        """The place in the user's source; None when the IR does not say."""
        return source_location(self.location)


def in_kernel(place: SourceLocation | None) -> SourceLocation | None:
    """The line of the kernel itself: of an inlined function, where the kernel calls it."""
    return place.call_sites[-1] if place is not None and place.call_sites else place


@dataclass
class Scene:
    """The op (an index of ``sites``) and program at work; shared by all that may find an error."""

    sites: Sequence[Site] = ()
    site: int = -1
    program: tuple[int, int, int] = field(default=(0, 0, 0))

    def place(self, site: int | None = None) -> SourceLocation | None:
        """Where in the source ``site``, or the present op, comes from."""
        index = self.site if site is None else site
        return self.sites[index].source() if 0 <= index < len(self.sites) else None

    def told(self, site: int) -> str:
        """``site`` as part of a sentence: `` at file:line:column``, or what op it is."""
        place = in_kernel(self.place(site))
        if place is not None:
            return f" at {place.file}:{place.line}:{place.column + 1}"
        return f" by {self.sites[site].op}" if 0 <= site < len(self.sites) else ""

    def error(
        self,
        check: str,
        message: str,
        *,
        thread: int | None = None,
        other: int | None = None,
        remedy: str | None = None,
    ) -> SimulationError:
        """The error that the present op makes; ``other`` is the site of the access that it clashes with."""
        return SimulationError(
            f"program {self.program}: {message}",
            location=self.place(),
            remedy=remedy,
            check=check,
            program=self.program,
            thread=thread,
            other=None if other is None else self.place(other),
        )
