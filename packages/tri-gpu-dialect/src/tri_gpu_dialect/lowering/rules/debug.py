"""Printing, assertions and assumptions."""

from __future__ import annotations

from collections.abc import Sequence

from tri_core.locations import source_location
from tri_core.mlir import ir
from tri_core.printing import NARROWEST_FLOAT, line_format
from tri_gpu_dialect.layouts import REGISTER
from tri_gpu_dialect.lowering.context import Lowered, Lowering
from tri_gpu_dialect.lowering.indices import tensor_coordinates
from tri_gpu_dialect.lowering.rules.floats import is_emulated, to_f32
from tri_gpu_dialect.lowering.rules.memory import owning_thread
from tri_gpu_dialect.lowering.table import Rule

__all__ = ["RULES"]


def print_(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.print``: a line per element, by one of the threads that have it (:mod:`tri_core.printing`)."""
    prefix = ir.StringAttr(op.attributes["prefix"]).value
    hex_ = bool(ir.IntegerAttr(op.attributes["hex"]).value)
    b = ctx.b
    programs = [ctx.hw.program_id(b, axis) for axis in range(3)]
    if not len(op.operands):
        first = b.cmp("eq", ctx.thread, b.int_(0))
        b.if_(first, lambda: ctx.hw.print(b, line_format(prefix, 0), programs, [True] * 3, False))
        return []
    for i, operand in enumerate(op.operands):
        shape = operand.type.shape if isinstance(operand.type, ir.RankedTensorType) else ()
        text = line_format(prefix, len(op.operands), i, shape)
        _print_operand(ctx, operand, text, programs, _is_signed(op, i), hex_)
    return []


def _is_signed(op: ir.Operation, i: int) -> bool:
    flags = list(ir.DenseI32ArrayAttr(op.attributes["isSigned"]))
    return bool(flags[i]) if i < len(flags) else True


def _print_operand(
    ctx: Lowering, operand: ir.Value, text: str, programs: list[ir.Value], signed: bool, hex_: bool
) -> None:
    b = ctx.b
    owner = owning_thread(ctx, operand.type)
    if owner is None:
        _print_registers(ctx, operand, text, programs, signed, hex_)
    else:
        b.if_(owner, lambda: _print_registers(ctx, operand, text, programs, signed, hex_))


def _print_registers(
    ctx: Lowering, operand: ir.Value, text: str, programs: list[ir.Value], signed: bool, hex_: bool
) -> None:
    """A line for each element that this thread has, once where several registers have it."""
    b, type_ = ctx.b, ctx.element(operand.type)
    rows: list[tuple[ir.Value, ...]] = [()]
    images = [0]
    if isinstance(operand.type, ir.RankedTensorType):
        rows = tensor_coordinates(ctx, operand.type)
        images = ctx.layout(operand.type).images(REGISTER)
    shown: set[int] = set()
    for image, row, value in zip(images, rows, ctx.registers(operand), strict=True):
        if image in shown:
            continue
        shown.add(image)
        printed, hexadecimal = _printed(ctx, value, type_, hex_)
        ctx.hw.print(b, text, [*programs, *row, printed], [True] * (3 + len(row)) + [signed], hexadecimal)


def _printed(ctx: Lowering, value: ir.Value, type_: ir.Type, hex_: bool) -> tuple[ir.Value, bool]:
    """Value that is printed for ``value``, and True if in hexadecimal: always for an address."""
    b = ctx.b
    if isinstance(type_, ir.FloatType) and hex_ and type_.width < NARROWEST_FLOAT:
        return b.bitcast(value, ir.IntegerType.get_signless(type_.width)), True
    if isinstance(type_, ir.FloatType):
        return (to_f32(ctx, value, type_) if is_emulated(ctx, type_) else value), hex_
    return (value, hex_) if isinstance(value.type, ir.IntegerType) else (b.ptr_to_int(value), True)


def assert_(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.assert``: all elements of a thread are tested at once."""
    b = ctx.b
    failed = None
    for condition in {id(c): c for c in ctx.registers(op.operands[0])}.values():
        wrong = b.not_(condition)
        failed = wrong if failed is None else b.or_(failed, wrong)
    place = source_location(op.location)
    file, line = (place.file, place.line) if place else ("unknown", 0)
    message = ir.StringAttr(op.attributes["message"]).value
    if failed is not None:
        ctx.hw.check(b, failed, ctx.record, message, file, line, diverges=_diverges(op))
    return []


def _diverges(op: ir.Operation) -> bool:
    """True if ``op`` is in a function mapped over elements, which may branch by element."""
    outer = op.parent
    while outer is not None and outer.name in _UNIFORM:
        outer = outer.parent
    return outer is not None and outer.name != "tt.func"


def assume(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``llvm.intr.assume``: LLVM relies on it."""
    ctx.b.run(
        "llvm.intr.assume",
        [ctx.scalar(op.operands[0])],
        (),
        {"op_bundle_sizes": ir.DenseI32ArrayAttr.get([])},
    )
    return []


#: control flow that all threads of a CTA go through together
_UNIFORM = ("scf.if", "scf.for", "scf.while")

RULES: dict[str, Rule] = {"tt.print": print_, "tt.assert": assert_, "llvm.intr.assume": assume}
