"""Loads that stay in registers up to their use (:mod:`tri_gpu_dialect.transforms.pipeline.loaded_loop`)."""

from __future__ import annotations

from tri_core.api import Target
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.analysis import AxisInfos
from tri_gpu_dialect.analysis.layout_rules import LayoutRules
from tri_gpu_dialect.analysis.pipelined_loads import feeds_matrix_unit
from tri_gpu_dialect.transforms.pipeline.loaded_loop import (
    LoadedLoop,
    is_matrix,
    lacking_registers,
    with_rows,
)
from tri_gpu_dialect.transforms.pipeline.pipelined_loop import PipelinedLoop
from tri_gpu_dialect.transforms.pipeline.strategies.checks import check_stages
from tri_gpu_dialect.typed import TypedFields

__all__ = ["InRegisters"]


@dataclass(frozen=True)
class InRegisters(TypedFields):
    """Loads stay in registers from when they are issued, ``stages - 1`` iterations ahead at most, up to their use: no buffer is made for them.

    Rows and numbers that the loop loads beside the matrices are issued ahead with them.

    For targets whose loads give operands as the matrix unit takes them; a conversion that is between them stands before the use.
    """

    stages: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        check_stages("InRegisters", self.stages)

    def check(self, target: Target | None) -> None:
        """See :class:`tri_gpu_dialect.policies.loads.LoadStrategy`: any target has registers."""

    def suits(self, load: ir.Operation, axes: AxisInfos, rules: LayoutRules) -> bool:
        """True if ``load`` gives a matrix for a matrix unit."""
        return is_matrix(load) and feeds_matrix_unit(load)

    def pipeline(self, asked: PipelinedLoop) -> None:
        """See :class:`tri_gpu_dialect.policies.loads.LoadStrategy`; there must be registers for what is loaded."""
        loop, loads = asked.loop, asked.loads
        stages = min(asked.stages, self.stages)
        if lacking := lacking_registers(loop, loads, asked.target, asked.warps, stages):
            asked.remark(f"is not pipelined: {lacking} registers are too few for its loads")
            return
        LoadedLoop(loop, with_rows(loop, loads, asked.target, asked.warps, stages), {}, stages).run()
