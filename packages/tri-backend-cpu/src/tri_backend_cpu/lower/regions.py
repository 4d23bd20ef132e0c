"""Functions of scalars given as regions, applied to scalars or to vectors of any width."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tri_backend_cpu.graph import Block, Value
from tri_backend_cpu.locations import located
from tri_backend_cpu.lower.builder import Builder, width_of
from tri_backend_cpu.lower.elementwise import ELEMENTWISE, lower_constant, lower_elementwise
from tri_core.api import Unsupported
from tri_core.mlir import ir

__all__ = ["apply_region"]


def apply_region(
    b: Builder, region: Block, arguments: Sequence[ir.Value], outer: Mapping[Value, ir.Value]
) -> list[ir.Value]:
    """What the terminator of ``region`` hands on, for ``arguments`` of one width; ``outer`` are captured scalars."""
    width = width_of(arguments[0])
    known: dict[Value, ir.Value] = dict(zip(region.arguments, arguments, strict=True))

    def look_up(value: Value) -> ir.Value:
        found = known.get(value)
        if found is None:
            captured = outer[value]
            found = known[value] = b.splat(captured, width) if width else captured
        return found

    for op in region.ops[:-1]:
        b.location = op.location
        if op.name == "arith.constant":
            known[op.result] = lower_constant(b, op.attributes["value"], op.result.dtype, width)
        elif op.name in ELEMENTWISE:
            known[op.result] = lower_elementwise(b, op, [look_up(v) for v in op.operands])
        else:
            raise located(
                Unsupported,
                op.location,
                f"{op.name} inside a function that is applied to elements",
                "write the function without branches, with tl.where",
            )
    return [look_up(v) for v in region.terminator.operands]
