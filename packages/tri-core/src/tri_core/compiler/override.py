"""Stages taken from files instead of what the compiler makes: ``ir_override`` and ``TRI_OVERRIDE_DIR``."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from tri_core import knobs
from tri_core.compiler.source import IRSource, Source
from tri_core.errors import OptionError
from tri_core.lazy_dataclasses import dataclass
from tri_core.plugins.fingerprint import package_fingerprint
from tri_core.symbols import file_stem

if TYPE_CHECKING:
    from tri_core.abi import KernelSignature
    from tri_core.mlir import ir
    from tri_core.options import CommonOptions
    from tri_core.target import Target

__all__ = ["Overridden", "origin", "with_overrides"]


@dataclass(frozen=True)
class Overridden:
    """A source some of whose stages are in ``files``; their content is part of what identifies the kernel."""

    source: Source | IRSource
    files: tuple[IRSource, ...]

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self.source.name

    def fingerprint(self) -> str:
        """The hash of the source, of the package that builds it, and of the files."""
        package = package_fingerprint(type(self.source).__module__.partition(".")[0])
        parts = [package, self.source.fingerprint(), *(file.fingerprint() for file in self.files)]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def kernel_signature(self) -> KernelSignature:
        """As the source's."""
        return self.source.kernel_signature()

    def build(self, target: Target, options: CommonOptions) -> ir.Module:
        """As the source's."""
        if isinstance(self.source, IRSource):
            raise OptionError("a kernel from a file of IR is not built")
        return self.source.build(target, options)


def with_overrides(source: Source | IRSource, options: CommonOptions) -> Source | IRSource:
    """``source``, with the files that option ``ir_override`` and the knob ``OVERRIDE_DIR`` name for it."""
    given, root = options.ir_override, knobs.get("OVERRIDE_DIR")
    if not given and root is None:
        return source
    files = [IRSource.from_file(given)] if given else []
    if root is not None:
        files += [IRSource.from_file(p) for p in sorted(Path(root).glob(f"{file_stem(source.name)}.*"))]
    return Overridden(source, tuple(files)) if files else source


def origin(source: Source | IRSource) -> Source | IRSource:
    """``source`` without its overrides."""
    return source.source if isinstance(source, Overridden) else source
