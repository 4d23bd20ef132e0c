"""Splats and broadcasts after elementwise ops."""

from __future__ import annotations

from typing import ClassVar

from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_core.passes.base import Pass
from tri_core.passes.rewriting import rewrite
from tri_core.passes.rules import REORDER
from tri_core.pipeline import StageContext

__all__ = ["ReorderBroadcast"]


@dataclass(frozen=True)
class ReorderBroadcast(Pass):
    """Arithmetic on splats is done on the scalars, arithmetic on broadcasts of one shape before them.

    What is between, such as ``tt.expand_dims``, changes places with a broadcast as well, so that ops further
    on meet it.  A load through pointers that are splat or broadcast reads each of them once, where its mask can be
    narrowed, and its values are broadcast.  For tensors without encodings.
    """

    name: ClassVar[str] = "reorder-broadcast"

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite ``module`` in place."""
        rewrite(module, REORDER)
