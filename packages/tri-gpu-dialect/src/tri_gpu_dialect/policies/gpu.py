"""The default :class:`tri_core.api.Policy`: costs and choices for targets that say nothing better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from tri_core.lazy_dataclasses import dataclass
from tri_gpu_dialect.analysis.axis_rules import SHARED as SHARED_AXIS_RULES
from tri_gpu_dialect.analysis.axis_rules import AxisRules
from tri_gpu_dialect.analysis.layout_rules import SHARED as SHARED_LAYOUT_RULES
from tri_gpu_dialect.analysis.layout_rules import LayoutRules
from tri_gpu_dialect.plans.conversion import PIECE_BYTES
from tri_gpu_dialect.plans.scratch import SHARED as SHARED_SCRATCH_MEASURES
from tri_gpu_dialect.plans.scratch import ScratchMeasures
from tri_gpu_dialect.policies.async_units import AsyncPolicy, Specialization
from tri_gpu_dialect.policies.loads import LoadStrategy
from tri_gpu_dialect.policies.matrix import MatrixInstruction, choose
from tri_gpu_dialect.policies.operands import InRows, OperandLayout
from tri_gpu_dialect.typed import TypedFields

if TYPE_CHECKING:
    from tri_core.mlir import ir

__all__ = ["DEFAULT_POLICY", "AsyncPolicy", "DefaultPolicy", "DotPolicy", "PipelinePolicy", "Specialization"]


@dataclass(frozen=True)
class DotPolicy(TypedFields):
    """Matrix instructions.

    ``instructions``: what the matrix unit does, best first; none: dots are done by multiply-add.
    ``threads_per_warp``: threads of the warps that they are for; kernels with dots that they compute have warps of that
    size (0: of the size that the options or the target say).
    ``operands``: how operands that are read by element lie in shared memory.
    ``late_words``: an operand that takes so many registers of 32 bits of a thread, or more, is read behind the dots of others, for
    compilers behind this one that leave reads in their order and have few registers; None: they find the best order.
    """

    instructions: tuple[MatrixInstruction, ...] = ()
    threads_per_warp: int = 0
    operands: OperandLayout = InRows()
    late_words: int | None = None


@dataclass(frozen=True)
class PipelinePolicy(TypedFields):
    """Software pipelining of loops.

    ``loads``: how loads that are issued ahead reach their use (:mod:`tri_gpu_dialect.transforms.pipeline.strategies`); None: no loop is
    pipelined.
    ``prefetch``: operands of matrix instructions are read from their stages a slice ahead, where results and two slices of operands
    take at most ``prefetch_words`` registers of 32 bits of a thread: addresses and the rest must fit beside them.
    ``split_loops``: loops of dots beside a producer are split where a mask begins or ceases to matter (None: yes); True: all loops of
    dots are, and by masks of loads as well.
    ``short_rest``: of the loops that this makes, one with masks that is known to have so many iterations at most is not pipelined: it
    is half the code for a wait in each of them.
    ``recurrences``: rows and numbers of loops without dots that carry a matrix are issued ahead as well.
    """

    loads: LoadStrategy | None = None
    prefetch: bool = False
    prefetch_words: int = 192
    split_loops: bool | None = None
    short_rest: int = 0
    recurrences: bool = False


@dataclass(frozen=True)
class DefaultPolicy(TypedFields):
    """Accesses of up to ``max_vector_bits``, a record for each family of passes.

    ``dots`` is read by ``transforms.layout``, ``pipeline`` by ``transforms.pipeline``, ``async_units`` by the passes of the package
    of that name.  Fields are checked when a backend makes the records.

    ``conversion_bytes``: of shared memory that a change of a layout takes at most; larger ones go in pieces, one after the other.
    ``conversion_cost``: what a change of a layout through shared memory costs, in instructions per element, waiting for others included:
    what costs less is computed again in the other layout.
    ``axis_rules``: how ops change what is known of addresses, ``SHARED.with_rules({...})`` with rules of the backend's own; its
    lowering table has the same.
    ``layout_rules``: how layouts of operands and results of ops hang together, in the same way.
    ``scratch_measures``: how much shared memory ops take while they run, ``SHARED.with_measures({...})`` for what the backend lowers in
    its own way; its lowering table has the same.
    """

    max_vector_bits: int = 128
    conversion_bytes: int = PIECE_BYTES
    conversion_cost: int = 16
    dots: DotPolicy = field(default_factory=DotPolicy)
    pipeline: PipelinePolicy = field(default_factory=PipelinePolicy)
    async_units: AsyncPolicy = field(default_factory=AsyncPolicy)
    #: rules are code of the backend, which is in every key
    axis_rules: AxisRules = field(default=SHARED_AXIS_RULES, repr=False)
    layout_rules: LayoutRules = field(default=SHARED_LAYOUT_RULES, repr=False)
    scratch_measures: ScratchMeasures = field(default=SHARED_SCRATCH_MEASURES, repr=False)

    def vector_bits(self, element_bits: int, space: str) -> int:
        """The widest access in bits, in any memory."""
        return max(self.max_vector_bits, element_bits)

    def mma(self, dot: Any) -> MatrixInstruction | None:
        """The row of the table that computes ``dot``; None: plain FMA."""
        return choose(self.dots.instructions, dot) if self.dots.instructions else None

    def specialization(self, function: ir.Operation) -> Specialization | None:
        """See :meth:`AsyncPolicy.specialization`."""
        return self.async_units.specialization(function)

    def prune(
        self, configs: Sequence[Mapping[str, Any]], arguments: Mapping[str, Any]
    ) -> Sequence[Mapping[str, Any]]:
        """All of ``configs``: what does not fit is refused when it is compiled."""
        del arguments
        return configs

    def configurations(self) -> Sequence[Mapping[str, Any]]:
        """None beside the usual options."""
        return ()


DEFAULT_POLICY = DefaultPolicy()
