"""Polling for interruption by kernels that run for long: between programs, and in loops.

A poll is one load and a branch that is not taken.  The function that it calls where the flag is set does not come back
where the launch is given up, so that nothing of the program runs on with half of its values.
"""

from __future__ import annotations

from tri_backend_cpu.builder import I1, I8, I32, POINTER
from tri_backend_cpu.launch_abi import POLL
from tri_backend_cpu.lower.context import Context
from tri_core.mlir import ir

__all__ = ["emit_poll"]


def emit_poll(context: Context) -> None:
    """Load the task's attention flag, and call its function where it is set."""
    b = context.b
    flag = b.op("llvm.load", b.type(I32), context.attention, volatile_=ir.UnitAttr.get())
    wanted = b.same("llvm.intr.expect", b.cmp("ne", flag, b.i32(0)), b.constant(0, I1))
    _, yes, no = b.branch(wanted)
    with b.inside(yes):
        function = b.load(b.offset(context.task, POLL, I8), POINTER)
        b.effect("llvm.call", function, context.task, context.arena, **_call())
        b.yield_()
    with b.inside(no):
        b.yield_()


def _call() -> dict[str, ir.Attribute]:
    """Of the call: it touches nothing of the kernel's, so that accumulators stay in registers over it.

    A launch that is given up leaves what it writes half written, so code may move over a call that does not come back.
    """
    return {
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([3, 0]),
        "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
        "memory_effects": ir.Attribute.parse(
            "#llvm.memory_effects<other = none, argMem = none, inaccessibleMem = readwrite, errnoMem = none,"
            " targetMem0 = none, targetMem1 = none>"
        ),
        "no_unwind": ir.UnitAttr.get(),
        "will_return": ir.UnitAttr.get(),
    }
