"""Signed divisions and rests of what is never negative, as unsigned ones.

    (start + arange(0, 64)) // 8        start, a loop's variable, counts up from 0

A signed division by a power of two corrects negative numbers before it shifts, which compilers of machine code make comparisons and branches of
and do not see through: rows that lie in one word have one address, but seem to have several.
"""

from __future__ import annotations

from typing import ClassVar

from tri_core.api import Pass, StageContext
from tri_core.ir.views import isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import arith, ir
from tri_gpu_dialect.analysis.ranges import Ranges
from tri_gpu_dialect.edit import all_ops, functions

__all__ = ["UnsignedDivisions"]


@dataclass(frozen=True)
class UnsignedDivisions(Pass):
    """See the module; runs behind what reads addresses as sums of signed terms."""

    name: ClassVar[str] = "unsigned-divisions"

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite every function of ``module``."""
        for function in functions(module):
            ranges = Ranges()
            # everything is asked before anything changes
            found = [
                op
                for op in all_ops(function)
                if isa(op, arith.DivSIOp, arith.RemSIOp) and all(ranges.of(v).low >= 0 for v in op.operands)
            ]
            for op in found:
                unsigned = arith.DivUIOp if isa(op, arith.DivSIOp) else arith.RemUIOp
                with ir.InsertionPoint(op), op.location:
                    made = unsigned(*op.operands)
                op.results[0].replace_all_uses_with(made.result)
                op.erase()
