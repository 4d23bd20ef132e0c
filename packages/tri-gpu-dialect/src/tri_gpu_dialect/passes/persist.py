"""Persistent grids: a kernel that takes one program after the other, so that few CTAs do the whole grid.

    x, y, z = program ids;  body

becomes

    for tile = cta to programs step ctas:   x, y, z = tile in a grid of the launch's extents;  body

The grid that the launch asks for comes as hidden parameters (``ttg.get_grid_size``); from here on ``tt.get_program_id`` and
``tt.get_num_programs`` are the CTA's number and how many there are.  Where warps are specialised after this
(:mod:`tri_gpu_dialect.passes.warp_specialize`), the producer runs ahead into the next program while the consumers store this one.

The kernel must be pure in its program id: programs may run in any order, one after the other, and tell each other nothing.
Atomics, volatile loads, prints, assertions and whatever else may reach other programs, or tells by its CTA which one it is, are refused.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tri_core.api import Pass, Policy, StageContext, Unsupported
from tri_core.locations import source_location
from tri_core.mlir import ir
from tri_gpu_dialect.analysis.pipeline_schedule import is_pure
from tri_gpu_dialect.edit import CONTROL, all_ops, block_ops, functions, module_int, terminator
from tri_gpu_dialect.policy import DEFAULT_POLICY

__all__ = ["PERSISTENT", "Persist"]

logger = logging.getLogger(__name__)

#: the attribute of the loop over programs
PERSISTENT = "ttg.persistent"

_REMEDY = "leave persistent out, or pass persistent=False"
_ID, _COUNT, _SIZE = "tt.get_program_id", "tt.get_num_programs", "ttg.get_grid_size"

#: ops that do nothing to other programs, beside the pure ones
_OWN = CONTROL | {
    "llvm.intr.assume", "scf.condition", "scf.index_switch", "scf.yield", "tt.approx_divf", "tt.barrier", "tt.cat",
    "tt.clampf", "tt.descriptor_gather", "tt.descriptor_load", "tt.descriptor_scatter", "tt.descriptor_store", "tt.dot",
    "tt.dot_scaled", "tt.func", "tt.gather", "tt.histogram", "tt.join", "tt.load", "tt.make_tensor_descriptor",
    "tt.map_elementwise", "tt.map_elementwise_return", "tt.mulhiui", "tt.precise_divf", "tt.precise_sqrt", "tt.reduce",
    "tt.reduce_return", "tt.return", "tt.scan", "tt.scan_return", "tt.split", "tt.store", "tt.unsplat", "ttg.barrier",
    "ttg.fp4_to_fp", "ttg.local_alloc", "ttg.local_dealloc", "ttg.local_dot", "ttg.local_gather", "ttg.local_load",
    "ttg.local_scatter", "ttg.local_store", "ttg.memdesc_index", "ttg.memdesc_reinterpret", "ttg.memdesc_reshape",
    "ttg.memdesc_subslice", "ttg.memdesc_trans", "ttg.warp_group_dot", "ttg.warp_group_dot_wait", "ub.poison",
}  # fmt: skip
#: ops that are pure where an attribute says so
_MAYBE = frozenset({"tt.elementwise_inline_asm", "tt.extern_elementwise"})
#: beginnings of names -> why such ops do not go
_REASONS = {
    "tt.atomic_": "may order it with other programs",
    "tt.descriptor_reduce": "combines what several programs store",
    "tt.print": "says which program it is by its CTA",
    "tt.assert": "says which program it is by its CTA",
    "tt.grid_dependency": "orders launches by programs that end",
    "tt.call": "does nobody knows what",
}


@dataclass(frozen=True)
class Persist(Pass):
    """See the module; ``policy.persistent``: True for every kernel, and Unsupported for one that cannot be; None or False: no kernel.

    None leaves it to the policy, which knows of no kernel yet that is faster so.
    """

    name: ClassVar[str] = "persist"

    policy: Policy = DEFAULT_POLICY

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Wrap the kernel of ``module``."""
        if not getattr(self.policy, "persistent", None):
            return
        for function in functions(module):
            _check(module, function)
            _wrap(function)


