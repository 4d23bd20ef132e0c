"""Finding plugins: the entry points of group ``tri``, and the knobs that leave some of them out."""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Iterator, Sequence

from tri_core import knobs
from tri_core.plugins.records import Candidate

__all__ = ["GROUP", "candidates", "canonical", "is_selected"]

GROUP = "tri"


def canonical(name: str) -> str:
    """A distribution's or plugin's name, normalised as package indexes do."""
    return re.sub(r"[-_.]+", "-", name).lower()


def candidates() -> list[Candidate]:
    """Every plugin installed, sorted by name; of a distribution found twice, the first on ``sys.path``."""
    found: dict[str, list[Candidate]] = {}
    for distribution in importlib.metadata.distributions():
        # Reading the file is what importlib.metadata.entry_points() does as well, but it also parses every
        # group of every distribution: three times as slow in a large environment.
        text = distribution.read_text("entry_points.txt")
        if text is None or f"[{GROUP}]" not in text:
            continue
        name = canonical(distribution.metadata["Name"])
        if name not in found:
            found[name] = list(_of(distribution, name))
    return sorted((c for group in found.values() for c in group), key=lambda c: (c.name, c.dist))


def _of(distribution: importlib.metadata.Distribution, name: str) -> Iterator[Candidate]:
    for point in distribution.entry_points.select(group=GROUP):
        yield Candidate(
            name=point.name,
            module=point.value,
            load=point.load,
            dist=name,
            version=distribution.version,
            distribution=distribution,
        )


def _names(knob: str) -> Sequence[str]:
    return [canonical(name.strip()) for name in knobs.get(knob).split(",") if name.strip()]


def is_selected(candidate: Candidate) -> bool:
    """Whether ``TRI_PLUGINS`` and ``TRI_DISABLE_PLUGINS`` let ``candidate`` in (by plugin or dist name)."""
    own = {canonical(candidate.name), candidate.dist}
    only = _names("PLUGINS")
    if only and own.isdisjoint(only):
        return False
    return own.isdisjoint(_names("DISABLE_PLUGINS"))
