"""Reports from a running kernel to the host: failed assertions and prints.

What the host must know to word them (messages, places, types) goes into the kernel's metadata.
"""

from __future__ import annotations

from collections.abc import Sequence

from tri_backend_cpu.builder import F64, I8, I32, I64, POINTER
from tri_backend_cpu.launch_abi import FAILED, FAILED_PROGRAM, PRINTER
from tri_backend_cpu.lower.atomics import exchange
from tri_backend_cpu.lower.casts import convert
from tri_backend_cpu.lower.context import Context
from tri_core.mlir import ir
from tri_core.printing import NARROWEST_FLOAT
from tri_core.ttir import DType, Op
from tri_core.ttir.types import dtype_of

__all__ = ["report_failure", "report_print"]

_RELAXED = 2  # LLVM's code of the ordering


def report_failure(context: Context, op: Op) -> None:
    """Note in the task that the assertion ``op`` failed, and in which program, if nothing has failed before."""
    b = context.b
    number = context.reports.assertion(op)
    _, first = exchange(b, b.offset(context.task, FAILED, I8), b.i32(0), b.i32(number), _RELAXED)
    _, yes, no = b.branch(first)
    with b.inside(yes):
        for axis, index in enumerate(context.program):
            b.store(b.offset(context.task, FAILED_PROGRAM + 4 * axis, I8), index, I32)
        b.yield_()
    with b.inside(no):
        b.yield_()


def report_print(context: Context, op: Op, indices: Sequence[ir.Value], values: Sequence[ir.Value]) -> None:
    """Call the task's printer: (site, x, y, z, element number, values as 8 bytes each)."""
    b = context.b
    site = b.i64(context.reports.print(op))
    shape = next((v.shape for v in op.operands if v.is_tensor), ())
    element = b.i64(0)
    for index, extent in zip(indices, shape, strict=True):
        element = b.same("arith.addi", b.same("arith.muli", element, b.i64(extent)), index)
    record = context.record(len(values))
    for number, (operand, value) in enumerate(zip(op.operands, values, strict=True)):
        b.store(
            b.offset(record, number, I64),
            _as_i64(context, value, operand.dtype, in_bits=bool(op.attributes.get("hex"))),
            I64,
        )
    printer = b.load(b.offset(context.task, PRINTER, I8), POINTER)
    operands = [printer, site, *context.program, element, record]
    b.effect(
        "llvm.call",
        *operands,
        operandSegmentSizes=ir.DenseI32ArrayAttr.get([len(operands), 0]),
        op_bundle_sizes=ir.DenseI32ArrayAttr.get([]),
    )


def _as_i64(context: Context, value: ir.Value, dtype: DType, *, in_bits: bool) -> ir.Value:
    """``value`` as 8 bytes: floats as f64, the narrowest as their bits where these are printed; pointers and integers as i64."""
    b = context.b
    if dtype.is_pointer:
        return b.op("llvm.ptrtoint", b.type(I64), value)
    if dtype.is_float and in_bits and dtype.bits < NARROWEST_FLOAT:
        bits = b.bitcast(value, dtype_of(f"i{dtype.bits}"))
        return b.convert_int(bits, I64, signed=False)
    if dtype.is_float:
        return b.bitcast(convert(b, value, dtype, F64), I64)
    return b.convert_int(value, I64, signed=dtype.bits > 1)
