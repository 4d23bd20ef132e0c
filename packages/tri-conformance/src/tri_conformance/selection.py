"""Selection of cases: by level, by glob, or one in N."""

from __future__ import annotations

import difflib
import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from tri_conformance.case import Case
from tri_conformance.levels import LEVELS
from tri_core.api import OptionError

__all__ = ["Selection", "cases"]

#: how many ids an error names
_NEAR = 6
#: a glob up to its first sign that stands for several ids
_LITERAL = re.compile(r"[^*?[]*")


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Selection of cases: ``levels`` (empty: all), ``select`` globs of ids, one in ``sample`` cases of each
    feature.

    OptionError for a level that is not there and a sample below 1.
    """

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

    @classmethod
    def of(cls, levels: str, select: Iterable[str], sample: int) -> Selection:
        """From what options say: ``levels`` joined by commas."""
        return cls(levels=tuple(filter(None, levels.split(","))), select=tuple(select), sample=sample)

    @property
    def is_whole(self) -> bool:
        """True if every case of every level is run."""
        return self.sample == 1 and not self.select and set(self.levels or LEVELS) == set(LEVELS)

    def pick(self, found: Iterable[Case]) -> list[Case]:
        """The cases of ``found`` that are run, in their order; OptionError for a glob that matches none of them."""
        found = list(found)
        for glob in self.select:
            self._require(glob, [case.id for case in found])
        wanted = [c for c in found if not self.select or any(fnmatchcase(c.id, g) for g in self.select)]
        if self.sample == 1:
            return wanted
        features: dict[tuple[str, str], list[Case]] = {}
        for case in wanted:
            features.setdefault((case.level, case.feature), []).append(case)
        return [case for group in features.values() for case in self._few(group)]

    def _require(self, glob: str, ids: Sequence[str]) -> None:
        if any(fnmatchcase(identity, glob) for identity in ids):
            return
        levels = ", ".join(self.levels or LEVELS)
        near = _near(glob, ids)
        remedy = f"near it: {', '.join(near)}; " if near else ""
        raise OptionError(
            f"no case of the levels {levels} matches {glob!r}: an id is level/feature/point",
            remedy=f"{remedy}--list shows all",
        )

    def _few(self, group: list[Case]) -> list[Case]:
        """One in ``sample``, rounded up, by the hash of the id: the choice is stable when cases are added."""
        count = -(-len(group) // self.sample)
        chosen = set(sorted((c.id for c in group), key=lambda i: zlib.crc32(i.encode()))[:count])
        return [case for case in group if case.id in chosen]


def _near(glob: str, ids: Sequence[str]) -> list[str]:
    """Globs and ids that select something and resemble ``glob``: those that begin like it first."""
    features = list(dict.fromkeys(_feature(identity) for identity in ids))
    literal = _LITERAL.match(glob)
    start = literal.group().rstrip("/") if literal else ""
    if "/" not in start:  # a feature, without its level
        names = {name.split("/")[1]: name for name in features}
        alike = [*filter(lambda n: start and n.startswith(start), names), *_alike(glob, names)]
        return list(dict.fromkeys(names[n] for n in alike))[:_NEAR]
    begun = [name for name in (*features, *ids) if name.startswith(start)]
    alike = _alike(glob, ids if _feature(glob) in features else features)
    return list(dict.fromkeys([*begun, *alike]))[:_NEAR]


def _feature(identity: str) -> str:
    """A glob of the cases of the feature that ``identity`` is of."""
    level, feature, *point = identity.split("/")
    return f"{level}/{feature}/*" if point else identity


def _alike(name: str, among: Iterable[str]) -> list[str]:
    return difflib.get_close_matches(name, list(among), _NEAR, 0.5)


def cases(selection: Selection) -> tuple[list[Case], int]:
    """The cases to run, at least one, and how many of the levels' cases are left out.

    OptionError for a glob that selects none.
    """
    whole = [case for name in selection.levels or tuple(LEVELS) for case in LEVELS[name]()]
    picked = selection.pick(whole)
    return picked, len(whole) - len(picked)
