"""Reads of local memory by a whole sub-group: neighbouring elements go to neighbouring lanes.

Source: cl_intel_subgroup_local_block_io and SPV_INTEL_subgroups.
"""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tri_backend_intel.dialect.builtins import call_builtin
from tri_backend_intel.dialect.ttig import TTIG
from tri_core.mlir import ext, ir
from tri_gpu_dialect.lowering import Builder, MachineOp, SimulatedCTA

__all__ = ["LocalBlockReadOp"]

Array = npt.NDArray[Any]

_LOCAL = 3


class LocalBlockReadOp(MachineOp, dialect=TTIG, name="local_block_read"):
    """Rows of i16, an element for each lane, that follow each other from ``place`` on, the same in all lanes; 2, 4 or 8 rows."""

    outputs: Sequence[ext.Result[Any]]
    place: ext.Operand[Any]

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """``intel_sub_group_block_read_us8`` and its like."""
        count = len(self.operation.results)
        name = f"intel_sub_group_block_read_us{count}"
        type_ = b.vector_type(b.int_type(16), count)
        symbol = f"_Z{len(name)}{name}PU3AS{_LOCAL}Kt"
        (found,) = call_builtin(b, symbol, [self.place], [type_], convergent=True, pure=False)
        return b.unpack(found)

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """By the extension's text; lanes that name several places, or one that is no multiple of 16 bytes, are an AssertionError."""
        (place,) = operands
        lanes = cta.threads_per_warp
        rows = np.broadcast_to(np.asarray(place, np.int64), (cta.num_threads,)).reshape(-1, lanes)
        if np.any(rows != rows[:, :1]) or np.any(rows % 16):
            raise AssertionError(
                "a block read of local memory at several places, or at one that is not aligned"
            )
        first = rows.reshape(-1) + np.arange(cta.num_threads) % lanes * 2
        memory, kind = cta.memory(_LOCAL), np.dtype(np.int16)
        return [
            memory.load(first + row * lanes * 2, kind, cta.active).reshape(-1)
            for row in range(len(self.operation.results))
        ]
