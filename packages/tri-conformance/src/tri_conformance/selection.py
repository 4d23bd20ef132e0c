"""Which cases are run: by level, by glob, or one in N."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from tri_conformance.case import Case
from tri_conformance.levels import LEVELS
from tri_core.api import OptionError

__all__ = ["Selection", "cases"]


@dataclass(frozen=True, kw_only=True)
class Selection:
    """What to run: ``levels`` (empty: all), ``select`` a glob of ids, one in ``sample`` cases of each feature."""

    levels: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    sample: int = 1

    def __post_init__(self) -> None:
        unknown = [name for name in self.levels if name not in LEVELS]
        if unknown:
            raise OptionError(f"unknown level {', '.join(unknown)}", remedy=f"known: {', '.join(LEVELS)}")
        if self.sample < 1:
            raise OptionError(
                f"a sample of one in {self.sample} is none", remedy="give a number of at least 1"
            )

    @property
    def is_whole(self) -> bool:
        """Whether every case of every level is run."""
        return self.sample == 1 and not self.select and set(self.levels or LEVELS) == set(LEVELS)

    def pick(self, found: Iterable[Case]) -> list[Case]:
        """The cases of ``found`` that are run, in their order."""
        wanted = [c for c in found if not self.select or any(fnmatchcase(c.id, g) for g in self.select)]
        if self.sample == 1:
            return wanted
        features: dict[tuple[str, str], list[Case]] = {}
        for case in wanted:
            features.setdefault((case.level, case.feature), []).append(case)
        return [case for group in features.values() for case in self._few(group)]

    def _few(self, group: list[Case]) -> list[Case]:
        """One in ``sample``, rounded up, by the hash of the id: the choice is stable when cases are added."""
        count = -(-len(group) // self.sample)
        chosen = set(sorted((c.id for c in group), key=lambda i: zlib.crc32(i.encode()))[:count])
        return [case for case in group if case.id in chosen]


def cases(selection: Selection) -> tuple[list[Case], int]:
    """The cases to run, and how many of the levels' cases are left out."""
    whole = [case for name in selection.levels or tuple(LEVELS) for case in LEVELS[name]()]
    picked = selection.pick(whole)
    return picked, len(whole) - len(picked)
