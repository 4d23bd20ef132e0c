"""Installed sizes: ``python -m integration.bench_size``, what each package brings, from the installed files."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterable, Iterator

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from rich.console import Console
from rich.table import Table

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
    for text in importlib.metadata.distribution(name).requires or []:
        requirement = Requirement(text)
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            yield requirement


def megabytes(name: str) -> float:
    """Size of the files that ``name`` installed."""
    total = 0
    for file in importlib.metadata.distribution(name).files or []:
        path = file.locate()
        total += path.stat().st_size if path.is_file() else 0  # type: ignore[attr-defined]
    return total / 1e6


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
