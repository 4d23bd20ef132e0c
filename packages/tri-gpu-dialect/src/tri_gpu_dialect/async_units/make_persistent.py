"""Persistent grids: a kernel that takes one program after the other, so that few CTAs do the whole grid.

    x, y, z = program ids;  body

becomes

    for tile = cta to programs step ctas:   x, y, z = tile in a grid of the launch's extents;  body

Where programs run for different lengths (:mod:`tri_gpu_dialect.analysis.trip_counts`) the longest come first, in groups that share a cache
(:mod:`tri_gpu_dialect.async_units.program_order`), and the loop is

    while place < programs:   x, y, z = program at place;  body;   place = next_tile(place + step)

with steps that give a CTA a short program after a long one.

The grid that the launch asks for comes as hidden parameters (``ttg.get_grid_size``); from here on ``tt.get_program_id`` and
``tt.get_num_programs`` are the CTA's number and how many there are.  Where warps are specialised after this
(:mod:`tri_gpu_dialect.async_units.warp_specialize`), the producer runs ahead into the next program while the consumers store this one.

The kernel must be pure in its program id: programs may run in any order, one after the other, and tell each other nothing.
Atomics, volatile loads, prints, assertions and whatever else may reach other programs, or tells by its CTA which one it is, are refused.
"""

from __future__ import annotations

import logging
from typing import ClassVar

from tri_core.api import Pass, StageContext, Unsupported
from tri_core.dialects.tt import GetNumProgramsOp, GetProgramIdOp, LoadOp
from tri_core.dialects.tt.accesses import reads_again
from tri_core.ir.effects import (
    HOST,
    READ_DESCRIBED,
    READ_GLOBAL,
    SYNCHRONIZE_GRID,
    SYNCHRONIZE_LAUNCHES,
    WRITE_DESCRIBED,
    WRITE_GLOBAL,
    effects_of,
)
from tri_core.ir.markers import CHOSEN
from tri_core.ir.regions import For, While
from tri_core.ir.views import isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.locations import source_location
from tri_core.mlir import arith, ir
from tri_core.remarks import declined
from tri_gpu_dialect.async_units.program_order import make, number, order_of
from tri_gpu_dialect.dialect import GetGridSizeOp
from tri_gpu_dialect.dialect.markers import PERSISTENT
from tri_gpu_dialect.edit import all_ops, block_ops, functions, module_int, terminator
from tri_gpu_dialect.policies.gpu import DEFAULT_POLICY, DefaultPolicy

__all__ = ["NEXT", "MakePersistent"]

logger = logging.getLogger(__name__)

_REMEDY = "leave persistent out, or pass persistent=False"
#: the op that gives the number of the program after this one
NEXT = "ttg.next_tile"
_ID, _COUNT, _SIZE = (
    GetProgramIdOp.OPERATION_NAME,
    GetNumProgramsOp.OPERATION_NAME,
    GetGridSizeOp.OPERATION_NAME,
)
#: ``arith.cmpi``'s "less than" of unsigned numbers
_ULT = 6
#: effects that an op may not have together -> why
_REASONS = {
    frozenset({SYNCHRONIZE_LAUNCHES}): "orders launches by programs that end",
    frozenset({SYNCHRONIZE_GRID}): "may order it with other programs",
    frozenset({READ_GLOBAL, WRITE_GLOBAL}): "may order it with other programs",
    frozenset({READ_DESCRIBED, WRITE_DESCRIBED}): "combines what several programs store",
    frozenset({HOST}): "says which program it is by its CTA",
}


