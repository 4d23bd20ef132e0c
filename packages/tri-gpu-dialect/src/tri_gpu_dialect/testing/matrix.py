"""A made-up matrix instruction of the reference GPU: 8 x 8 x 8, f16 or f32 operands, accumulators in f32."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ext, registry
from tri_gpu_dialect.encodings import MatrixEncoding, encoding
from tri_gpu_dialect.encodings.matrix import ACCUMULATOR
from tri_gpu_dialect.layouts import LANE, REGISTER, LinearLayout
from tri_gpu_dialect.lowering import MachineOp, SimulatedCTA
from tri_gpu_dialect.policies.gpu import DefaultPolicy, DotPolicy, PipelinePolicy
from tri_gpu_dialect.policies.matrix import MatrixInstruction
from tri_gpu_dialect.transforms.pipeline.strategies import AsyncCopy

__all__ = ["MATRIX_POLICY", "REFM", "MatrixOp", "RefMatrix"]

Array = npt.NDArray[Any]
_LANES = 32


class REFM(ext.Dialect, name="refm"):
    """The matrix unit of the reference GPU."""


@encoding(REFM, "matrix", keys={"warps_per_cta": "warpsPerCTA"})
@dataclass(frozen=True)
class RefMatrix(MatrixEncoding):
    """Each of 32 lanes has two neighbours: along n of the result and the right operand, along k of the left."""

    warps_per_cta: tuple[int, ...] = (1, 1)

    def fragment(self, role: int, k_width: int) -> LinearLayout:
        """Two elements per lane, four lanes along that dimension, eight along the other."""
        inner, outer = ("dim0", "dim1") if role == 1 else ("dim1", "dim0")
        parts = ((2, REGISTER, inner), (4, LANE, inner), (8, LANE, outer))
        layout = LinearLayout.identity1d(1, REGISTER, outer)
        for size, in_dim, out_dim in parts:
            layout *= LinearLayout.identity1d(size, in_dim, out_dim)
        return layout.transpose_outs(["dim0", "dim1"])


class MatrixOp(MachineOp, dialect=REFM, name="multiply"):
    """Registers of the left operand, the right one and the accumulator: two each."""

    computes_floats = True

    outputs: Sequence[ext.Result[Any]]
    left: Sequence[ext.Operand[Any]]
    right: Sequence[ext.Operand[Any]]
    total: Sequence[ext.Operand[Any]]

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The product in double precision, rounded once."""
        lane, places = np.arange(_LANES), []
        for role in (0, 1, ACCUMULATOR):
            along, across = lane[:, None] % 4 * 2 + np.arange(2), lane[:, None] // 4 + np.zeros(2, int)
            places.append((along, across) if role == 1 else (across, along))
        matrices = []
        for role, place in enumerate(places):
            values = np.stack(operands[2 * role : 2 * role + 2], axis=1).astype(np.float64)
            matrix = np.zeros((cta.num_threads // _LANES, 8, 8))
            matrix[:, place[0], place[1]] = values.reshape(-1, _LANES, 2)
            matrices.append(matrix)
        a, b, c = matrices
        made = (a @ b + c)[:, places[2][0], places[2][1]].reshape(-1, 2).astype(np.float32)
        return [made[:, 0], made[:, 1]]


#: what the optimizer knows of it
MATRIX_POLICY = DefaultPolicy(
    dots=DotPolicy(
        instructions=tuple(
            MatrixInstruction(a=t, b=t, accumulator="f32", shape=(8, 8, 8), k_width=2, encoding=RefMatrix())
            for t in ("f16", "f32")
        )
    ),
    pipeline=PipelinePolicy(loads=AsyncCopy(), prefetch=True),
)

registry.add_dialect(REFM)
