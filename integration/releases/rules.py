"""The rules of ``nox -s versions``: each takes a :class:`Subject` and yields findings."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from integration.releases.contract import Contract, Imported, Plugin, Sources, imports
from integration.releases.history import History
from integration.releases.project import Project, projects
from integration.releases.records import FILE, Release, read_releases

__all__ = ["COMPARING", "RULES", "STATIC", "Finding", "Repository", "Subject", "lacking"]

HOOKSPECS = "hookspecs.py"
RAISE = "raise the lower bound of {}, in TRI_REQUIRES too: python -m integration.releases --raise-bounds"


@dataclass(frozen=True)
class Finding:
    """Fault of a package, and its remedy."""

    package: str
    message: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.package}: {self.message}; {self.remedy}"


@dataclass(frozen=True)
class Repository:
    """The tree at ``top``, its packages, and what was released of them, exported to the folder ``scratch``."""

    top: Path
    scratch: Path

    @cached_property
    def projects(self) -> dict[str, Project]:
        """The packages of the tree."""
        return projects(self.top)

    @cached_property
    def releases(self) -> dict[str, tuple[Release, ...]]:
        """The recorded releases."""
        return read_releases(self.top / FILE)

    @property
    def history(self) -> History:
        """The history."""
        return History(self.top)

    def folder(self, name: str, release: Release | None = None) -> Path:
        """The folder of a package, in the tree or as it was released."""
        inside = f"packages/{name}"
        if release is None:
            return self.top / inside
        into = self.scratch / release.commit
        return (
            into / inside if (into / inside).is_dir() else self.history.export(release.commit, inside, into)
        )

    def subjects(self) -> list[Subject]:
        """Every package, to be checked."""
        return [Subject(self, project) for project in self.projects.values()]


@dataclass(frozen=True)
class Subject:
    """One package of the repository."""

    repository: Repository
    project: Project

    @property
    def name(self) -> str:
        """Its name."""
        return self.project.name

    @property
    def releases(self) -> Sequence[Release]:
        """Its releases, oldest first."""
        return self.repository.releases.get(self.name, ())

    @cached_property
    def ranges(self) -> dict[str, SpecifierSet]:
        """The versions of its siblings that it admits, extras included."""
        return self.project.ranges(set(self.repository.projects) - {self.name}, extras=None)

    @cached_property
    def plugins(self) -> dict[str, Plugin]:
        """Its plugin modules."""
        source = self.repository.folder(self.name) / "src"
        files = {m: source.joinpath(*m.split(".")).with_suffix(".py") for m in self.project.plugins}
        return {module: Plugin.parse(file.read_text(encoding="utf-8")) for module, file in files.items()}

    def lowest(self, sibling: str) -> Release | None:
        """The oldest release of ``sibling`` that it admits; None when that is the tree's version."""
        own = self.repository.projects[sibling].version
        return next(
            (
                release
                for release in self.repository.releases.get(sibling, ())
                if release.version < own and self.ranges[sibling].contains(release.version, prereleases=True)
            ),
            None,
        )

    def later(self, sibling: str) -> Version:
        """The version after the lowest that is admitted: of a release, else the tree's."""
        lowest, own = self.lowest(sibling), self.repository.projects[sibling].version
        released = [r.version for r in self.repository.releases.get(sibling, ())]
        return min((v for v in released if lowest is not None and lowest.version < v < own), default=own)

    def finding(self, message: str, remedy: str) -> Finding:
        """A finding about this package."""
        return Finding(self.name, message, remedy)


def changelog(subject: Subject) -> Iterator[Finding]:
    """The version has a section in the changelog, and ``__version__`` is the same one."""
    folder, version = subject.repository.folder(subject.name), subject.project.version
    text = (folder / "CHANGELOG.md").read_text(encoding="utf-8")
    if not any(line.split()[:2] == ["##", str(version)] for line in text.splitlines()):
        yield subject.finding(f"the changelog has no section {version}", f"write '## {version} (unreleased)'")
    for file in folder.glob("src/*/__init__.py"):
        stated = _stated_version(file)
        if stated is not None and Version(stated) != version:
            yield subject.finding(f"{file.parent.name}.__version__ is {stated}", f"make it {version}")


def _stated_version(file: Path) -> str | None:
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__version__":
            return str(ast.literal_eval(node.value))
    return None


def ranges(subject: Subject) -> Iterator[Finding]:
    """Ranges hold the tree's siblings, end somewhere, and start at a version that can be built."""
    for sibling, admitted in subject.ranges.items():
        own = subject.repository.projects[sibling].version
        if not admitted.contains(own, prereleases=True):
            yield subject.finding(f"{sibling}{admitted} excludes {own}, the tree's", "widen the range")
        if not any(part.operator in ("<", "<=", "==", "~=") for part in admitted):
            yield subject.finding(
                f"{sibling}{admitted} has no upper bound", "add <NEXT, the next minor version"
            )
        known = [release.version for release in subject.repository.releases.get(sibling, ())]
        lower = [Version(part.version) for part in admitted if part.operator == ">="]
        if not lower or max(lower) not in (own, *known):
            yield subject.finding(
                f"{sibling}{admitted} starts at a version that is neither released nor the tree's",
                f"start it at one of {', '.join(map(str, dict.fromkeys((*known, own))))}",
            )


