"""Versions that are tested together: the oldest, and the newest, that the declared ranges admit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import networkx as nx
from packaging.version import Version

from integration.releases.history import History
from integration.releases.project import Project
from integration.releases.records import Release
from tri_core.errors import TriError

__all__ = ["Candidate", "NoChoice", "candidates", "newest", "oldest"]


class NoChoice(TriError):
    """No versions of the packages satisfy each other's ranges."""


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """One version of a package: of the tree when ``release`` is None."""

    project: Project
    release: Release | None = None

    @property
    def version(self) -> Version:
        """The version."""
        return self.project.version

    def __str__(self) -> str:
        return f"{self.project.name} {self.version}"


#: versions of each package
Found = Mapping[str, Sequence[Candidate]]
#: packages that are asked for, with their extras
Roots = Mapping[str, Sequence[str]]


def candidates(
    tree: Mapping[str, Project], releases: Mapping[str, Sequence[Release]], history: History
) -> dict[str, tuple[Candidate, ...]]:
    """Every version of each package of the tree that can be built, oldest first, the tree's last.

    A release of the tree's own version is the tree.  HistoryError when a release's commit is not to be had.
    """
    return {
        name: (*_released(p, releases.get(name, ()), history), Candidate(project=p))
        for name, p in tree.items()
    }


def _released(project: Project, releases: Iterable[Release], history: History) -> Iterator[Candidate]:
    for release in releases:
        if release.version < project.version:
            text = history.read(release.commit, f"packages/{release.package}/pyproject.toml")
            yield Candidate(project=Project.parse(text), release=release)


def newest(backend: str, extras: Sequence[str], kit: str, found: Found) -> dict[str, Candidate]:
    """``backend`` with ``extras``, ``kit`` and all that these need, each in its last version; else NoChoice."""
    return _choose(backend, extras, kit, {name: versions[-1:] for name, versions in found.items()})


def oldest(backend: str, extras: Sequence[str], kit: str, found: Found) -> dict[str, Candidate]:
    """The last version of ``backend`` with the lowest versions of what it and ``kit`` need, those first that
    others build on; then the newest ``kit`` that admits these.  NoChoice if there are none.
    """
    ranked = {name: versions[::-1] if name == kit else versions for name, versions in found.items()}
    return _choose(backend, extras, kit, {**ranked, backend: found[backend][-1:]})


def _choose(backend: str, extras: Sequence[str], kit: str, ranked: Found) -> dict[str, Candidate]:
    """Depth first, dependencies before dependents and the kit last: the first full choice is the one wanted."""
    roots: Roots = {backend: extras, kit: ()}
    graph = _dependencies(roots, ranked)
    if not nx.is_directed_acyclic_graph(graph):
        raise NoChoice(
            f"packages need each other in a circle: {nx.find_cycle(graph)}", remedy="break it with an extra"
        )
    names = [n for n in reversed(list(nx.lexicographical_topological_sort(graph))) if n != kit]
    chosen = next(_extend([*names, kit], ranked, {}, roots), None)
    if chosen is None:
        raise NoChoice(
            f"no versions of {', '.join(names)} and {kit} satisfy each other's ranges",
            remedy="widen a range in a pyproject.toml, or record the release that it names in releases.toml",
        )
    kept = _dependencies(roots, {name: (candidate,) for name, candidate in chosen.items()})
    return {name: candidate for name, candidate in chosen.items() if name in kept}


def _extend(
    names: Sequence[str], ranked: Found, chosen: dict[str, Candidate], roots: Roots
) -> Iterator[dict[str, Candidate]]:
    """Every way to choose the rest of ``names``, the wanted one first."""
    if not names:
        yield chosen
        return
    for candidate in ranked[names[0]]:
        extended = {**chosen, names[0]: candidate}
        if _agree(names[0], extended, roots):
            yield from _extend(names[1:], ranked, extended, roots)


def _agree(name: str, chosen: Mapping[str, Candidate], roots: Roots) -> bool:
    """True if the ranges between ``name`` and the others hold."""
    return all(
        admitted.contains(chosen[other].version, prereleases=True)
        for one in chosen
        for other, admitted in chosen[one].project.ranges(chosen, roots.get(one, ())).items()
        if name in (one, other)
    )


def _dependencies(roots: Roots, found: Found) -> nx.DiGraph[str]:
    """Package to package, over all versions, of what ``roots`` reach."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    waiting, done = list(roots), set[str]()
    while waiting:
        name = waiting.pop()
        if name in done:
            continue
        done.add(name)
        graph.add_node(name)
        needed = {n for c in found[name] for n in c.project.ranges(found, roots.get(name, ()))}
        graph.add_edges_from((name, other) for other in needed)
        waiting += needed
    return graph