@dataclass(frozen=True)
class MakePersistent(Pass):
    """See the module; ``policy.persistent``: True for every kernel, and Unsupported for one that cannot be; False: no kernel.

    None: kernels of modules marked ``tt.persistent``; one that cannot be stays as it is, which is logged.
    """

    name: ClassVar[str] = "make-persistent"
    former_names: ClassVar[tuple[str, ...]] = ("persist",)

    policy: DefaultPolicy = DEFAULT_POLICY

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Wrap the kernel of ``module``."""
        forced = self.policy.async_units.persistent
        chosen = forced is None and CHOSEN in module.operation.attributes
        for function in functions(module) if forced or chosen else ():
            refusal = _refusal(module, function)
            if refusal is None:
                _wrap(function, self.policy.async_units.cache_bytes)
            elif forced:
                raise refusal
            else:
                logger.info("not persistent: %s", refusal)
                declined(self.name, refusal.location, "{}", refusal.message)


# --- what can be ------------------------------------------------------------------------------------------


def _refusal(module: ir.Module, function: ir.Operation) -> Unsupported | None:
    """Reason that one CTA may not run several programs, with the op that causes it; None if it may."""
    if module_int(module, "ttg.num-ctas") != 1:
        return _refused("it runs in clusters of CTAs", function)
    if len(function.regions[0].blocks) > 1:
        return _refused("it has branches between blocks", function)
    reasons = ((op, _impure(op)) for op in all_ops(function))
    return next((_refused(f"{op.name} {reason}", op) for op, reason in reasons if reason is not None), None)


def _impure(op: ir.Operation) -> str | None:
    """Side effect of ``op`` that forbids it, in words; None if there is none."""
    if isa(op, LoadOp) and reads_again(op):
        return "that is volatile may wait for other programs"
    found = effects_of(op)
    if found is None:
        return "may reach other programs"
    return next((reason for effects, reason in _REASONS.items() if found >= effects), None)


def _refused(reason: str, op: ir.Operation) -> Unsupported:
    return Unsupported(
        f"the kernel cannot be persistent: {reason}", remedy=_REMEDY, location=source_location(op.location)
    )


# --- the loop ---------------------------------------------------------------------------------------------


def _axis(number: int) -> ir.Attribute:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(32), number)


def _wrap(function: ir.Operation, cache: int | None) -> None:
    """Put all but constants of ``function`` into a loop over programs."""
    # its fractions take 2 ms, and few kernels are persistent
    from tri_gpu_dialect.analysis.trip_counts import trip_counts

    *ops, end = block_ops(function.regions[0].blocks[0])
    asked = [op for op in all_ops(function) if isa(op, GetProgramIdOp, GetNumProgramsOp)]
    trips = trip_counts(function)
    with ir.InsertionPoint(end), function.location:
        sizes = [make(_SIZE, axis=_axis(axis)) for axis in range(3)]
        plane = make("arith.muli", sizes[:2])
        total = make("arith.muli", [plane, sizes[2]])
        cta, ctas = make(_ID, axis=_axis(0)), make(_COUNT, axis=_axis(0))
        order = order_of(function, trips, sizes, plane, total, cache)
        block = (_to_and_fro if trips.differ else _in_steps)(cta, ctas, total)
    with ir.InsertionPoint(terminator(block)), function.location:
        ids = order.ids(block.arguments[0], {_number(op) for op in asked if isa(op, GetProgramIdOp)})
    for op in asked:
        op.results[0].replace_all_uses_with((ids if isa(op, GetProgramIdOp) else sizes)[_number(op)])
    yielded = terminator(block)
    for op in [op for op in ops if not isa(op, GetProgramIdOp, GetNumProgramsOp, arith.ConstantOp)]:
        op.move_before(yielded)
    for op in asked:
        op.erase()


def _number(op: ir.Operation) -> int:
    return int(ir.IntegerAttr(op.attributes["axis"]).value)


def _in_steps(cta: ir.Value, ctas: ir.Value, total: ir.Value) -> ir.Block:
    """A loop over every program number ``ctas`` after the one before; gives its block, which has the number first."""
    loop = ir.Operation.create(
        For.OPERATION_NAME, operands=[cta, total, ctas], regions=1, attributes={PERSISTENT: ir.UnitAttr.get()}
    )
    block = loop.regions[0].blocks.append(cta.type)
    with ir.InsertionPoint(block):
        ir.Operation.create("scf.yield")
    return block


def _to_and_fro(cta: ir.Value, ctas: ir.Value, total: ir.Value) -> ir.Block:
    """The same for programs of falling lengths: after the long one of a round the short one of the next.

    CTA ``c`` of ``n`` has the places c, 2n - 1 - c, 2n + c, 4n - 1 - c ...: two steps, alternating.
    """
    one = number(1)
    twice = make("arith.addi", [cta, cta])
    there = make("arith.subi", [make("arith.subi", [make("arith.addi", [ctas, ctas]), twice]), one])
    started = [cta, there, make("arith.addi", [twice, one])]
    types = [v.type for v in started]
    loop = ir.Operation.create(
        While.OPERATION_NAME,
        results=types,
        operands=started,
        regions=2,
        attributes={PERSISTENT: ir.UnitAttr.get()},
    )
    head, block = (region.blocks.append(*types) for region in loop.regions)
    with ir.InsertionPoint(head):
        below = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), _ULT)
        goes = ir.Operation.create(
            "arith.cmpi", results=[ir.IntegerType.get_signless(1)], operands=[head.arguments[0], total],
            attributes={"predicate": below},
        )  # fmt: skip
        ir.Operation.create("scf.condition", operands=[goes.results[0], *head.arguments])
    place, this, other = block.arguments
    with ir.InsertionPoint(block):
        following = make(NEXT, [make("arith.addi", [place, this]), total])
        ir.Operation.create("scf.yield", operands=[following, other, this])
    return block
