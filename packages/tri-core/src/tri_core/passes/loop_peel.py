"""First and last iterations of a loop apart from it."""

from __future__ import annotations

from typing import ClassVar

from tri_core.ir.regions import If, is_loop, loops_in
from tri_core.ir.walking import walk
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_core.passes import loops
from tri_core.passes.base import Pass
from tri_core.passes.rewriting import constant, make
from tri_core.pipeline import StageContext

__all__ = ["LoopPeel", "peel_first", "peel_last"]

_SLT, _ULT, _NE = 2, 6, 1


@dataclass(frozen=True)
class LoopPeel(Pass):
    """``first`` and ``last`` iterations of every innermost loop run before and after it.

    An iteration that may not be is under a condition, unless constant bounds show that it is.
    """

    name: ClassVar[str] = "loop-peel"
    first: int = 0
    last: int = 0

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite ``module`` in place."""
        for loop in loops_in(module.operation):
            if not _has_loops(loop):
                for _ in range(self.last):
                    loop = peel_last(loop)
                for _ in range(self.first):
                    loop = peel_first(loop)


def peel_first(loop: ir.Operation) -> ir.Operation:
    """The first iteration before ``loop``; gives the loop of the others, which replaces it."""
    low, high, step = list(loop.operands)[:3]
    kind = _ULT if "unsignedCmp" in loop.attributes else _SLT
    known = loops.known_trips(loop)
    condition = None if known else _compare(loop, kind, low, high)
    values = _iteration(loop, condition, low, loops.carried(loop))
    start = make(loop, "arith.addi", low.type, [low, step])
    rest = _same_loop(loop, (start, high, step), values)
    _replace(loop, list(rest.results))
    return rest


def peel_last(loop: ir.Operation) -> ir.Operation:
    """The last iteration after ``loop``; gives the loop of the others, which replaces it."""
    low, _, step = list(loop.operands)[:3]
    count = loops.trips(loop)
    zero, one = (constant(loop, ir.IntegerAttr.get(low.type, n)) for n in (0, 1))
    before = make(loop, "arith.subi", low.type, [count, one])
    final = make(loop, "arith.addi", low.type, [low, make(loop, "arith.muli", low.type, [before, step])])
    known = loops.known_trips(loop)
    condition = None if known else _compare(loop, _NE, count, zero)
    # without iterations the end is the start: `final` would be below it
    end = final if condition is None else make(loop, "arith.select", low.type, [condition, final, low])
    rest = _same_loop(loop, (low, end, step), loops.carried(loop))
    _replace(loop, _iteration(loop, condition, final, list(rest.results)))
    return rest


def _same_loop(loop: ir.Operation, bounds: tuple[ir.Value, ...], initial: list[ir.Value]) -> ir.Operation:
    rest = loops.make_loop(loop, bounds, initial)
    ip = ir.InsertionPoint(loops.body(rest))
    values = loops.copy_body(loop, list(loops.body(rest).arguments), ip)
    ir.Operation.create("scf.yield", operands=values, loc=loop.location, ip=ip)
    return rest


def _iteration(
    loop: ir.Operation, condition: ir.Value | None, variable: ir.Value, values: list[ir.Value]
) -> list[ir.Value]:
    """One iteration before ``loop``, if ``condition`` holds; otherwise ``values`` as they are."""
    if condition is None:
        return loops.copy_body(loop, [variable, *values], ir.InsertionPoint(loop))
    branch = ir.Operation.create(
        If.OPERATION_NAME,
        results=[v.type for v in values],
        operands=[condition],
        regions=2,
        loc=loop.location,
        ip=ir.InsertionPoint(loop),
    )
    then = ir.InsertionPoint(branch.regions[0].blocks.append())
    made = loops.copy_body(loop, [variable, *values], then)
    ir.Operation.create("scf.yield", operands=made, loc=loop.location, ip=then)
    if values:
        otherwise = ir.InsertionPoint(branch.regions[1].blocks.append())
        ir.Operation.create("scf.yield", operands=values, loc=loop.location, ip=otherwise)
    return list(branch.results)


def _replace(loop: ir.Operation, values: list[ir.Value]) -> None:
    for result, value in zip(loop.results, values, strict=True):
        result.replace_all_uses_with(value)
    loop.erase()


def _compare(at: ir.Operation, kind: int, left: ir.Value, right: ir.Value) -> ir.Value:
    predicate = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), kind)
    i1 = ir.IntegerType.get_signless(1)
    return make(at, "arith.cmpi", i1, [left, right], {"predicate": predicate})


def _has_loops(loop: ir.Operation) -> bool:
    found = False

    def visit(op: ir.Operation) -> ir.WalkResult:
        nonlocal found
        found = found or (op != loop and is_loop(op))
        return ir.WalkResult.ADVANCE

    walk(loop, visit)
    return found
