"""Versions with which each backend is tested, and the environment that holds them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from integration.matrix.environments import Environment, Installer, Wheelhouse
from integration.matrix.rows import Row
from integration.releases.choice import Candidate, candidates, newest, oldest
from integration.releases.history import History, HistoryError
from integration.releases.project import Project, projects
from integration.releases.records import FILE, Release, read_releases

__all__ = ["NEWEST", "OLDEST", "SAME", "Pairing", "Plan", "prepare"]

NEWEST, OLDEST, SAME = "newest", "oldest", "newest = oldest"


@dataclass(frozen=True, kw_only=True)
class Pairing:
    """A backend with chosen versions of what it and the kit need; ``untested`` says why there are none."""

    row: Row
    name: str
    chosen: Mapping[str, Candidate]
    untested: str = ""

    @property
    def versions(self) -> dict[str, str]:
        """Distribution: version."""
        return {name: str(candidate.version) for name, candidate in self.chosen.items()}

    @property
    def folder(self) -> str:
        """A name for its environment."""
        return f"{self.row.package}-{self.name.partition(' ')[0]}"


@dataclass(frozen=True)
class Plan:
    """The pairings of backends of the repository at ``top``, judged by the distribution ``kit``."""

    top: Path
    kit: str
    demand_history: bool = False

    @cached_property
    def tree(self) -> dict[str, Project]:
        """The packages of the tree."""
        return projects(self.top)

    @cached_property
    def releases(self) -> dict[str, tuple[Release, ...]]:
        """Releases by package."""
        return read_releases(self.top / FILE)

    @cached_property
    def _found(self) -> dict[str, tuple[Candidate, ...]] | HistoryError:
        try:
            return candidates(self.tree, self.releases, History(self.top))
        except HistoryError as error:
            if self.demand_history:
                raise
            return error

    def pairings(self, row: Row) -> Iterator[Pairing]:
        """The newest, and the oldest where that is another; NoChoice if ranges contradict each other."""
        tree = {name: (Candidate(project=project),) for name, project in self.tree.items()}
        new = newest(row.package, row.extras, self.kit, tree)
        found = self._found
        if isinstance(found, HistoryError):
            yield Pairing(row=row, name=NEWEST, chosen=new)
            yield Pairing(row=row, name=OLDEST, chosen={}, untested=found.message)
            return
        old = oldest(row.package, row.extras, self.kit, found)
        yield Pairing(row=row, name=SAME if old == new else NEWEST, chosen=new)
        if old != new:
            yield Pairing(row=row, name=OLDEST, chosen=old)


def prepare(pairing: Pairing, wheelhouse: Wheelhouse, installer: Installer, folder: Path) -> Environment:
    """The environment of ``pairing`` below ``folder``, checked to be alone.

    HistoryError, InstallError or NotAlone when it cannot be had so.
    """
    wheels = {name: wheelhouse.wheel(candidate) for name, candidate in pairing.chosen.items()}
    made = installer.environment(folder / pairing.folder, wheels, {pairing.row.package: pairing.row.extras})
    made.check_alone(pairing.versions)
    return made
