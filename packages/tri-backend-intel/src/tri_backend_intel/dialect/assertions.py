"""The machine ops of ``ttig`` with which an assertion that failed ends a kernel.

SPIR-V has no trap: the work items of a work group leave together, so that none waits for another at a barrier.
"""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tri_backend_intel.dialect.builtins import call_builtin, mangled
from tri_backend_intel.dialect.ttig import TTIG
from tri_core.mlir import ext, ir
from tri_gpu_dialect.lowering import Builder, MachineOp, SimulatedCTA

__all__ = ["FailedOp", "LeaveOp"]

Array = npt.NDArray[np.generic]


class FailedOp(MachineOp, dialect=TTIG, name="failed"):
    """An assertion has failed, and its record is written."""

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """Nothing: the host reads the record when the kernel has ended."""
        return []

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """The kernel stops here."""
        cta.stop()
        return []


class LeaveOp(MachineOp, dialect=TTIG, name="leave"):
    """The kernel ends for the whole work group where ``failed`` (i1) holds in one of its work items.

    All of them come here at the same time.
    """

    failed: ext.Operand[Any]

    def emit(self, b: Builder) -> Sequence[ir.Value]:
        """A branch to a return, by OpGroupAny; what follows is in a block of its own."""
        operation = self.operation
        given = b.int_cast(self.failed, b.i32)
        (found,) = call_builtin(
            b, mangled("work_group_any", [b.i32]), [given], [b.i32], convergent=True, pure=False
        )
        leaves = b.cmp("ne", found, b.int_(0))
        rest, end = _cut(operation)
        with ir.InsertionPoint(end):
            ir.Operation.create("llvm.return")
        ir.Operation.create(
            "llvm.cond_br",
            operands=[leaves],
            successors=[end, rest],
            attributes={"operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0, 0])},
        )
        return []

    def simulate(self, cta: SimulatedCTA, operands: Sequence[Array]) -> Sequence[Array]:
        """Nothing: who failed has stopped the kernel before."""
        return []


def _cut(op: ir.Operation) -> tuple[ir.Block, ir.Block]:
    """Split the block after ``op``: the rest, in a new block; and a second new one, which is empty."""
    block = op.block
    following = [view.operation for view in block.operations]
    following = following[following.index(op) + 1 :]
    rest = block.create_after()
    with ir.InsertionPoint(rest):
        last = ir.Operation.create("llvm.unreachable")
    for each in following:
        each.move_before(last)
    last.erase()
    return rest, rest.create_after()
