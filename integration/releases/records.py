"""``releases.toml``: which commit is which release."""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from packaging.version import InvalidVersion, Version

from tri_core.errors import OptionError

__all__ = ["FILE", "Release", "read_releases"]

FILE = "releases.toml"
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class Release:
    """Version ``version`` of ``package`` is what ``commit`` holds."""

    package: str
    version: Version
    commit: str

    def __str__(self) -> str:
        return f"{self.package} {self.version}"


def read_releases(file: Path) -> dict[str, tuple[Release, ...]]:
    """The releases of each package, oldest first; OptionError for a file that cannot be meant so."""
    try:
        tables = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise OptionError(
            f"{file} cannot be read: {error}", remedy="write [package] and version = commit"
        ) from error
    return {name: _releases(file, name, table) for name, table in tables.items()}


def _releases(file: Path, name: str, table: object) -> tuple[Release, ...]:
    if not isinstance(table, Mapping):
        raise OptionError(
            f"{file}: {name} = {table!r}", remedy=f'write [{name}] and below it "VERSION" = "COMMIT"'
        )
    found = sorted((_release(file, name, *entry) for entry in table.items()), key=lambda r: r.version)
    for one, other in itertools.pairwise(found):
        if one.version == other.version:
            raise OptionError(f"{file} records {one} twice", remedy="keep the commit that was published")
    return tuple(found)


def _release(file: Path, name: str, version: str, commit: object) -> Release:
    try:
        parsed = Version(version)
    except InvalidVersion as error:
        raise OptionError(
            f"{file}: {name} {version!r} is no version", remedy="write it as in pyproject.toml"
        ) from error
    if not isinstance(commit, str) or not _COMMIT.fullmatch(commit):
        raise OptionError(
            f"{file}: the commit of {name} {version} is {commit!r}",
            remedy="write all 40 digits, as `git rev-parse` prints them",
        )
    return Release(name, parsed, commit)
