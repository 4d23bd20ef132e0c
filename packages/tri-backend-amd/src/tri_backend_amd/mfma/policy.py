"""Choice of the MFMA for a dot: fewest cycles of the matrix unit, then fewest reads."""

from __future__ import annotations

from collections.abc import Sequence

from tri_backend_amd.direct_copies import DirectCopies
from tri_backend_amd.mfma.encoding import AmdMfma
from tri_backend_amd.mfma.forms import Form
from tri_backend_amd.mfma.table import form_of, matrix_instructions, narrow_instructions
from tri_backend_amd.mfma.work import work
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.policies.gpu import DefaultPolicy, DotPolicy, PipelinePolicy
from tri_gpu_dialect.policies.matrix import (
    MatrixInstruction,
    choose,
    contiguous_dimension,
    is_made_of_dot,
)
from tri_gpu_dialect.policies.operands import ByCycles
from tri_gpu_dialect.transforms.pipeline.strategies import ThroughRegisters
from tri_gpu_dialect.types import shape_of

__all__ = ["MfmaPolicy", "mfma_policy"]

_WORD = 32


@dataclass(frozen=True)
class MfmaPolicy(DefaultPolicy):
    """Policy of ``processor`` for the shared passes.

    ``pairs``: rows that take two instructions' operands at once; ``narrow``: rows that take 4 neighbours along k at a time.  A dot
    whose first operand is made of another dot's result takes that as it is, 4 neighbours in a lane: none of ``pairs``.  8-bit
    operands whose neighbours in memory are across k take ``narrow`` as well.
    ``least``: the lesser of m and n of the rows that are taken if one of them computes the dot; 0: of all.
    """

    processor: str = ""
    warps: int = 4
    pairs: tuple[MatrixInstruction, ...] = ()
    narrow: tuple[MatrixInstruction, ...] = ()
    least: int = 0

    def mma(self, dot: ir.Operation) -> MatrixInstruction | None:
        """The cheapest row that computes ``dot``; None: plain FMA."""
        rows = self.dots.instructions
        is_chained = is_made_of_dot(dot.operands[0])
        if not is_chained:
            rows = (*self.pairs, *rows)
        if is_chained:
            rows = (*self.narrow, *rows)
        elif _is_across(dot):
            rows = (*(row for row in self.narrow if self._takes_two_words(row)), *rows)
        shape, depth = shape_of(dot.results[0].type), shape_of(dot.operands[0].type)[-1]
        fitting = self._fitting(rows, dot)
        fitting = [row for row in fitting if min(row.shape[:2]) == self.least] or fitting
        return min(fitting, key=lambda row: self._cost(row, shape, depth), default=None)

    def _takes_two_words(self, row: MatrixInstruction) -> bool:
        """True if a piece of ``row`` is a 32-bit word, and its instruction takes two.

        A thread that transposes bytes writes words, which then are two neighbours of one access in memory.
        """
        form = self._form(row)
        return row.k_width * form.bits == _WORD and form.per_lane == 2 * row.k_width

    def _form(self, row: MatrixInstruction) -> Form:
        assert isinstance(row.encoding, AmdMfma)
        instruction = row.encoding.instr_shape
        form = form_of(self.processor, row.a, row.b, instruction, exact=not row.precisions)
        assert form is not None
        return form

    def _fitting(self, rows: Sequence[MatrixInstruction], dot: ir.Operation) -> list[MatrixInstruction]:
        """All rows of the operands' types that compute ``dot``, in their order; widened operands where no row has theirs."""
        first = choose(rows, dot)
        if first is None:
            return []
        alike = [row for row in rows if (row.a, row.b) == (first.a, first.b)]
        return [row for row in alike if choose((row,), dot) is not None]

    def _cost(self, row: MatrixInstruction, shape: tuple[int, ...], depth: int) -> tuple[int, int]:
        """Passes of a wavefront's share of the dot, and the elements that it reads."""
        form = self._form(row)
        return work(shape, depth, (form.m, form.n, form.k), form.passes, self.warps)


def _is_across(dot: ir.Operation) -> bool:
    """True if an operand of ``dot`` is contiguous across k."""
    depths = [len(shape_of(dot.operands[0].type)) - back for back in (1, 2)]
    return any(contiguous_dimension(dot.operands[i]) != depth for i, depth in enumerate(depths))


def mfma_policy(
    processor: str, warps: int, least: int = 0, kpack: int = 0, *, copies: bool = False
) -> DefaultPolicy:
    """The policy for ``processor``, whose CTAs have ``warps`` wavefronts; without MFMA, the default.

    ``least`` and ``kpack`` are the options ``matrix_instr_nonkdim`` and ``kpack``; ``copies``: operands may be copied straight to LDS.
    """
    rows = matrix_instructions(processor)
    if not rows:
        return DefaultPolicy()
    return MfmaPolicy(
        dots=DotPolicy(instructions=rows, operands=ByCycles()),
        pipeline=PipelinePolicy(
            loads=DirectCopies() if copies else ThroughRegisters(), split_loops=True, short_rest=4
        ),
        processor=processor,
        warps=warps,
        pairs=() if kpack == 1 else matrix_instructions(processor, 2),
        narrow=narrow_instructions(processor),
        least=least,
    )
