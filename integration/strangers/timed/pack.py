"""Packages and arguments in one archive, for a machine that has no package registry."""

from __future__ import annotations

import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

__all__ = ["files", "pack"]

_SUFFIXES = frozenset({".py", ".yaml", ".yml", ".json", ".toml"})
#: what says which version is installed
_NAMES = frozenset({"METADATA", "entry_points.txt"})
#: folders that no operator needs
_OUT = frozenset(
    {
        "__pycache__",
        "test",
        "tests",
        "testing_suite",
        "helion",
        "spconv_triton",
        "expecttest",
        "benchmarks",
        "bin",
    }
)
#: what other makers' devices are tuned to
_BACKENDS = ("flag_gems", "runtime", "backend")


def files(folder: Path) -> Iterator[Path]:
    """The files below ``folder`` that are imported or read where operators run on an NVIDIA GPU."""
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if not path.is_file() or _OUT & set(parts):
            continue
        if parts[:3] == _BACKENDS and len(parts) > 4 and parts[3].startswith("_") and parts[3] != "_nvidia":
            continue
        if path.suffix in _SUFFIXES or path.name in _NAMES:
            yield path


def pack(folder: Path, archive: Path) -> int:
    """Write the packages of ``folder`` and the arguments of flag-gems' operators to ``archive`` (.tar.xz); its bytes."""
    import torch

    import tri.compat.triton

    tri.compat.triton.install()
    from integration.published.guards import guarded
    from integration.published.projects import load
    from integration.published.tuning import untuned
    from integration.strangers.timed.units import CALLS, gems_calls

    with guarded("cpu"), untuned(), tempfile.TemporaryDirectory() as place:
        calls = Path(place) / CALLS
        torch.save(gems_calls(load("flag-gems", "flag_gems", folder)), calls)
        with tarfile.open(archive, "w:xz") as tar:
            for path in files(folder):
                tar.add(path, str(path.relative_to(folder)))
            tar.add(calls, CALLS)
    return archive.stat().st_size
