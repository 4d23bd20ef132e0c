"""Loads, stores and atomics through buffer descriptors, where base and offsets allow it.

A tensor of pointers into one array needs no 64-bit addresses: the array's pointer goes into a buffer descriptor,
and a lane that is masked off gets an offset out of bounds.  The generic rules still do all the rest (vectors,
copies, who writes); only the accesses themselves are replaced, while the rule runs.

A descriptor covers 4 GiB at most, so one of these must hold:

* the pointers are one scalar pointer plus offsets whose intervals lie in the 2 GiB behind it (:data:`FORWARD`), and those
  of all that these are summed up from, since LLVM moves constants among them into the instruction;
* the scalar pointer was computed from a parameter that carries ``tt.pointer_range = 32``, and none of these is negative (:data:`AHEAD`);
* they are computed from a parameter that carries ``tt.pointer_range = 32``: its array is smaller than 2 GiB (by 16 bytes), and all
  that may be accessed lies less than that before or behind the pointer (:data:`AROUND`).  Offsets are then computed
  modulo 2**32, which is exact for everything in the window: whatever their sign, width, or the way that they take.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tri_backend_amd.dialect.block import BUFFER, UNIFORM
from tri_backend_amd.dialect.buffers import AHEAD, AROUND, FORWARD, Window
from tri_backend_amd.lowering.primitives import AmdPrimitives
from tri_backend_amd.lowering.small_arrays import is_small
from tri_core.dialects.tt import AddPtrOp, PointerType, SplatOp
from tri_core.dialects.tt.enums import AtomicOp, MemSemantic, MemSyncScope
from tri_core.ir.traits import derives_pointer, moves_data
from tri_core.ir.views import cast, defining_op
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_core.passes.origins import argument_of, is_zero, splat_integer
from tri_core.passes.rewriting import producer
from tri_gpu_dialect.analysis.ranges import Ranges
from tri_gpu_dialect.lowering import AtomicAccess, Lowered, Lowering, LoweringTable, Rule, generic_rule
from tri_gpu_dialect.lowering.rules.memory import load_tensor

__all__ = ["Place", "add_rules", "decompose", "has_place", "place_of", "place_of_access"]

#: ops on tensors of pointers that leave every pointer as it is
_ARRANGING = frozenset(("tt.splat", "tt.broadcast", "tt.expand_dims", "tt.reshape", "tt.trans"))
#: ops through which a constant may be moved out of a sum
_SUMS = frozenset(("arith.addi", "arith.subi", "arith.muli", "arith.shli", "arith.ori"))
#: bytes of the widest access
_WIDEST = 16
#: bytes that every processor's buffer instructions take in themselves
_IMMEDIATE = 4095


@dataclass(frozen=True)
class Decomposed:
    """A tensor of pointers as ``base``, a scalar pointer, plus ``offsets``, tensors of i32 in elements."""

    base: ir.Value
    offsets: tuple[ir.Value, ...]


@dataclass(frozen=True)
class Place:
    """All that is accessed lies in ``window`` around ``base``, a scalar pointer; ``uniform`` offsets may go to a scalar register."""

    base: ir.Value
    window: Window
    uniform: frozenset[ir.Value] = frozenset()


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


def place_of(pointers: ir.Value, pointee_bytes: int) -> Place | None:
    """Place that a tensor of pointers addresses; None if it is not known well enough for a descriptor."""
    argument = argument_of(pointers)
    small = argument is not None and is_small(argument)
    found = decompose(pointers)
    if found is not None:
        base, moved = _begin(found.base, _IMMEDIATE // pointee_bytes)
        if _is_forward(found, moved, pointee_bytes, small):
            return Place(base, AHEAD if small else FORWARD)
    return Place(argument, AROUND) if argument is not None and small else None


def _begin(base: ir.Value, most: int) -> tuple[ir.Value, int]:
    """The pointer that ``base``, a scalar one, lies a constant behind, and how many elements: ``most`` at most.

    The constant then goes into the instruction, and what is at several distances from a pointer shares its descriptor.
    """
    total = 0
    while (op := defining_op(base, AddPtrOp)) is not None and op.ptr.type == base.type:
        step = splat_integer(op.offset)
        if step is None or not 0 <= step <= most - total:
            break
        base, total = op.ptr, total + step
    return base, total


def _is_forward(found: Decomposed, moved: int, pointee_bytes: int, small: bool) -> bool:
    """True if no offset is negative and, if the array isn't ``small``, all lie within the 2 GiB behind what
    the base was ``moved`` from.

    What is computed for an array that is ``small`` is taken not to overflow: it then stays in the array.
    """
    ranges = Ranges(no_overflow=small)
    if any(ranges.of(term).low < 0 for offset in found.offsets for term in _terms(offset)):
        return False
    intervals = [ranges.of(offset) for offset in found.offsets]
    farthest = moved + sum(interval.high for interval in intervals)
    return small or farthest * pointee_bytes + _WIDEST <= FORWARD.size


def _terms(offset: ir.Value) -> list[ir.Value]:
    """``offset``, and what it is a sum or a multiple of."""
    found = [offset]
    for value in found:
        op = producer(value)
        if op is not None and (op.name in _SUMS or moves_data(op)):
            found += [v for v in op.operands if v not in found]
    return found


def _uniform(ctx: Lowering, pointers: ir.Value) -> frozenset[ir.Value]:
    """The scalars that the offsets of ``pointers`` are splats of, where these may go to a scalar register."""
    found = set()
    op = producer(pointers)
    while op is not None and isinstance(op.results[0].type, ir.RankedTensorType) and derives_pointer(op.name):
        if (
            UNIFORM in op.attributes
            and (splat := defining_op(cast(op, AddPtrOp).offset, SplatOp)) is not None
        ):
            found.add(ctx.scalar(splat.operands[0]))
        op = producer(op.operands[0])
    return frozenset(found)


def _place(ctx: Lowering, op: ir.Operation) -> Place | None:
    """Place of ``op``, an access of a tensor, through a buffer descriptor; None if it may not use one."""
    pointers = op.operands[0]
    if not isinstance(ctx.hw, AmdPrimitives) or not isinstance(pointers.type, ir.RankedTensorType):
        return None
    pointee = ctx.storage(PointerType(ctx.element(pointers.type)).pointee_type)
    found = place_of(pointers, max(getattr(pointee, "width", 64), 8) // 8)
    if found is None and BUFFER in op.attributes and (parts := decompose(pointers)) is not None:
        return Place(parts.base, AROUND)
    return found


def has_place(ctx: Lowering, op: ir.Operation) -> bool:
    """True if ``op``, an access whose operands need not be lowered yet, may go through a buffer descriptor."""
    return _place(ctx, op) is not None


def place_of_access(ctx: Lowering, op: ir.Operation) -> Place | None:
    """Place, with uniform offsets, of ``op``, whose first operand is a tensor of pointers, through a buffer
    descriptor; None if it may not use one.
    """
    place = _place(ctx, op)
    if place is None or place.window == FORWARD:
        return place
    return replace(place, uniform=_uniform(ctx, op.operands[0]))


def _through_a_buffer(
    generic: Rule, where: Callable[[Lowering, ir.Operation], Place | None] = place_of_access
) -> Rule:
    def rule(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered] | None:
        place, words = where(ctx, op), ctx.hw
        if place is None or not isinstance(words, AmdPrimitives):
            return generic(ctx, op)
        with words.buffer(ctx.b, ctx.scalar(place.base), place.window, place.uniform):
            return generic(ctx, op)

    return rule


def _load(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    view = op.opview
    # what is out of bounds is zero anyway
    other = None if view.other is None or is_zero(view.other) else view.other
    return [load_tensor(ctx, op, view.ptr, view.mask, other)]


def _widened(place: Place) -> Place | None:
    """``place`` for words around elements: these begin before the elements, so maybe before the base.

    A lane's offset, which must not be negative, may be where all else is uniform.  Only a window around the base has room.
    """
    return None if place.window == FORWARD else replace(place, window=AROUND)


def _in_pairs(ctx: Lowering, op: ir.Operation) -> bool:
    """True if ``op``, a read-modify-write, changes pairs, of which an element may be the second."""
    kind = AtomicOp(ir.IntegerAttr(op.attributes["atomic_rmw_op"]).value)
    return ctx.hw.atomic_width(kind, ctx.element(op.operands[1].type)) > 1


def _place_of_update(ctx: Lowering, op: ir.Operation) -> Place | None:
    """Place of ``op``, a read-modify-write, through a buffer descriptor; None if it may not use one."""
    place = place_of_access(ctx, op)
    return _widened(place) if place is not None and _in_pairs(ctx, op) else place


def _updates(ctx: Lowering, op: ir.Operation) -> bool:
    """True if ``op``, a read-modify-write, may be a buffer atomic."""
    if not isinstance(ctx.hw, AmdPrimitives):
        return False
    place = _place(ctx, op)
    if place is None or (_in_pairs(ctx, op) and _widened(place) is None):
        return False
    kind, scope = (ir.IntegerAttr(op.attributes[n]).value for n in ("atomic_rmw_op", "scope"))
    # fences order a tile as a whole: its atomics are relaxed
    access = AtomicAccess(MemSemantic.RELAXED, MemSyncScope(scope))
    return ctx.hw.has_buffer_atomic(AtomicOp(kind), ctx.element(op.operands[1].type), access)


def add_rules(table: LoweringTable) -> None:
    """Put the rules above the generic ones, for the accesses that they apply to."""
    for name, generic in (("tt.load", _load), ("tt.store", generic_rule("tt.store"))):
        rule = _through_a_buffer(generic)
        table.add(name, rule, benefit=10, when=has_place, owner=f"{__name__}.{name}")
    rule = _through_a_buffer(generic_rule("tt.atomic_rmw"), _place_of_update)
    table.add("tt.atomic_rmw", rule, benefit=10, when=_updates, owner=f"{__name__}.tt.atomic_rmw")
