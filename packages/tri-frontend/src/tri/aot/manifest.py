"""Manifest of a kernel that was built for C: JSON next to its files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, field
from pathlib import Path
from typing import Any, Self

from tri.aot.names import is_plain
from tri_core.errors import OptionError
from tri_core.files import read_text, write
from tri_core.lazy_dataclasses import dataclass

__all__ = ["CParameter", "Manifest"]

FORMAT = 2


@dataclass(frozen=True)
class CParameter:
    """A parameter of the C function, in the kernel's order.

    ``type``: Triton's name; ``ctype``: C's; ``divisibility``: what the value (a pointer's address) must be
    divisible by, 1 for anything; ``equals``: the only value allowed, None for any.
    """

    name: str
    type: str
    ctype: str
    divisibility: int = 1
    equals: int | None = None

    @property
    def is_pointer(self) -> bool:
        """True if it is a pointer."""
        return self.type.startswith("*")

    def condition(self) -> str:
        """The C condition under which the kernel may be called with the parameter; empty for always."""
        if self.equals is not None:
            return f"{self.name} == {self.equals}"
        if self.divisibility == 1:
            return ""
        value = f"(uintptr_t){self.name}" if self.is_pointer else self.name
        return f"{value} % {self.divisibility} == 0"


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """One kernel for C: ``function`` is the C function, ``entry`` the symbol in the image.

    ``constants`` and ``options`` say which algorithm it is; ``grid`` holds three C expressions, or nothing when
    the function takes the grid; ``files`` maps ``image``, ``source`` and ``header`` to names next to the
    manifest; ``stream``: the C type of a stream.
    """

    kernel: str
    function: str
    entry: str
    target: str
    parameters: tuple[CParameter, ...]
    constants: Mapping[str, Any]
    options: Mapping[str, Any]
    grid: tuple[str, ...]
    stream: str
    includes: tuple[str, ...]
    files: Mapping[str, str]
    hash: str
    num_warps: int
    threads_per_warp: int
    threads: int
    shared: int
    resources: Mapping[str, int] = field(default_factory=dict)
    build: str = ""
    format: int = FORMAT

    def algorithm(self) -> str:
        """Identity of an algorithm among those with the same arguments."""
        return json.dumps([dict(self.constants), dict(self.options)], sort_keys=True, default=str)

    def c_parameters(self) -> str:
        """The parameters of the C function, stream and grid included."""
        grid = [] if self.grid else [f"int64_t grid_{axis}" for axis in "xyz"]
        return ", ".join([declared(self.stream, "stream"), *grid, *self.c_arguments()])

    def c_arguments(self) -> list[str]:
        """The kernel's parameters as C declares them."""
        return [declared(p.ctype, p.name) for p in self.parameters]

    def c_call(self) -> str:
        """The arguments of a call with variables of the parameters' names."""
        grid = [] if self.grid else ["grid_x", "grid_y", "grid_z"]
        return ", ".join(["stream", *grid, *(p.name for p in self.parameters)])

    def write(self, path: Path) -> None:
        """Write as JSON."""
        write(path, json.dumps(asdict(self), indent=2, default=str) + "\n")

    @classmethod
    def read(cls, path: Path) -> Self:
        """The manifest in ``path``; OptionError for another file."""
        try:
            data = json.loads(read_text(path))
            if data["format"] != FORMAT:
                raise ValueError(f"format {data['format']}, {FORMAT} is expected")
            lists = {name: tuple(data[name]) for name in ("grid", "includes")}
            found = cls(**{**data, **lists, "parameters": tuple(CParameter(**p) for p in data["parameters"])})
            _check(found)
            return found
        except (ValueError, KeyError, TypeError) as error:
            raise OptionError(
                f"{path} is no manifest of tri compile: {error}", remedy="give the .json files that it wrote"
            ) from error


def declared(ctype: str, name: str) -> str:
    """``ctype name``, the star next to the name."""
    return f"{ctype}{'' if ctype.endswith('*') else ' '}{name}"


def _check(manifest: Manifest) -> None:
    """ValueError for names that could not have been written: they go into C."""
    names = [manifest.kernel, manifest.function, *(p.name for p in manifest.parameters)]
    wrong = [name for name in names if not is_plain(name)]
    if wrong or manifest.files["header"] != f"{manifest.function}.h":
        raise ValueError(f"{wrong[0] if wrong else manifest.files['header']!r} is a name that it cannot have")
