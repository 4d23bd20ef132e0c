"""The compile driver: a source and a target to a compiled kernel, through named, cached stages."""

from __future__ import annotations

from tri_core.compiler.driver import compile, forget  # noqa: A004  the name that users know
from tri_core.compiler.kernel import Artifacts, CompiledKernel
from tri_core.compiler.source import IRSource, Source

__all__ = ["Artifacts", "CompiledKernel", "IRSource", "Source", "compile", "forget"]