# --- what can be ------------------------------------------------------------------------------------------


def _check(module: ir.Module, function: ir.Operation) -> None:
    """Unsupported, located, for a kernel whose programs may not follow each other in one CTA."""
    if module_int(module, "ttg.num-ctas") != 1:
        raise _refused("it runs in clusters of CTAs", function)
    if len(function.regions[0].blocks) > 1:
        raise _refused("it has branches between blocks", function)
    for op in all_ops(function):
        reason = _impure(op)
        if reason is not None:
            raise _refused(f"{op.name} {reason}", op)


def _impure(op: ir.Operation) -> str | None:
    """What is wrong with ``op``; None: nothing."""
    if op.name == "tt.load" and _is_set(op, "isVolatile"):
        return "that is volatile may wait for other programs"
    if is_pure(op) or op.name in _OWN or (op.name in _MAYBE and _is_set(op, "pure")):
        return None
    return next((r for start, r in _REASONS.items() if op.name.startswith(start)), "may reach other programs")


def _is_set(op: ir.Operation, name: str) -> bool:
    return name in op.attributes and ir.BoolAttr(op.attributes[name]).value


def _refused(reason: str, op: ir.Operation) -> Unsupported:
    return Unsupported(
        f"the kernel cannot be persistent: {reason}", remedy=_REMEDY, location=source_location(op.location)
    )


# --- the loop ---------------------------------------------------------------------------------------------


def _make(name: str, operands: Sequence[ir.Value] = (), **attributes: ir.Attribute) -> ir.Value:
    i32 = ir.IntegerType.get_signless(32)
    made = ir.Operation.create(name, results=[i32], operands=list(operands), attributes=attributes)
    return made.results[0]


def _axis(number: int) -> ir.Attribute:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(32), number)


def _wrap(function: ir.Operation) -> None:
    """Put all but constants of ``function`` into a loop over programs."""
    *ops, end = block_ops(function.regions[0].blocks[0])
    asked = [op for op in all_ops(function) if op.name in (_ID, _COUNT)]
    with ir.InsertionPoint(end), function.location:
        sizes = [_make(_SIZE, axis=_axis(number)) for number in range(3)]
        plane = _make("arith.muli", sizes[:2])
        total = _make("arith.muli", [plane, sizes[2]])
        first, step = _make(_ID, axis=_axis(0)), _make(_COUNT, axis=_axis(0))
        loop = ir.Operation.create(
            "scf.for", operands=[first, total, step], regions=1, attributes={PERSISTENT: ir.UnitAttr.get()}
        )
        block = loop.regions[0].blocks.append(first.type)
    with ir.InsertionPoint(block), function.location:
        ids = _ids(block.arguments[0], sizes, plane, {_number(op) for op in asked if op.name == _ID})
        ir.Operation.create("scf.yield")
    for op in asked:
        op.results[0].replace_all_uses_with((ids if op.name == _ID else sizes)[_number(op)])
    yielded = terminator(block)
    for op in [op for op in ops if op.name not in (_ID, _COUNT, "arith.constant")]:
        op.move_before(yielded)
    for op in asked:
        op.erase()


def _number(op: ir.Operation) -> int:
    return int(ir.IntegerAttr(op.attributes["axis"]).value)


def _ids(tile: ir.Value, sizes: Sequence[ir.Value], plane: ir.Value, wanted: set[int]) -> dict[int, ir.Value]:
    """The program ids of ``tile``, x first, along the ``wanted`` axes."""
    found = {}
    if 0 in wanted:
        found[0] = _make("arith.remui", [tile, sizes[0]])
    if 1 in wanted:
        rows = _make("arith.divui", [tile, sizes[0]])
        found[1] = _make("arith.remui", [rows, sizes[1]])
    if 2 in wanted:
        found[2] = _make("arith.divui", [tile, plane])
    return found
