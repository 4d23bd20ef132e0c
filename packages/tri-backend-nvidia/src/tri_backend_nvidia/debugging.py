"""Printing and failing from a kernel, through functions that the driver links in."""

from __future__ import annotations

from collections.abc import Sequence

from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Builder

__all__ = ["assert_fail", "print_line"]


def print_line(b: Builder, text: str, values: Sequence[ir.Value]) -> None:
    """Print ``values``, promoted as C promotes variadic arguments, in C's format ``text``."""
    b.call("vprintf", [_string(b, text), _variadic(b, values)], [b.i32])


def _variadic(b: Builder, values: Sequence[ir.Value]) -> ir.Value:
    """A pointer to ``values`` in local memory, laid out as a C struct."""
    if not values:
        return b.zero(b.ptr())
    struct = b.struct_type([v.type for v in values])
    with ir.InsertionPoint.at_block_begin(b.entry):
        count = b.int_(1)
        element = {"elem_type": ir.TypeAttr.get(struct), "alignment": ir.IntegerAttr.get(b.i64, 8)}
    with ir.InsertionPoint.after(count.owner):  # in the entry block, or every iteration would allocate
        place = b.op("llvm.alloca", (count,), b.ptr(), element)
    offset = 0
    for value in values:
        size = value.type.width // 8
        offset = -(-offset // size) * size
        b.store(value, b.gep(place, b.int_(offset), b.i8), size)
        offset += size
    return place


def assert_fail(b: Builder, message: str, file: str, function: str, line: int) -> None:
    """Stop the kernel; the host sees a failed launch and the message on its standard error."""
    operands = [_string(b, message), _string(b, file), b.int_(line), _string(b, function), b.int_(1, 64)]
    b.call("__assertfail", operands, [])


def _string(b: Builder, text: str) -> ir.Value:
    """A generic pointer to a zero-terminated constant."""
    data = text.encode() + b"\0"
    number = 0
    while (name := f"tri_string_{number}") in b.symbols():
        number += 1
    attributes: dict[str, ir.Attribute] = {
        "sym_name": ir.StringAttr.get(name),
        "global_type": ir.TypeAttr.get(ir.Type.parse(f"!llvm.array<{len(data)} x i8>")),
        "addr_space": ir.IntegerAttr.get(b.i32, 0),
        "linkage": ir.Attribute.parse("#llvm.linkage<internal>"),
        "value": ir.StringAttr.get(data),
        "constant": ir.UnitAttr.get(),
    }
    ip = ir.InsertionPoint.at_block_begin(b.module.body)
    ir.Operation.create("llvm.mlir.global", attributes=attributes, regions=1, ip=ip)
    b.symbols().add(name)
    symbol = {"global_name": ir.FlatSymbolRefAttr.get(name)}
    return b.op("llvm.mlir.addressof", (), b.ptr(), symbol)
