"""The simplest form of every op."""

from __future__ import annotations

from typing import ClassVar

from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir, run_passes
from tri_core.passes.base import Pass
from tri_core.passes.rewriting import rewrite
from tri_core.passes.rules import TABLE
from tri_core.pipeline import StageContext

__all__ = ["Canonicalize"]


@dataclass(frozen=True)
class Canonicalize(Pass):
    """Our rules for ``tt`` and upstream's for the rest, in turn, until ours find nothing more.

    Upstream's canonicalization also erases dead code: pure ops, and loads that are not volatile.  For tensors
    without encodings: a layout could not follow where these rules move values.
    """

    name: ClassVar[str] = "canonicalize"

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite ``module`` in place."""
        rewrite(module, TABLE)
        run_passes(module, "canonicalize")
        while rewrite(module, TABLE):
            run_passes(module, "canonicalize")
