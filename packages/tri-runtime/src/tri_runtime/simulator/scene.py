"""Present scene: the op that runs, the program that runs it, and their description in errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tri_core.errors import SimulationError, SourceLocation
from tri_core.lazy_dataclasses import dataclass
from tri_core.locations import source_location
from tri_core.mlir import ir

__all__ = ["Place", "Scene", "Site", "in_kernel", "numbers"]


class Place(Protocol):
    """An op or instruction that errors name."""

    @property
    def op(self) -> str:
        """Name of the op."""
        ...

    @property
    def note(self) -> str:
        """Note for errors besides the place in the source."""
        ...

    def source(self) -> SourceLocation | None:
        """The place in the user's source; None where that is not known."""
        ...


@dataclass(frozen=True)
class Site:
    """An op of the kernel, and where in the user's source it comes from."""

    op: str
    location: ir.Location

    @property
    def note(self) -> str:
        """Nothing: the source says it all."""
        return ""

    def source(self) -> SourceLocation | None:
        """The place in the user's source; None when the IR does not say."""
        return source_location(self.location)


def in_kernel(place: SourceLocation | None) -> SourceLocation | None:
    """The line of the kernel itself: of an inlined function, where the kernel calls it."""
    return place.call_sites[-1] if place is not None and place.call_sites else place


def numbers(threads: npt.NDArray[np.bool_]) -> str:
    """A mask of threads as part of a sentence: ``threads 0-31, 64-95``."""
    found = np.flatnonzero(threads)
    runs = np.split(found, np.flatnonzero(np.diff(found) > 1) + 1)
    parts = [f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs[:8]]
    more = f" and {len(found) - sum(map(len, runs[:8]))} more" if len(runs) > 8 else ""
    return f"{'threads' if len(found) > 1 else 'thread'} {', '.join(parts)}{more}"


@dataclass
class Scene:
    """The op (an index of ``sites``) and program at work; shared by all that may find an error."""

    sites: Sequence[Place] = ()
    site: int = -1
    program: tuple[int, int, int] = field(default=(0, 0, 0))

    def place(self, site: int | None = None) -> SourceLocation | None:
        """Place in the source of ``site``, or of the present op; None if unknown."""
        index = self.site if site is None else site
        return self.sites[index].source() if 0 <= index < len(self.sites) else None

    def describe(self, site: int) -> str:
        """``site`` as part of a sentence: `` at file:line:column``, or what op it is."""
        place = in_kernel(self.place(site))
        if place is not None:
            return f" at {place.file}:{place.line}:{place.column + 1}"
        return f" by {self.sites[site].op}" if 0 <= site < len(self.sites) else ""

    def _note(self) -> str:
        return self.sites[self.site].note if 0 <= self.site < len(self.sites) else ""

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
            f"program {self.program}: {message}{self._note()}",
            location=self.place(),
            remedy=remedy,
            check=check,
            program=self.program,
            thread=thread,
            other=None if other is None else self.place(other),
        )
