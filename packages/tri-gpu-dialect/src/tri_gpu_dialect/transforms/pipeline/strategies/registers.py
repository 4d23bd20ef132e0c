"""Loads to registers, stored late to shared memory (:mod:`tri_gpu_dialect.transforms.pipeline.loaded_loop`)."""

from __future__ import annotations

from dataclasses import replace

from tri_core.api import Target
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.analysis import AxisInfos
from tri_gpu_dialect.analysis.layout_rules import LayoutRules
from tri_gpu_dialect.analysis.pipelined_loads import feeds_matrix_unit
from tri_gpu_dialect.layouts import Banks
from tri_gpu_dialect.policies.operands import InRows
from tri_gpu_dialect.transforms.pipeline.copy_buffers import CopyBuffer, readers
from tri_gpu_dialect.transforms.pipeline.loaded_loop import (
    LoadedLoop,
    is_matrix,
    lacking_registers,
    with_rows,
)
from tri_gpu_dialect.transforms.pipeline.pipelined_loop import PipelinedLoop
from tri_gpu_dialect.transforms.pipeline.strategies.checks import check_shared, check_stages
from tri_gpu_dialect.typed import TypedFields

__all__ = ["ThroughRegisters"]


@dataclass(frozen=True)
class ThroughRegisters(TypedFields):
    """Loads are in registers while they are under way, and stored to one buffer of each when what reads that has run.

    ``stages``: how many a loop has at most, however many are asked for; what is loaded stays in registers for all but one of the iterations between.
    Rows and numbers that the loop loads beside the matrices stay in registers up to their use.
    ``keep_converted``: loads whose elements are converted before a dot reads them stay in registers up to there; else such are
    not issued ahead.
    """

    stages: int = 2
    keep_converted: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_stages("ThroughRegisters", self.stages)

    def check(self, target: Target | None) -> None:
        """See :class:`tri_gpu_dialect.policies.loads.LoadStrategy`."""
        check_shared("ThroughRegisters", target)

    def suits(self, load: ir.Operation, axes: AxisInfos, rules: LayoutRules) -> bool:
        """True if ``load`` gives a matrix for a matrix unit, to be issued ahead."""
        return is_matrix(load) and feeds_matrix_unit(load) and (self.keep_converted or bool(readers(load)))

    def pipeline(self, asked: PipelinedLoop) -> None:
        """See :class:`tri_gpu_dialect.policies.loads.LoadStrategy`; there must be registers for what is loaded, too."""
        loop, loads, target = asked.loop, asked.loads, asked.target
        stages = min(asked.stages, self.stages)
        if lacking := lacking_registers(loop, loads, target, asked.warps, stages):
            asked.remark(f"is not pipelined: {lacking} registers are too few for its loads")
            return
        operands = asked.operands if target is not None else InRows()
        stored = {load for load in loads.loads if readers(load)}
        ahead = with_rows(loop, loads, target, asked.warps, stages)
        buffers = {
            number: CopyBuffer.of(load, Banks.of(target), operands)
            for number, load in enumerate(ahead.loads)
            if load in stored
        }
        made = LoadedLoop(loop, ahead, buffers, stages)
        if asked.room.fits(made.rings):
            made.run()
        else:
            asked.remark(asked.too_little(replace(made.rings, stages=stages), None))
