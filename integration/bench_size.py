"""Installed sizes: ``python -m integration.bench_size``, what each package brings.

Other people's packages are measured by their installed files, this repository's by its sources and the bytecode that pip
makes of them: an editable installation has neither, and metadata as old as itself.
"""

from __future__ import annotations

import importlib.metadata
import marshal
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from rich.console import Console
from rich.table import Table

TOP = Path(__file__).resolve().parents[1]
#: of a file of bytecode, before its code
_HEADER = 16

#: what is installed together, and as what pip is asked for it
SETS = {
    "all backends, without extras": (
        "tri-frontend",
        "tri-backend-nvidia",
        "tri-backend-amd",
        "tri-backend-intel",
    ),
    "tri-backend-intel": ("tri-frontend", "tri-backend-intel"),
    "tri-backend-intel, cpu": ("tri-frontend", "tri-backend-intel[cpu]"),
    "tri-backend-intel, sycl": ("tri-frontend", "tri-backend-intel[sycl]"),
}


def closure(asked: Iterable[str]) -> set[str]:
    """The names of installed distributions that the requirements ``asked`` bring, with the extras that these name.

    What is not installed, or not for this system, is left out.
    """
    seen: set[tuple[str, frozenset[str]]] = set()
    open_ = [Requirement(text) for text in asked]
    while open_:
        requirement = open_.pop()
        key = canonicalize_name(requirement.name), frozenset(requirement.extras)
        if key not in seen and _is_installed(key[0]):
            seen.add(key)
            open_ += _needed(*key)
    return {name for name, _ in seen}


def _is_installed(name: str) -> bool:
    try:
        importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def _needed(name: str, extras: frozenset[str]) -> Iterator[Requirement]:
    for requirement in map(Requirement, _texts(name, extras)):
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            yield requirement


def _texts(name: str, extras: frozenset[str]) -> Iterable[str]:
    project = _project(name)
    if project is None:
        return importlib.metadata.distribution(name).requires or []
    optional = project.get("optional-dependencies", {})
    return [*project["dependencies"], *(text for extra in sorted(extras) for text in optional.get(extra, ()))]


def _project(name: str) -> dict[str, Any] | None:
    """The metadata of ``name`` in this checkout; None of other people's packages."""
    path = TOP / "packages" / name / "pyproject.toml"
    return tomllib.loads(path.read_text())["project"] if path.exists() else None


def megabytes(name: str) -> float:
    """Size of the files that pip installs for ``name``, bytecode included."""
    if _project(name) is not None:
        return sum(map(_written, (TOP / "packages" / name / "src").rglob("*"))) / 1e6
    total = 0
    for file in importlib.metadata.distribution(name).files or []:
        path = file.locate()
        total += path.stat().st_size if path.is_file() else 0  # type: ignore[attr-defined]
    return total / 1e6


def _written(path: Path) -> int:
    """Bytes that pip writes for ``path``, a file of sources; 0 for folders and for bytecode that lies there."""
    if path.is_dir() or path.parent.name == "__pycache__":
        return 0
    size = path.stat().st_size
    if path.suffix == ".py":
        size += _HEADER + len(marshal.dumps(compile(path.read_bytes(), str(path), "exec", dont_inherit=True)))
    return size


def main() -> None:
    """One table: every distribution, and the sum of each set."""
    sets = {title: closure(asked) for title, asked in SETS.items()}
    sizes = {name: megabytes(name) for name in sorted(set().union(*sets.values()))}
    table = Table(title="installed, MB")
    for name, size in sorted(sizes.items(), key=lambda item: -item[1]):
        table.add_row(name, f"{size:.1f}")
    table.add_section()
    for title, names in sets.items():
        table.add_row(title, f"{sum(sizes[name] for name in names):.0f}")
    Console().print(table)


if __name__ == "__main__":
    main()
