"""Machine ops of the reference GPU: thread and program numbers, a barrier, a shuffle."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tri_core.ir.traits import Pure
from tri_core.mlir import ext, ir, registry
from tri_gpu_dialect.lowering import Builder, MachineOp, SimulatedCTA

__all__ = ["REF", "BarrierOp", "PartitionBarrierOp", "ProgramOp", "ShuffleOp", "ThreadIdOp"]

Array = npt.NDArray[Any]

_In = ext.Operand[Any]
_Out = ext.Result[Any]


class REF(ext.Dialect, name="ref"):
    """Machine ops of the reference GPU."""


class ThreadIdOp(MachineOp, dialect=REF, name="thread_id", traits=[Pure]):
    """The linear thread index."""

    result: _Out

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """A call that nobody defines: the text is only looked at."""
        return b.call("ref_thread_id", [], [b.i32])

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """0, 1, 2, ..."""
        return [np.arange(cta.num_threads, dtype=np.int32)]


class ProgramOp(MachineOp, dialect=REF, name="program", traits=[Pure]):
    """The program's index along ``axis``, or with ``count`` the number of programs."""

    axis: ir.IntegerAttr
    count: ir.IntegerAttr
    result: _Out

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """A call that nobody defines."""
        name = "num_programs" if ir.IntegerAttr(self.count).value else "program_id"
        return b.call(f"ref_{name}", [b.int_(ir.IntegerAttr(self.axis).value)], [b.i32])

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The same for all threads."""
        numbers = cta.num_programs if ir.IntegerAttr(self.count).value else cta.program_id
        return [np.full(cta.num_threads, numbers[ir.IntegerAttr(self.axis).value], np.int32)]


class BarrierOp(MachineOp, dialect=REF, name="barrier"):
    """All threads synchronise."""

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """A call that nobody defines."""
        return b.call("ref_barrier", [])

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The CTA's barrier."""
        cta.barrier()
        return []


class PartitionBarrierOp(MachineOp, dialect=REF, name="partition_barrier"):
    """``warps`` warps of the CTA synchronise at barrier ``number``."""

    number: ir.IntegerAttr
    warps: ir.IntegerAttr

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """A call that nobody defines."""
        given = [b.int_(ir.IntegerAttr(each).value) for each in (self.number, self.warps)]
        return b.call("ref_partition_barrier", given)

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """A barrier of that name."""
        warps = ir.IntegerAttr(self.warps).value
        cta.barrier(ir.IntegerAttr(self.number).value, warps * cta.threads_per_warp)
        return []


class ShuffleOp(MachineOp, dialect=REF, name="shuffle", traits=[Pure]):
    """``value`` (i32) of lane ``lane`` (i32)."""

    value: _In
    lane: _In
    result: _Out

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """A call that nobody defines."""
        return b.call("ref_shuffle", [self.value, self.lane], [b.i32])

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """A gather within each warp."""
        value, lane = operands
        if ((lane < 0) | (lane >= cta.threads_per_warp)).any():
            raise ValueError("a shuffle asks for a lane that does not exist")
        threads = np.arange(cta.num_threads)
        return [value[threads - threads % cta.threads_per_warp + lane]]


registry.add_dialect(REF)
