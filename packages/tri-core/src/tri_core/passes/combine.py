"""Several ops as one that does as much."""

from __future__ import annotations

from typing import ClassVar

from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_core.passes.base import Pass
from tri_core.passes.rewriting import rewrite
from tri_core.passes.rules import COMBINE
from tri_core.pipeline import StageContext

__all__ = ["Combine"]


@dataclass(frozen=True)
class Combine(Pass):
    """Sums of dots, chains of offsets, selects of masked loads and sums over outer products as one op each.

    A dot that adds zero takes what is added to it as its accumulator; constant offsets of one pointer are
    added up; a select of a load by the load's own mask is the load's ``other``; a broadcast constant is a
    constant; a sum over what two matrices multiply to is ``tt.dot``; a reshape whose order nobody sees may take
    any.
    """

    name: ClassVar[str] = "combine"

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite ``module`` in place."""
        rewrite(module, COMBINE)
