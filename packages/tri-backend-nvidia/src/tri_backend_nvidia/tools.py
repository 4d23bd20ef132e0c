"""Search for NVIDIA's tools: in a package from PyPI, on the path, or in a toolkit's directories.

The packages moved their files between major versions of CUDA (``nvidia/cuda_nvcc/bin``,
``nvidia/cu13/bin``), so they are asked for what they installed instead of being guessed at.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from tri_core.api import ToolchainError
from tri_core.lazy_dataclasses import dataclass

__all__ = ["Tool", "find", "find_all", "version_of"]


@dataclass(frozen=True)
class Tool:
    """A file ``name`` that one of ``distributions`` brings, newest CUDA first, or that lies in ``folders``."""

    name: str
    distributions: tuple[str, ...]
    folders: tuple[str, ...] = ()
    executable: bool = False


def find(tool: Tool, override: str | None = None) -> Path | None:
    """The path of ``tool``, or None; ToolchainError when ``override`` is given and names no file."""
    if override:
        given = Path(override)
        if not given.is_file():
            raise ToolchainError(
                f"{tool.name} is set to {override}, which is not a file",
                remedy="correct or unset the variable",
                tool=tool.name,
                returncode=None,
                log="",
            )
        return given
    return next(_places(tool), None)


def find_all(tool: Tool) -> tuple[Path, ...]:
    """Every place where ``tool`` is, in the order in which :func:`find` looks; a file counts once."""
    return tuple({place.resolve(): place for place in reversed(list(_places(tool)))}.values())[::-1]


def _places(tool: Tool) -> Iterator[Path]:
    for distribution in tool.distributions:
        packaged = _packaged(tool, distribution)
        if packaged is not None:
            yield packaged
    on_path = shutil.which(tool.name) if tool.executable else None
    if on_path is not None:
        yield Path(on_path)
    yield from (place for folder in tool.folders if (place := Path(folder) / tool.name).is_file())


def _packaged(tool: Tool, distribution: str) -> Path | None:
    try:
        files = metadata.files(distribution)
    except metadata.PackageNotFoundError:
        return None
    names = {tool.name, f"{tool.name}.exe"}
    for file in files or ():
        if file.name in names:
            place = Path(str(file.locate()))
            if place.is_file():
                return place.resolve()
    return None


def version_of(tool: Tool, place: Path) -> str:
    """Identity of the tool's file: its path, size and modification time."""
    status = place.stat()
    return f"{tool.name} {place} {status.st_size} {status.st_mtime_ns}"
