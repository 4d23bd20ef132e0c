"""Recorded kernels and the files that keep them; nothing here imports a compiler."""

from __future__ import annotations

import hashlib
import json
import lzma
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["KEPT", "Kernel", "read", "write"]

#: the kernels that stand in git
KEPT = Path(__file__).parent / "kept.jsonl.xz"


@dataclass(frozen=True)
class Kernel:
    """A version of a kernel: its text and that of all functions that it reaches, and what it was specialized for.

    ``functions``: as :mod:`integration.strangers.texts` writes them, the kernel first.  ``signature``: a type or ``constexpr`` for each
    parameter, in order.  ``constants``: references.  ``attributes``: facts by parameter.  ``options``: those of the launch alone.  ``grid``: of the
    first launch; empty where it was compiled without one.  ``package``, ``version``, ``operator``: where it comes from.
    """

    package: str
    version: str
    operator: str
    name: str
    functions: Sequence[Mapping[str, Any]]
    signature: Mapping[str, str]
    constants: Mapping[str, Any]
    attributes: Mapping[str, Sequence[Sequence[Any]]]
    options: Mapping[str, Any]
    grid: Sequence[int] = field(default=())

    @property
    def key(self) -> str:
        """Twelve digits that two kernels share only if either compiler compiles both to the same."""
        what = (self.functions, self.signature, self.constants, self.attributes, self.options)
        return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:12]

    @property
    def label(self) -> str:
        """``package/name KEY``."""
        return f"{self.package}/{self.name} {self.key}"

    @property
    def text(self) -> str:
        """The text of all functions."""
        return "\n".join(one["src"] for one in self.functions)


def write(kernels: Iterable[Kernel], path: Path) -> int:
    """Keep ``kernels`` in ``path``, a line of JSON for each, without those that are there twice; their number."""
    found = {kernel.key: kernel for kernel in kernels}
    ordered = sorted(found.values(), key=lambda kernel: (kernel.package, kernel.name, kernel.key))
    lines = (json.dumps(asdict(kernel)) for kernel in ordered)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lzma.compress("".join(f"{line}\n" for line in lines).encode(), preset=9))
    return len(found)


def read(path: Path = KEPT) -> list[Kernel]:
    """The kernels of a file, compressed or not."""
    content = path.read_bytes()
    text = (lzma.decompress(content) if path.suffix == ".xz" else content).decode()
    return [Kernel(**json.loads(line)) for line in text.splitlines()]
