"""The compile driver: a source and a target to a compiled kernel, through named, cached stages."""

from __future__ import annotations

from tri_core.compiler.driver import adopt, compile, environment_of, forget, lookup, trace  # noqa: A004  the name that users know
from tri_core.compiler.gates import Attempt, before_compile
from tri_core.compiler.kernel import Artifacts, CompiledKernel
from tri_core.compiler.source import IRSource, Source
from tri_core.compiler.trace import Snapshot, Trace

__all__ = [
    "Artifacts",
    "Attempt",
    "CompiledKernel",
    "IRSource",
    "Snapshot",
    "Source",
    "Trace",
    "adopt",
    "before_compile",
    "compile",
    "environment_of",
    "forget",
    "lookup",
    "trace",
]
