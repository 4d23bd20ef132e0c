"""Which MFMA computes a dot: the one that keeps the matrix unit busy for the fewest cycles, then the one that reads least."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tri_backend_amd.mfma.encoding import AmdMfma
from tri_backend_amd.mfma.table import form_of, matrix_instructions
from tri_core.mlir import ir
from tri_gpu_dialect.matrix import MatrixInstruction, choose, is_made_of_dot, split_warps
from tri_gpu_dialect.policy import DefaultPolicy, DotPolicy, PipelinePolicy
from tri_gpu_dialect.types import shape_of

__all__ = ["MfmaPolicy", "mfma_policy"]


@dataclass(frozen=True)
class MfmaPolicy(DefaultPolicy):
    """What shared passes know of ``processor``.

    ``pairs``: rows that take two instructions' operands at once.  A dot whose first operand is made of another dot's result takes
    that as it is, 4 neighbours in a lane, and none of these.
    ``least``: the lesser of m and n of the rows that are taken if one of them computes the dot; 0: of all.
    """

    processor: str = ""
    warps: int = 4
    pairs: tuple[MatrixInstruction, ...] = ()
    least: int = 0

    def mma(self, dot: ir.Operation) -> MatrixInstruction | None:
        """The cheapest row that computes ``dot``; None: plain FMA."""
        rows = self.dots.instructions
        if not is_made_of_dot(dot.operands[0]):
            rows = (*self.pairs, *rows)
        shape, depth = shape_of(dot.results[0].type), shape_of(dot.operands[0].type)[-1]
        fitting = self._fitting(rows, dot)
        fitting = [row for row in fitting if min(row.shape[:2]) == self.least] or fitting
        return min(fitting, key=lambda row: self._cost(row, shape, depth), default=None)

    def _fitting(self, rows: Sequence[MatrixInstruction], dot: ir.Operation) -> list[MatrixInstruction]:
        """All rows of the operands' types that compute ``dot``, in their order; widened operands where no row has theirs."""
        first = choose(rows, dot)
        if first is None:
            return []
        alike = [row for row in rows if (row.a, row.b) == (first.a, first.b)]
        return [row for row in alike if choose((row,), dot) is not None]

    def _cost(self, row: MatrixInstruction, shape: tuple[int, ...], depth: int) -> tuple[int, int]:
        """Passes of a wavefront's share of the dot, and the elements that it reads."""
        m, n, _ = row.shape
        assert isinstance(row.encoding, AmdMfma)
        instruction = row.encoding.instr_shape
        form = form_of(self.processor, row.a, row.b, instruction, exact=not row.precisions)
        assert form is not None
        *batch, rows, columns = split_warps(shape, (m, n), self.warps, whole_rows=False)
        down, across = (
            max(size // (split * own), 1)
            for size, split, own in zip(shape[-2:], (rows, columns), (m, n), strict=True)
        )
        alone = math.prod(max(size // split, 1) for size, split in zip(shape[:-2], batch, strict=True))
        steps = alone * down * across * (depth // instruction[2])
        return steps * form.passes, alone * (down * m + across * n) * depth


def mfma_policy(processor: str, warps: int, least: int = 0, kpack: int = 0) -> DefaultPolicy:
    """The policy for ``processor``, whose CTAs have ``warps`` wavefronts; without MFMA, the default.

    ``least`` and ``kpack`` are the options ``matrix_instr_nonkdim`` and ``kpack``.
    """
    rows = matrix_instructions(processor)
    if not rows:
        return DefaultPolicy()
    return MfmaPolicy(
        dots=DotPolicy(instructions=rows, memory_by_cycles=True),
        pipeline=PipelinePolicy(through_registers=True, split_loops=True),
        processor=processor,
        warps=warps,
        pairs=() if kpack == 1 else matrix_instructions(processor, 2),
        least=least,
    )
