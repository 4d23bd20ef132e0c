"""Machine ops: the instructions that LLVM IR has no words for.

Each is defined once, with two meanings: ``emit`` says it to LLVM, as a call that the device's compiler knows
(an intrinsic, a builtin, inline assembly); ``simulate`` does it with NumPy, for all threads of a block at once.
The kernels that the simulator runs are made of these and of LLVM's own instructions.
"""

# No `from __future__ import annotations` here: MLIR's bindings read the annotations as objects.

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from tri_core.mlir import ext, ir
from tri_gpu_dialect.lowering import Builder, MachineOp, SimulatedCTA

__all__ = ["TOY", "BarrierOp", "NumProgramsOp", "ProgramIdOp", "ShuffleOp", "ThreadIdOp"]

Array = npt.NDArray[Any]
_In = ext.Operand[Any]
_Out = ext.Result[Any]


class TOY(ext.Dialect, name="toy"):
    """Toy's dialect."""


def _builtin(
    b: Builder,
    name: str,
    operands: Sequence[ir.Value],
    results: Sequence[ir.Type],
    *,
    convergent: bool = False,
) -> list[ir.Value]:
    """A call of the device's builtin ``__toy_<name>``.

    One at which threads synchronise is ``convergent``: LLVM must not move it into or out of a branch.
    """
    attributes: dict[str, ir.Attribute] = {"no_unwind": ir.UnitAttr.get()}
    if convergent:
        attributes["convergent"] = ir.UnitAttr.get()
    return b.call(f"__toy_{name}", operands, results, attributes, attributes)


class ThreadIdOp(MachineOp, dialect=TOY, name="thread_id", traits=[ext.Pure]):
    """The number of this thread in its block, i32."""

    result: _Out

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """A builtin without operands."""
        return _builtin(b, "thread_id", [], [b.i32])

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """0, 1, 2, ..."""
        return [np.arange(cta.num_threads, dtype=np.int32)]


class ProgramIdOp(MachineOp, dialect=TOY, name="program_id", traits=[ext.Pure]):
    """The number of this block along ``axis`` of the grid, i32."""

    axis: ir.IntegerAttr
    result: _Out

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """A builtin that takes the axis."""
        return _builtin(b, "program_id", [b.int_(self.axis.value)], [b.i32])

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The same for all threads."""
        return [np.full(cta.num_threads, cta.program_id[self.axis.value], np.int32)]


class NumProgramsOp(MachineOp, dialect=TOY, name="num_programs", traits=[ext.Pure]):
    """The number of blocks along ``axis`` of the grid, i32."""

    axis: ir.IntegerAttr
    result: _Out

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """A builtin that takes the axis."""
        return _builtin(b, "num_programs", [b.int_(self.axis.value)], [b.i32])

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The same for all threads."""
        return [np.full(cta.num_threads, cta.num_programs[self.axis.value], np.int32)]


class BarrierOp(MachineOp, dialect=TOY, name="barrier"):
    """The threads of a block synchronise; what they wrote to memory before is seen after."""

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """A builtin that stays where it is."""
        return _builtin(b, "barrier", [], [], convergent=True)

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The simulator's barrier: accesses that no barrier orders are races."""
        cta.barrier()
        return []


class ShuffleOp(MachineOp, dialect=TOY, name="shuffle"):
    """``value`` (i32) of lane ``lane`` (i32) of this warp; not ``Pure``, since it reads other lanes' registers."""

    value: _In
    lane: _In
    result: _Out

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """A builtin that stays where it is."""
        return _builtin(b, "shuffle", [self.value, self.lane], [b.i32], convergent=True)

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """A gather within each warp."""
        value, lane = operands
        threads = np.arange(cta.num_threads)
        return [value[threads - threads % cta.threads_per_warp + lane % cta.threads_per_warp]]
