"""Functions of scalars given as regions, applied to scalars or to vectors of any width.

A region without control flow is computed on vectors as they are; one with branches or loops lane by lane.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tri_backend_cpu.builder import Builder, width_of
from tri_backend_cpu.lower.elementwise import ELEMENTWISE, lower_constant, lower_elementwise
from tri_core.api import Unsupported, located
from tri_core.mlir import ir
from tri_core.ttir import Block, DType, Op, Value
from tri_core.ttir.loops import FOR, IF, WHILE

__all__ = ["apply_region"]


def apply_region(
    b: Builder, region: Block, arguments: Sequence[ir.Value], outer: Mapping[Value, ir.Value]
) -> list[ir.Value]:
    """Yielded values of ``region`` for ``arguments`` of one width; ``outer`` are captured scalars."""
    width = width_of(arguments[0])
    if not width or not any(op.blocks for op in region.ops):
        return _Region(b, outer, width).run(region, arguments)
    kinds = [value.dtype for value in region.terminator.operands]
    results = [b.undefined(kind, width) for kind in kinds]
    for lane in range(width):
        scalars = [b.extract(a, lane) for a in arguments]
        made = _Region(b, outer, 0).run(region, scalars)
        results = [b.insert(r, m, lane) for r, m in zip(results, made, strict=True)]
    return results


class _Region:
    """Emits the ops of a region and of the blocks within."""

    def __init__(self, b: Builder, outer: Mapping[Value, ir.Value], width: int) -> None:
        self.b = b
        self.outer = outer
        self.width = width
        self.known: dict[Value, ir.Value] = {}

    def value(self, value: Value) -> ir.Value:
        """``value`` of this region, or one from outside in every lane."""
        found = self.known.get(value)
        if found is None:
            captured = self.outer[value]
            return self.b.splat(captured, self.width) if self.width else captured
        return found

    def run(self, block: Block, arguments: Sequence[ir.Value]) -> list[ir.Value]:
        """Emit ``block``; what it yields."""
        self.known.update(zip(block.arguments, arguments, strict=True))
        for op in block.ops[:-1]:
            self.b.location = op.location
            self.op(op)
        return [self.value(v) for v in block.terminator.operands]

    def op(self, op: Op) -> None:
        """Emit one op."""
        if op.name == "arith.constant":
            made = lower_constant(self.b, op.attributes["value"], op.result.dtype, self.width)
            self.known[op.result] = made
        elif op.name in ELEMENTWISE:
            self.known[op.result] = lower_elementwise(self.b, op, [self.value(v) for v in op.operands])
        elif op.name in _CONTROL:
            results = _CONTROL[op.name](self, op)
            self.known.update(zip(op.results, results, strict=True))
        else:
            raise located(
                Unsupported,
                op.location,
                f"{op.name} inside a function that is applied to elements",
                "the function computes with scalars; load and store outside of it",
            )

    def types(self, values: Sequence[Value]) -> list[ir.Type]:
        """The register types of ``values``."""
        kinds: list[DType] = [v.dtype for v in values]
        return [self.b.type(kind) for kind in kinds]

    def filled(self, block: ir.Block, source: Block | None, arguments: Sequence[ir.Value] = ()) -> None:
        """Emit ``source`` (or nothing) into ``block``, and yield what it yields."""
        with self.b.inside(block):
            self.b.yield_(*(self.run(source, arguments) if source is not None else ()))


def _if(region: _Region, op: Op) -> list[ir.Value]:
    branch, yes, no = region.b.branch(region.value(op.operands[0]), region.types(op.results))
    otherwise = op.blocks[1] if len(op.blocks) > 1 and op.blocks[1].ops else None
    region.filled(yes, op.blocks[0])
    region.filled(no, otherwise)
    return list(branch.results)


def _for(region: _Region, op: Op) -> list[ir.Value]:
    lower, upper, step, *initial = [region.value(v) for v in op.operands]
    loop, block = region.b.loop(lower, upper, step, initial)
    region.filled(block, op.blocks[0], list(block.arguments))
    return list(loop.results)


def _while(region: _Region, op: Op) -> list[ir.Value]:
    b = region.b
    initial = [region.value(v) for v in op.operands]
    results = region.types(op.results)
    loop = ir.Operation.create(WHILE, results=results, operands=initial, regions=2, loc=b.location, ip=b.ip)
    places = [b.location] * len(initial)
    test = loop.regions[0].blocks.append(*(v.type for v in initial), arg_locs=places)
    body = loop.regions[1].blocks.append(*results, arg_locs=[b.location] * len(results))
    with b.inside(test):
        b.effect("scf.condition", *region.run(op.blocks[0], list(test.arguments)))
    region.filled(body, op.blocks[1], list(body.arguments))
    return list(loop.results)


_CONTROL: dict[str, Callable[[_Region, Op], list[ir.Value]]] = {
    IF: _if,
    FOR: _for,
    WHILE: _while,
}
