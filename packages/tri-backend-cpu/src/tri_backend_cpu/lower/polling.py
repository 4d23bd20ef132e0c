"""Where a kernel that runs for long looks whether it is to stop: between programs, and in loops.

A look is one load and a branch that is not taken.  The function that it calls when it is asked to does not come back
where the launch is given up, so that nothing of the program runs on with half of its values.
"""

from __future__ import annotations

from tri_backend_cpu.launch_abi import POLL
from tri_backend_cpu.lower.builder import I8, I32, POINTER
from tri_backend_cpu.lower.context import Context
from tri_core.mlir import ir

__all__ = ["emit_poll"]


def emit_poll(context: Context) -> None:
    """Look at the task's word of attention, and call its function where it is set."""
    b = context.b
    wanted = b.op("llvm.load", b.type(I32), context.attention, volatile_=ir.UnitAttr.get())
    _, yes, no = b.branch(b.cmp("ne", wanted, b.i32(0)))
    with b.inside(yes):
        function = b.load(b.offset(context.task, POLL, I8), POINTER)
        b.effect(
            "llvm.call",
            *(function, context.task, context.arena),
            operandSegmentSizes=ir.DenseI32ArrayAttr.get([3, 0]),
            op_bundle_sizes=ir.DenseI32ArrayAttr.get([]),
        )
        b.yield_()
    with b.inside(no):
        b.yield_()
