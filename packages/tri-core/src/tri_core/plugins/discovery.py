"""Finding plugins: the entry points of group ``tri``, and the knobs that leave some of them out."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator, Sequence
from pathlib import Path

from tri_core import knobs
from tri_core.errors import PluginError
from tri_core.foreign import describe
from tri_core.plugins.headers import canonical, name_of, version_of
from tri_core.plugins.records import Candidate

__all__ = ["GROUP", "candidates", "canonical", "is_selected"]

GROUP = "tri"


def candidates() -> list[Candidate]:
    """Every plugin installed, sorted by name; of a distribution found twice, the first on ``sys.path``.

    A distribution whose files cannot be read is a candidate, named like it, that cannot be loaded.
    """
    found: dict[str, list[Candidate]] = {}
    for distribution in importlib.metadata.distributions():
        try:
            name, group = _read(distribution)
        except Exception as error:
            name, group = _unreadable(distribution, error)
        if group:
            found.setdefault(name, group)
    return sorted((c for group in found.values() for c in group), key=lambda c: (c.name, c.dist))


def _read(distribution: importlib.metadata.Distribution) -> tuple[str, list[Candidate]]:
    # Reading the file is what importlib.metadata.entry_points() does as well, but it also parses every
    # group of every distribution: three times as slow in a large environment.
    try:
        text = distribution.read_text("entry_points.txt")
    except UnicodeDecodeError as error:
        if f"[{GROUP}]".encode() in error.object.replace(b"\0", b""):  # also of UTF-16
            raise
        return "", []
    if text is None or f"[{GROUP}]" not in text:
        return "", []
    if text.startswith("\ufeff"):
        raise ValueError("entry_points.txt starts with a byte-order mark; UTF-8 without one is expected")
    name = canonical(name_of(distribution))
    return name, list(_of(distribution, name))


def _of(distribution: importlib.metadata.Distribution, name: str) -> Iterator[Candidate]:
    version = version_of(distribution)
    if not version:
        raise ValueError("its METADATA says no version")
    for point in distribution.entry_points.select(group=GROUP):
        yield Candidate(
            name=point.name,
            module=point.value,
            load=point.load,
            dist=name,
            version=version,
            distribution=distribution,
        )


def _unreadable(
    distribution: importlib.metadata.Distribution, error: Exception
) -> tuple[str, list[Candidate]]:
    """A candidate that says, when it is loaded, why the files of ``distribution`` cannot be read."""
    folder = getattr(distribution, "_path", None)  # there is no public way to where a distribution lies
    name = canonical(Path(str(folder)).name.partition("-")[0]) if folder is not None else "unknown"

    def load() -> object:
        raise PluginError(
            f"the metadata in {folder or distribution!r} cannot be read: {describe(error)}",
            plugin=name,
            remedy=f"install {name} again, or uninstall it",
        ) from error

    return name, [Candidate(name=name, module="", load=load, dist=name)]


def _names(knob: str) -> Sequence[str]:
    return [canonical(name.strip()) for name in knobs.get(knob).split(",") if name.strip()]


def is_selected(candidate: Candidate) -> bool:
    """True if ``TRI_PLUGINS`` and ``TRI_DISABLE_PLUGINS`` select ``candidate`` (by plugin or dist name)."""
    own = {canonical(candidate.name), candidate.dist}
    only = _names("PLUGINS")
    if only and own.isdisjoint(only):
        return False
    return own.isdisjoint(_names("DISABLE_PLUGINS"))
