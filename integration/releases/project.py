"""A package as its ``pyproject.toml`` describes it, whether it lies in the tree or in a commit."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from tri_core.errors import OptionError

__all__ = ["ENTRY_POINTS", "Project", "projects"]

#: the entry-point group of plugins
ENTRY_POINTS = "tri"


@dataclass(frozen=True, kw_only=True)
class Project:
    """Name, version and requirements; ``plugins`` are the modules that its entry points name."""

    name: str
    version: Version
    requires: tuple[Requirement, ...] = ()
    extras: Mapping[str, tuple[Requirement, ...]] = field(default_factory=lambda: MappingProxyType({}))
    plugins: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Project:
        """Read a ``pyproject.toml``; OptionError when it lacks a name or a version."""
        try:
            table = tomllib.loads(text)["project"]
            name, version = table["name"], table["version"]
        except (tomllib.TOMLDecodeError, KeyError) as error:
            raise OptionError(
                f"a pyproject.toml without {error}", remedy="give [project] a name and a static version"
            ) from error
        optional = table.get("optional-dependencies", {})
        return cls(
            name=canonicalize_name(name),
            version=Version(version),
            requires=_requirements(table.get("dependencies", ())),
            extras=MappingProxyType({extra: _requirements(lines) for extra, lines in optional.items()}),
            plugins=tuple(table.get("entry-points", {}).get(ENTRY_POINTS, {}).values()),
        )

    def requirements(self, extras: Iterable[str] = ()) -> Iterator[Requirement]:
        """Requirements with these ``extras``."""
        yield from self.requires
        for extra in extras:
            yield from self.extras.get(extra, ())

    def ranges(self, names: Iterable[str], extras: Iterable[str] | None = ()) -> dict[str, SpecifierSet]:
        """The versions of ``names`` that it admits; with ``extras`` None those of all extras count too."""
        wanted, found = set(names), dict[str, SpecifierSet]()
        for requirement in self.requirements(self.extras if extras is None else extras):
            name = canonicalize_name(requirement.name)
            if name in wanted:
                found[name] = found.get(name, SpecifierSet()) & requirement.specifier
        return found


def _requirements(lines: Iterable[str]) -> tuple[Requirement, ...]:
    return tuple(Requirement(line) for line in lines)


def projects(top: Path) -> dict[str, Project]:
    """The packages of the tree at ``top``, by name."""
    found = [
        Project.parse(p.read_text(encoding="utf-8")) for p in sorted(top.glob("packages/*/pyproject.toml"))
    ]
    return {project.name: project for project in found}
