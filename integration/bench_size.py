"""Installed sizes: ``python -m integration.bench_size``, what each package brings, from the installed files."""

from __future__ import annotations

import importlib.metadata
import re

from rich.console import Console
from rich.table import Table

ROOTS = ("tri-frontend", "tri-backend-nvidia", "tri-backend-amd", "tri-backend-intel")
#: the stack that runs kernels on Intel's CPU device (and, as SYCL, on its GPUs)
INTEL_RUNTIME = re.compile(r"^(intel-|tbb|tcmlib|umf|dpctl)")


def closure(name: str, seen: set[str]) -> set[str]:
    """``name`` and everything that it needs, without extras."""
    name = re.sub(r"[-_.]+", "-", name).lower()
    if name in seen:
        return seen
    try:
        distribution = importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return seen
    seen.add(name)
    for requirement in distribution.requires or []:
        if "extra ==" not in requirement:
            closure(re.split(r"[\s\[<>=!~;(]", requirement, maxsplit=1)[0], seen)
    return seen


def megabytes(name: str) -> float:
    """Size of the files that ``name`` installed."""
    total = 0
    for file in importlib.metadata.distribution(name).files or []:
        path = file.locate()
        total += path.stat().st_size if path.is_file() else 0  # type: ignore[attr-defined]
    return total / 1e6


def main() -> None:
    """One table: every distribution, and the sums."""
    sizes = {n: megabytes(n) for n in sorted(set().union(*(closure(root, set()) for root in ROOTS)))}
    table = Table(title="installed, MB")
    for name, size in sorted(sizes.items(), key=lambda item: -item[1]):
        table.add_row(name, f"{size:.1f}")
    without = sum(size for name, size in sizes.items() if not INTEL_RUNTIME.match(name))
    table.add_section()
    table.add_row("all", f"{sum(sizes.values()):.0f}")
    table.add_row("without Intel's runtime libraries", f"{without:.0f}")
    Console().print(table)


if __name__ == "__main__":
    main()
