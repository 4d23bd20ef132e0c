"""Loads and stores through buffer descriptors, where base and offsets allow it.

A tensor of pointers that is one scalar pointer plus 32-bit offsets needs no 64-bit addresses: the scalar goes
into a buffer descriptor, and a lane that is masked off gets an offset out of bounds.  The generic rules still do
all the rest (vectors, copies, who writes); only the accesses themselves are replaced, while the rule runs.

The offsets in bytes must lie within the 2 GiB that a descriptor covers: because their interval says so, or because
the pointer's parameter carries ``tt.pointer_range = 32`` (its array is smaller than that) and they are not negative.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tri_backend_amd.dialect.buffers import NUM_RECORDS
from tri_backend_amd.lowering.primitives import AmdPrimitives
from tri_core.dialects.tt import PointerType
from tri_core.mlir import ir
from tri_gpu_dialect.analysis.ranges import Ranges
from tri_gpu_dialect.lowering import Lowered, Lowering, LoweringTable, Rule, generic_table

__all__ = ["add_rules", "decompose"]

#: ops on tensors of pointers that leave every pointer as it is
_ARRANGING = frozenset(("tt.splat", "tt.broadcast", "tt.expand_dims", "tt.reshape", "tt.trans"))
_POINTER_RANGE = "tt.pointer_range"


@dataclass(frozen=True)
class Decomposed:
    """A tensor of pointers as ``base``, a scalar pointer, plus ``offsets``, tensors of i32 in elements."""

    base: ir.Value
    offsets: tuple[ir.Value, ...]


def decompose(pointers: ir.Value) -> Decomposed | None:
    """``pointers`` taken apart; None when they are not a scalar pointer plus 32-bit offsets."""
    offsets: list[ir.Value] = []
    value = pointers
    while isinstance(value.type, ir.RankedTensorType):
        if isinstance(value, ir.BlockArgument):
            return None
        op = value.owner
        if op.name == "tt.addptr":
            offset = op.operands[1]
            if ir.IntegerType(offset.type.element_type).width > 32:
                return None
            offsets.append(offset)
        elif op.name not in _ARRANGING:
            return None
        value = op.operands[0]
    return Decomposed(value, tuple(offsets))


def _fits(found: Decomposed, pointee_bytes: int) -> bool:
    """Whether all offsets lie within a descriptor's bounds."""
    small = _is_small(found.base)
    ranges = Ranges(no_overflow=small)
    intervals = [ranges.of(offset) for offset in found.offsets]
    if any(interval.low < 0 for interval in intervals):
        return False
    return small or sum(interval.high for interval in intervals) * pointee_bytes + 16 <= NUM_RECORDS


def _is_small(base: ir.Value) -> bool:
    """Whether the array that ``base`` points into is said to be smaller than 2 GiB."""
    while not isinstance(base, ir.BlockArgument):
        if base.owner.name != "tt.addptr":
            return False
        base = base.owner.operands[0]
    function = base.owner.owner
    if function.name != "tt.func" or "arg_attrs" not in function.attributes:
        return False
    given = ir.DictAttr(ir.ArrayAttr(function.attributes["arg_attrs"])[base.arg_number])
    return _POINTER_RANGE in given and ir.IntegerAttr(given[_POINTER_RANGE]).value == 32


def _plain(op: ir.Operation) -> bool:
    """Whether the access asks for no cache behaviour of its own."""
    names = ("cache", "evict")
    special = any(n in op.attributes and ir.IntegerAttr(op.attributes[n]).value != 1 for n in names)
    return not special and "isVolatile" not in op.attributes


def _applies(ctx: Lowering, op: ir.Operation) -> bool:
    pointers = op.operands[0]
    if (
        not isinstance(ctx.hw, AmdPrimitives)
        or not isinstance(pointers.type, ir.RankedTensorType)
        or not _plain(op)
    ):
        return False
    found = decompose(pointers)
    if found is None or not found.offsets:
        return False
    pointee = ctx.storage(PointerType(ctx.element(pointers.type)).pointee_type)
    return _fits(found, max(getattr(pointee, "width", 64), 8) // 8)


def _through_a_buffer(generic: Rule) -> Rule:
    def rule(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered] | None:
        found, words = decompose(op.operands[0]), ctx.hw
        if found is None or not isinstance(words, AmdPrimitives):
            return generic(ctx, op)
        with words.buffer(ctx.b, ctx.scalar(found.base)):
            return generic(ctx, op)

    return rule


def add_rules(table: LoweringTable) -> None:
    """Put the rules above the generic ones, for the accesses that they apply to."""
    generic = generic_table().rules
    for name in ("tt.load", "tt.store"):
        rule = _through_a_buffer(generic[name][0].rule)
        table.add(name, rule, benefit=10, when=_applies, owner=f"{__name__}.{name}")
