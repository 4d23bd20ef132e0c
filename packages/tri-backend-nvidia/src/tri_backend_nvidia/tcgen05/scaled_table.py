"""Block-scaled dots (``tt.dot_scaled``) that ``tcgen05.mma`` supports, and reasons for the others."""

from __future__ import annotations

import math
from collections.abc import Collection

from tri_backend_nvidia.mma.scaled_table import (
    E2M1,
    E4M3,
    E5M2,
    ScaledOperands,
    ScaledRow,
    refused_formats,
    refused_partitions,
)
from tri_backend_nvidia.tcgen05.encoding import BLOCK_M, GROUP_WARPS, TensorMemory
from tri_backend_nvidia.tcgen05.scales import LEAST_ROWS, SCALE_SETS, WORD, TensorMemoryScales
from tri_core.api import Target
from tri_core.dialects.tt.enums import ScaleDotElemType
from tri_core.ir.dots import Dot
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.types import bitwidth, shape_of, tensor_info

__all__ = ["ROWS", "ScaledDots", "row_for"]

_ANY = (E4M3, E5M2, E2M1)


#: PTX ISA 9.0, 9.7.16.10.7.1, table "Valid combinations of scale_vectorsize with types and MMA-Kind"; the first that fits is used
ROWS: tuple[ScaledRow, ...] = (
    ScaledRow("mxf4nvf4", (E2M1,), "f8E4M3FN", "ue4m3", 16),
    ScaledRow("mxf4nvf4", (E2M1,), "i8", "ue8m0", 16),
    ScaledRow("mxf4", (E2M1,), "i8", "ue8m0", 32),
    ScaledRow("mxf8f6f4", _ANY, "i8", "ue8m0", 32),
)


def row_for(formats: Collection[ScaleDotElemType], scale: str, group: int) -> ScaledRow | None:
    """The first instruction for operands of ``formats`` with scales of type ``scale``, in MLIR's words, for ``group`` elements each."""
    return next(
        (r for r in ROWS if set(formats) <= set(r.formats) and (r.scale, r.group) == (scale, group)), None
    )


@dataclass(frozen=True)
class ScaledDots:
    """Block-scaled dots of a target with ``shared`` bytes of shared memory, and ``columns`` of tensor memory,
    in kernels of these options.
    """

    num_warps: int
    num_ctas: int
    shared: int
    columns: int
    specialize: bool | None = None

    @classmethod
    def of(
        cls, target: Target, num_warps: int, num_ctas: int, *, specialize: bool | None
    ) -> ScaledDots | None:
        """For ``target``; None without tensor memory."""
        if not target.has("tcgen05"):
            return None
        limits = target.spec.limits
        return cls(num_warps, num_ctas, limits["shared"], limits["tensor_memory"], specialize)

    def refuses(self, op: ir.Operation) -> str | None:
        """Reason that no instruction supports ``op``, a ``tt.dot_scaled``; None if one does."""
        if len(shape_of(op.results[0].type)) != 2:
            return "it has a batch"
        scaled = ScaledOperands.of(op)
        return self._launch(op) or refused_formats(scaled, ROWS) or self._sizes(scaled, op)

    def _launch(self, op: ir.Operation) -> str | None:
        if self.num_ctas > 1 or self.num_warps % GROUP_WARPS:
            return f"it takes one CTA and a multiple of {GROUP_WARPS} warps; {self.num_warps} warps of {self.num_ctas}"
        return refused_partitions(op, self.specialize)

    def _sizes(self, scaled: ScaledOperands, op: ir.Operation) -> str | None:
        row, (m, n, k) = scaled.row(ROWS), scaled.shape
        assert row is not None
        least = BLOCK_M, LEAST_ROWS, WORD * row.group
        if m < least[0] or n < least[1] or k < least[2]:
            wanted = " x ".join(map(str, least))
            return f"{m} x {n} x {k} is less than {wanted}, which kind::{row.kind} takes with four scales of each row at once"
        scales = sum(TensorMemoryScales().columns((rows, k // row.group)) for rows in (m, n))
        columns = TensorMemory.of((m, n)).columns((m, n)) + SCALE_SETS * scales
        if columns > self.columns:
            return f"the accumulator and its scales need {columns} columns of tensor memory; there are {self.columns}"
        need = sum(_bytes(v.type) for v in list(op.operands) if v != Dot(op).c)
        if row.kind == "mxf8f6f4":  # e2m1 takes as much as 8 bits
            need = (m + n) * k
        return f"{need} bytes of operands do not fit into shared memory" if need > self.shared else None


def _bytes(type_: ir.Type) -> int:
    info = tensor_info(type_)
    return 0 if info is None else math.prod(info.shape) * bitwidth(info.element_type) // 8
