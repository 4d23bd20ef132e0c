"""``tt.dot`` on plain fused multiply-add: every thread has the rows and columns that its results need."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tri_core.errors import Unsupported
from tri_core.mlir import ir
from tri_gpu_dialect.layouts import REGISTER, LinearLayout
from tri_gpu_dialect.lowering.context import Lowered, Lowering, Registers
from tri_gpu_dialect.lowering.rules.floats import cast_floats
from tri_gpu_dialect.lowering.rules.registers import map_registers
from tri_gpu_dialect.lowering.table import Rule

__all__ = ["RULES", "multiply_add", "narrowed", "widened", "working_type"]

#: coordinates of a register's element, as far as registers say
Place = tuple[int, ...]


def dot(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.dot``: operands are widened to the accumulator's type, f32 for narrower floats."""
    a, b, c = op.operands[0], op.operands[1], op.operands[2]
    result = ctx.element(op.results[0].type)
    working = working_type(ctx, result)
    left, right, accumulators = (
        widened(ctx, ctx.registers(o), ctx.element(o.type), working) for o in (a, b, c)
    )
    rows, columns = (_places(ctx.layout(o.type)) for o in (a, b))
    inner = a.type.shape[-1]
    step = multiply_add(ctx, working)
    made: dict[Place, ir.Value] = {}
    outputs = []
    for register, place in enumerate(_list_places(ctx.layout(op.results[0].type))):
        if place not in made:
            *batch, m, n = place
            total = accumulators[register]
            for k in range(inner):
                x = left[_find(rows, (*batch, m, k), a)]
                y = right[_find(columns, (*batch, k, n), b)]
                total = step(x, y, total)
            made[place] = total
        outputs.append(made[place])
    return [narrowed(ctx, outputs, working, result)]


def working_type(ctx: Lowering, result: ir.Type) -> ir.Type:
    """The type that a dot with elements of type ``result`` is accumulated in."""
    return ctx.b.f32 if isinstance(result, ir.FloatType) and result.width < 32 else result


def widened(ctx: Lowering, registers: Registers, source: ir.Type, working: ir.Type) -> Registers:
    """Registers of element type ``source`` as ``working``, exactly."""
    if isinstance(working, ir.FloatType):
        return cast_floats(ctx, registers, source, working)
    return map_registers(lambda x: ctx.b.int_cast(x, working, signed=True), registers)


def narrowed(ctx: Lowering, values: Registers, working: ir.Type, result: ir.Type) -> Registers:
    """Accumulators rounded to the ``result``'s element type."""
    return cast_floats(ctx, values, working, result) if working != result else values


def multiply_add(ctx: Lowering, working: ir.Type) -> Callable[[ir.Value, ir.Value, ir.Value], ir.Value]:
    """``x * y + total`` of scalars of type ``working``, rounded once if the options allow it."""
    b = ctx.b
    if not isinstance(working, ir.FloatType):
        return lambda x, y, total: b.add(total, b.mul(x, y))
    if ctx.fusion is None:
        return lambda x, y, total: b.fadd(total, b.fmul(x, y))
    return lambda x, y, total: b.op("llvm.intr.fma", (x, y, total), working)


def _list_places(layout: LinearLayout) -> list[Place]:
    return [layout.unpack_out(image) for image in layout.images(REGISTER)]


def _places(layout: LinearLayout) -> dict[Place, int]:
    found: dict[Place, int] = {}
    for register, place in enumerate(_list_places(layout)):
        found.setdefault(place, register)
    return found


def _find(registers: dict[Place, int], place: Place, operand: ir.Value) -> int:
    found = registers.get(place)
    if found is None:
        raise Unsupported(
            f"a dot whose operand {operand.type} is not whole along k in each thread",
            remedy="use a dot_op encoding of a blocked parent",
        )
    return found


RULES: dict[str, Rule] = {"tt.dot": dot}
