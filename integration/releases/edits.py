"""Changes to versions and ranges, in every file that holds them: bounds that are raised, releases that are recorded."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from pathlib import Path

from packaging.version import Version

from integration.releases.project import Project
from integration.releases.records import FILE
from integration.releases.rules import Repository, Subject, lacking
from tri_core.errors import OptionError

__all__ = ["next_minor", "raise_bounds", "record"]

_RANGE = r"(?P<lower>>=[0-9.]+),(?P<upper><[0-9.]+)"


def next_minor(version: Version) -> Version:
    """The first version that may break what ``version`` promises, below 1.0 and above."""
    return Version(f"{version.major}.{version.minor + 1}.0")


def _brief(version: Version) -> str:
    return f"{version.major}.{version.minor}" if version.micro == 0 else str(version)


def raise_bounds(repository: Repository) -> list[str]:
    """Admit the next release, or the tree, as the oldest, if a package needs what the oldest admitted sibling
    lacks.

    Gives a line per range that was raised.  Repeated until every range is right; HistoryError without history.
    """
    said = []
    while raised := [r for s in repository.subjects() for r in _raised(s)]:
        said += raised
        repository = Repository(repository.top, repository.scratch)
    return said


def _raised(subject: Subject) -> Iterator[str]:
    for sibling in lacking(subject):
        later = subject.later(sibling)
        pyproject = subject.repository.folder(subject.name) / "pyproject.toml"
        _rewrite(pyproject, sibling, lower=f">={_brief(later)}")
        yield f"{subject.name}: {sibling}>={_brief(later)}"


def _rewrite(pyproject: Path, sibling: str, *, lower: str = "", upper: str = "") -> None:
    """Write another bound of ``sibling`` wherever the package of ``pyproject`` states its range."""

    def bounded(found: re.Match[str]) -> str:
        return f"{found['head']}{lower or found['lower']},{upper or found['upper']}"

    project = Project.parse(pyproject.read_text(encoding="utf-8"))
    modules = [pyproject.parent.joinpath("src", *m.split(".")).with_suffix(".py") for m in project.plugins]
    for file in (pyproject, *(module for module in modules if module.is_file())):
        text = file.read_text(encoding="utf-8")
        # "name>=1,<2" of requirements, "name": ">=1,<2" of TRI_REQUIRES
        file.write_text(
            re.sub(rf'(?P<head>"{re.escape(sibling)}(?:": ")?){_RANGE}', bounded, text), encoding="utf-8"
        )


def record(repository: Repository, name: str, commit: str) -> str:
    """Write down ``commit`` as the release of the version of ``name`` there, and give the tree the next minor version.

    The changelog's section is dated, a new one begun, and every range that admits the tree's version admits
    the next.  Gives a line that says so.  OptionError for what is recorded already.
    """
    inside = f"packages/{name}"
    released = Project.parse(repository.history.read(commit, f"{inside}/pyproject.toml")).version
    project = repository.projects.get(name)
    if project is None or project.version != released:
        raise OptionError(
            f"the tree has not {name} {released}, which {commit[:12]} holds",
            remedy="release what the tree holds",
        )
    if any(release.version == released for release in repository.releases.get(name, ())):
        raise OptionError(f"{name} {released} is recorded already", remedy="give it the next version")
    _append(repository.top / FILE, name, released, commit)
    new = next_minor(released)
    _renumber(repository.folder(name), released, new)
    # the backends from outside that integration/ has stand for those that move with us
    for folder in ("packages", "integration"):
        for pyproject in repository.top.glob(f"{folder}/*/pyproject.toml"):
            _rewrite(pyproject, name, upper=f"<{_brief(next_minor(new))}")
    return f"{name} {released} is {commit[:12]}, the tree is {new}"


def _append(file: Path, name: str, version: Version, commit: str) -> None:
    text = file.read_text(encoding="utf-8")
    line = f'"{version}" = "{commit}"\n'
    if f"[{name}]\n" not in text:
        text += f"\n[{name}]\n"
    head, _, rest = text.partition(f"[{name}]\n")
    own, blank, others = rest.partition("\n\n")
    own = own if own.endswith("\n") or not own else f"{own}\n"
    file.write_text(f"{head}[{name}]\n{own}{line}{blank[1:]}{others}", encoding="utf-8")


def _renumber(folder: Path, old: Version, new: Version) -> None:
    today = dt.datetime.now(dt.UTC).date()
    edits = {
        folder / "pyproject.toml": (f'version = "{old}"', f'version = "{new}"'),
        folder / "CHANGELOG.md": (f"## {old} (unreleased)", f"## {new} (unreleased)\n\n## {old} ({today})"),
    }
    edits |= dict.fromkeys(
        folder.glob("src/*/__init__.py"), (f'__version__ = "{old}"', f'__version__ = "{new}"')
    )
    for file, (before, after) in edits.items():
        file.write_text(file.read_text(encoding="utf-8").replace(before, after, 1), encoding="utf-8")