def requires(subject: Subject) -> Iterator[Finding]:
    """``TRI_REQUIRES`` of plugin modules repeats the ``pyproject.toml``."""
    for module, plugin in subject.plugins.items():
        for sibling, text in plugin.requires.items():
            declared = subject.project.ranges([sibling]).get(sibling)
            if declared is None or declared != SpecifierSet(text):
                yield subject.finding(
                    f"TRI_REQUIRES of {module} says {sibling}{text}, pyproject.toml {declared or 'nothing'}",
                    "write the same range in both",
                )


def recorded(subject: Subject) -> Iterator[Finding]:
    """A release's commit holds that version."""
    history = subject.repository.history
    for release in subject.releases:
        found = Project.parse(history.read(release.commit, f"packages/{subject.name}/pyproject.toml")).version
        if found != release.version:
            yield subject.finding(
                f"{FILE} has {release.version} at {release.commit[:12]}, which holds {found}",
                "record the commit that was published",
            )


def changed(subject: Subject) -> Iterator[Finding]:
    """Check that a part that differs from the last release has a version of its own."""
    if not subject.releases:
        return
    last, version = subject.releases[-1], subject.project.version
    if version < last.version:
        yield subject.finding(f"the tree is {version}, but {last.version} is released", "raise the version")
    inside = f"packages/{subject.name}"
    files = subject.repository.history.changed(last.commit, f"{inside}/src", f"{inside}/pyproject.toml")
    if files and version == last.version:
        yield subject.finding(
            f"{len(files)} files differ from {last}, {files[0]} for one", "give it the next version"
        )


def contract(subject: Subject) -> Iterator[Finding]:
    """Changed hooks have a new contract version, and plugins fit the oldest core that they admit."""
    for file in subject.repository.folder(subject.name).glob(f"src/*/{HOOKSPECS}"):
        if not subject.releases:
            continue
        now, last = Contract.parse(file.read_text(encoding="utf-8")), subject.releases[-1]
        before = _contract_of(subject.repository.folder(subject.name, last))
        owed = now.owed(before) if before is not None else now.api
        if now.api < owed:
            yield subject.finding(
                f"hooks differ from those of {last}, HOOKSPEC_API is {now.api}", f"make it {owed}"
            )
    for module, sibling, reason in _unserved(subject):
        yield subject.finding(
            f"{module} does not work with {sibling} {_version(subject, sibling)}, which it admits: {reason}",
            RAISE.format(sibling),
        )


def _unserved(subject: Subject) -> Iterator[tuple[str, str, str]]:
    """Plugin modules that the oldest admitted version of a sibling does not serve: module, sibling, why."""
    for module, plugin in subject.plugins.items():
        for sibling in subject.ranges:
            served = _contract_of(subject.repository.folder(sibling, subject.lowest(sibling)))
            if served is not None and (reason := served.lacks(plugin)):
                yield module, sibling, reason


def _contract_of(folder: Path) -> Contract | None:
    file = next(folder.glob(f"src/*/{HOOKSPECS}"), None)
    return None if file is None else Contract.parse(file.read_text(encoding="utf-8"))


def _version(subject: Subject, sibling: str) -> Version:
    lowest = subject.lowest(sibling)
    return subject.repository.projects[sibling].version if lowest is None else lowest.version


def names(subject: Subject) -> Iterator[Finding]:
    """Check that names imported from siblings exist in the oldest version that is admitted."""
    source = subject.repository.folder(subject.name) / "src"
    for sibling, found in _absent(subject):
        what = f"{found.module}.{found.name}".rstrip(".")
        yield subject.finding(
            f"{found.file.relative_to(source)}:{found.line} imports {what}, "
            f"which {sibling} {_version(subject, sibling)} does not have",
            RAISE.format(sibling),
        )


def _absent(subject: Subject) -> Iterator[tuple[str, Imported]]:
    """Names imported from a sibling that its oldest admitted version lacks."""
    lowest = {s: Sources(subject.repository.folder(s, subject.lowest(s)) / "src") for s in subject.ranges}
    owners = {package: sibling for sibling, sources in lowest.items() for package in sources.packages}
    for found in imports(subject.repository.folder(subject.name) / "src"):
        sibling = owners.get(found.module.split(".")[0])
        if sibling is not None and not lowest[sibling].has(found):
            yield sibling, found


def lacking(subject: Subject) -> list[str]:
    """Siblings whose oldest admitted version, a release, lacks something that the package needs."""
    found = [*(s for s, _ in _absent(subject)), *(s for _, s, _ in _unserved(subject))]
    return [sibling for sibling in dict.fromkeys(found) if subject.lowest(sibling) is not None]


Rule = Callable[[Subject], Iterator[Finding]]
#: rules that need the tree alone, and those that compare it with releases
STATIC: tuple[Rule, ...] = (changelog, ranges, requires)
COMPARING: tuple[Rule, ...] = (recorded, changed, contract, names)
RULES: tuple[Rule, ...] = (*STATIC, *COMPARING)
