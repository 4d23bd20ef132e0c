"""Printing and failing from a kernel, through functions that the driver links in."""

from __future__ import annotations

from collections.abc import Sequence

from tri_core.mlir import ir
from tri_gpu_dialect.lowering import Builder

__all__ = ["assert_fail", "print_line"]


def print_line(b: Builder, prefix: str, args: Sequence[ir.Value], signed: Sequence[bool], hex_: bool) -> None:
    """One line: ``prefix``, each ``{}`` in it replaced by one of ``args`` and the rest of them after it.

    The last is hexadecimal if ``hex_`` and an integer, with all digits of its type.
    """
    digits = [0] * len(args)
    if hex_ and args and isinstance(args[-1].type, ir.IntegerType):
        digits[-1], signed = max(args[-1].type.width // 4, 1), [*signed[:-1], False]
    promoted = [_promote(b, a, s) for a, s in zip(args, signed, strict=True)]
    pieces = [_conversion(b, *each) for each in zip(promoted, signed, digits, strict=True)]
    b.call("vprintf", [_string(b, _format(prefix, pieces) + "\n"), _variadic(b, promoted)], [b.i32])


def _format(prefix: str, conversions: Sequence[str]) -> str:
    """C's format string."""
    first, *texts = prefix.replace("%", "%%").split("{}")
    placed = [c + t for c, t in zip(conversions, texts, strict=False)]
    return " ".join(["".join([first, *placed]), *conversions[len(texts) :]])


def _promote(b: Builder, value: ir.Value, signed: bool) -> ir.Value:
    """C's promotion of a variadic argument."""
    if isinstance(value.type, ir.IntegerType):
        return value if value.type.width >= 32 else b.int_cast(value, b.i32, signed and value.type.width > 1)
    if isinstance(value.type, ir.FloatType):
        return value if value.type == b.f64 else b.op("llvm.fpext", (value,), b.f64)
    return b.ptr_to_int(value)


def _conversion(b: Builder, value: ir.Value, signed: bool, digits: int) -> str:
    """C's conversion; hexadecimal with so many ``digits`` unless 0."""
    if value.type == b.f64:
        return "%f"
    letter = "x" if digits else "d" if signed else "u"
    prefix = f"0x%0{digits}" if digits else "%"
    return f"{prefix}{'ll' if value.type.width == 64 else ''}{letter}"


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
