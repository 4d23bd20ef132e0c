"""Requirements of a kernel on its surfaces, before any access: one condition that selects between two
versions.

The questions are those of :mod:`tri_backend_intel.transforms.version_tiles`.
"""

from __future__ import annotations

from tri_backend_intel.dialect import TilePrefetchOp
from tri_backend_intel.dialect.tiles import coordinates, is_block_access
from tri_backend_intel.transforms.version_tiles import Known, asked, is_inside, maker_of_descriptor
from tri_backend_intel.xegpu.layouts import refusal
from tri_core.dialects.tt import LoadOp
from tri_core.errors import Unsupported
from tri_core.ir.access_hints import plugin_hints
from tri_core.ir.regions import is_control
from tri_core.ir.traits import is_pure
from tri_core.ir.views import isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.edit import all_ops, make

__all__ = ["Asked", "ask", "with_tiles"]


@dataclass(frozen=True)
class Asked:
    """Before ``place``, ``condition`` (i1) says whether the hardware takes the surfaces of all ``descriptors``."""

    place: ir.Operation
    condition: ir.Value
    descriptors: tuple[ir.Value, ...]


def with_tiles(kernel: ir.Operation) -> None:
    """Accesses of blocks are ``ttig``'s ops in place of the language's, which prefetches and questions know."""
    for op in all_ops(kernel):
        if op.name == "tt.descriptor_load":
            with ir.InsertionPoint(op), op.location:
                made = make("ttig.tile_load", list(op.operands), op.results[0].type, **plugin_hints(op))
            op.results[0].replace_all_uses_with(made.results[0])
            op.erase()
        elif op.name == "tt.descriptor_store":
            with ir.InsertionPoint(op), op.location:
                make("ttig.tile_store", list(op.operands), **plugin_hints(op))
            op.erase()


def ask(kernel: ir.Operation) -> Asked | None:
    """Emit the questions of ``kernel``; None where it accesses no blocks.

    Unsupported for a surface that is not known before the first access, and for a block that is never one of the hardware's.
    """
    body = kernel.regions[0].blocks[0]
    known = Known.of(kernel)
    first: ir.Operation | None = None
    found: ir.Value | None = None
    descriptors: dict[ir.Value, None] = {}
    for view in list(body.operations):
        op = view.operation
        nested = _with_nested(op)
        if first is None and any(is_block_access(each) or isa(each, TilePrefetchOp) for each in nested):
            first = op
        accesses = [each for each in nested if is_block_access(each)]
        if first is None or not accesses:
            continue
        answer = _answer(known, op, accesses)
        descriptors |= dict.fromkeys(access.operands[0] for access in accesses)
        for value in (answer, *(v for access in accesses for v in _made_of(access))):
            _hoist(value, first, accesses[0])
        with ir.InsertionPoint(first), first.location:
            found = answer if found is None else make("arith.andi", [found, answer], answer.type).results[0]
    if first is None or found is None:
        return None
    return Asked(_earlier(body, first, found, list(descriptors)), found, tuple(descriptors))


def _earlier(
    body: ir.Block, first: ir.Operation, answer: ir.Value, descriptors: list[ir.Value]
) -> ir.Operation:
    """Before what becomes a branch, where surfaces are known there: both versions begin in the block in which the kernel does."""
    branch = next((view.operation for view in body.operations if _may_branch(view.operation)), first)
    if first.is_before_in_block(branch):
        return first
    values = [
        answer,
        *(v for d in descriptors if (m := maker_of_descriptor(d)) is not None for v in m.operands),
    ]
    try:
        for value in values:
            _hoist(value, branch, first)
    except Unsupported:
        return first
    return branch


def _may_branch(op: ir.Operation) -> bool:
    """True if lanes or sub-groups may diverge: control flow, and memory accesses except an unmasked scalar
    load.
    """
    if is_control(op):
        return True
    if is_pure(op):
        return False
    scalar = not any(isinstance(v.type, ir.RankedTensorType) for v in (*op.operands, *op.results))
    return not (isa(op, LoadOp) and scalar and len(op.operands) == 1)


def _with_nested(op: ir.Operation) -> list[ir.Operation]:
    return [op, *all_ops(op)] if len(op.regions) else [op]


def _made_of(access: ir.Operation) -> list[ir.Value]:
    maker = maker_of_descriptor(access.operands[0])
    return [] if maker is None else list(maker.operands)


def _answer(known: Known, place: ir.Operation, accesses: list[ir.Operation]) -> ir.Value:
    for access in accesses:
        descriptor = access.operands[0]
        if maker_of_descriptor(descriptor) is None or is_inside(descriptor, place):
            raise refusal(access, "its descriptor is made in the control flow around it")
    answer = asked(known, place, accesses)
    if answer is None:
        for access in accesses:
            if asked(known, place, [access]) is None:
                raise refusal(access, f"blocks at {coordinates(access)[-1].type} places that are no words")
        raise refusal(accesses[0], "its place is not known before")
    return answer


def _hoist(value: ir.Value, place: ir.Operation, access: ir.Operation) -> None:
    """Move what makes ``value`` before ``place``, which stands in the kernel's own block."""
    if isinstance(value.owner, ir.Block):
        return
    op = value.owner.operation
    if op.block != place.block or op.is_before_in_block(place):
        return
    if op == place or not is_pure(op) or len(op.regions):
        raise refusal(access, f"its surface is made of what {op.name} gives after other accesses")
    for operand in op.operands:
        _hoist(operand, place, access)
    op.move_before(place)
