"""Several iterations of a loop as one."""

from __future__ import annotations

from typing import ClassVar

from tri_core.errors import Unsupported
from tri_core.ir.markers import FACTOR, STAGES
from tri_core.ir.regions import For, loops_in
from tri_core.lazy_dataclasses import dataclass
from tri_core.locations import source_location
from tri_core.mlir import ir
from tri_core.passes import loops
from tri_core.passes.base import Pass
from tri_core.passes.rewriting import constant, make
from tri_core.pipeline import StageContext

__all__ = ["LoopUnroll"]


@dataclass(frozen=True)
class LoopUnroll(Pass):
    """A loop with ``tt.loop_unroll_factor = n`` takes n steps at a time; a second loop does what is left.

    The second loop is not pipelined (``tt.num_stages = 1``), and is not made where the bounds are constants
    that leave nothing.  A loop that is known to run once is its body.  Inner loops first.
    """

    name: ClassVar[str] = "loop-unroll"

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite ``module`` in place; Unsupported for a factor below 1."""
        for loop in loops_in(module.operation):
            if FACTOR in loop.attributes:
                factor = ir.IntegerAttr(loop.attributes[FACTOR]).value
                if factor < 1:
                    raise Unsupported(
                        f"a loop with {FACTOR} = {factor}",
                        remedy="give a factor of at least 1",
                        location=source_location(loop.location),
                    )
                _unroll(loop, factor)
        for loop in loops_in(module.operation):
            if loops.known_trips(loop) == 1:
                _run_once(loop)


def _run_once(loop: ir.Operation) -> None:
    """Have the body of ``loop`` in its place: what it adds to zeros is then seen to begin there."""
    values = loops.copy_body(loop, [For(loop).lower, *loops.carried(loop)], ir.InsertionPoint(loop))
    _replace(loop, values)


def _replace(loop: ir.Operation, values: list[ir.Value]) -> None:
    for result, value in zip(loop.results, values, strict=True):
        result.replace_all_uses_with(value)
    loop.erase()


def _unroll(loop: ir.Operation, factor: int) -> None:
    if factor == 1:
        del loop.attributes[FACTOR]
        return
    known = loops.known_trips(loop)
    low, high, step = list(loop.operands)[:3]
    middle = high if known is not None and known % factor == 0 else _middle(loop, factor)
    stride = make(loop, "arith.muli", step.type, [step, _number(loop, step.type, factor)])
    values = _copies(loop, (low, middle, stride), factor)
    if middle != high:
        values = _rest(loop, (middle, high, step), values)
    _replace(loop, values)


def _copies(loop: ir.Operation, bounds: tuple[ir.Value, ...], factor: int) -> list[ir.Value]:
    """The loop of ``factor`` bodies; gives its results."""
    wide = loops.make_loop(loop, bounds, loops.carried(loop), without=[FACTOR])
    block = loops.body(wide)
    ip = ir.InsertionPoint(block)
    variable, *values = block.arguments
    for i in range(factor):
        if i:
            variable = _next(variable, For(loop).step, ip, loop.location)
        values = loops.copy_body(loop, [variable, *values], ip)
    _yield(values, ip, loop.location)
    return list(wide.results)


def _rest(loop: ir.Operation, bounds: tuple[ir.Value, ...], initial: list[ir.Value]) -> list[ir.Value]:
    """The loop as it was, over what is left; gives its results."""
    rest = loops.make_loop(loop, bounds, initial, without=[FACTOR])
    rest.attributes[STAGES] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 1)
    block = loops.body(rest)
    ip = ir.InsertionPoint(block)
    _yield(loops.copy_body(loop, list(block.arguments), ip), ip, loop.location)
    return list(rest.results)


def _middle(loop: ir.Operation, factor: int) -> ir.Value:
    """Upper bound of the iterations that come in groups of ``factor``."""
    low, _, step = list(loop.operands)[:3]
    type_ = low.type
    count = loops.trips(loop)
    left = make(loop, "arith.remui", type_, [count, _number(loop, type_, factor)])
    grouped = make(loop, "arith.subi", type_, [count, left])
    return make(loop, "arith.addi", type_, [low, make(loop, "arith.muli", type_, [grouped, step])])


def _next(variable: ir.Value, step: ir.Value, ip: ir.InsertionPoint, loc: ir.Location) -> ir.Value:
    made = ir.Operation.create("arith.addi", results=[step.type], operands=[variable, step], loc=loc, ip=ip)
    return made.results[0]


def _yield(values: list[ir.Value], ip: ir.InsertionPoint, loc: ir.Location) -> None:
    ir.Operation.create("scf.yield", operands=values, loc=loc, ip=ip)


def _number(at: ir.Operation, type_: ir.Type, number: int) -> ir.Value:
    return constant(at, ir.IntegerAttr.get(type_, number))
