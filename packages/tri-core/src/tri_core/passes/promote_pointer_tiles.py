"""Loads and stores of pointers that are tiles of an array, as accesses through a descriptor of the array.

    p = base + (m0 + arange(BM))[:, None] * stride + (k0 + arange(BK))[None, :]
    x = load(p, mask=(k0 + arange(BK))[None, :] < K, other=0)

becomes

    d = make_tensor_descriptor(base, [2**31 - 1, K], [stride, 1])        at the function's beginning
    x = descriptor_load d[m0, k0]

for loads that feed dots, and for stores, where that is what the target copies best.  Rows of one dimension that loops load, and
from which factors of dots are computed (``exp2(dot(k, q) - lse[None, :])``), become so too: they can come with the dots' blocks.

Where the target lets kernels make descriptors (``computed``), a size may be a scalar that the kernel computes, and the array may begin
at one: the descriptor is made where these are known.  Making one takes as long as a copy or two, and stores through the one before
would have to be waited for.  So a store takes a descriptor that goes on past the computed size, where the whole block is inside:

    if m0 + BM <= rows: descriptor_store d[m0, n0], x      else: store p, x, mask
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from typing import ClassVar

from tri_core.dialects.tt import CallOp, DotOp, FuncOp, LoadOp, PointerType, StoreOp, TensorDescType, TransOp
from tri_core.dialects.tt.accesses import reads_again
from tri_core.ir.access import access_of
from tri_core.ir.access_hints import has_hints
from tri_core.ir.effects import NOTHING, READ_GLOBAL, WRITE_GLOBAL, effects_of
from tri_core.ir.markers import ENTERED, PROMOTED
from tri_core.ir.regions import For, If, is_loop
from tri_core.ir.traits import is_cast, is_rematerializable
from tri_core.ir.views import isa
from tri_core.ir.walking import walk
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import arith, ir
from tri_core.passes.base import Pass
from tri_core.passes.guarded_access import branched
from tri_core.passes.origins import argument_of, is_zero, reaches
from tri_core.passes.rewriting import constant, make, producer
from tri_core.passes.tiles import (
    Polynomial,
    Reader,
    Symbol,
    Tile,
    Trip,
    ancestors,
    is_inside,
    is_known_outside,
    only_inside_matters,
    tile_of,
)
from tri_core.pipeline import StageContext
from tri_core.remarks import declined

__all__ = ["PromotePointerTiles"]

#: the size of a dimension that is never left
_ANY = 2**31 - 1
_SLT, _SLE = 2, 3
_NO_TILE = "its pointers and mask are none of a tile of an array, in rows whose beginnings and lengths are known to be aligned"


@dataclass(frozen=True)
class PromotePointerTiles(Pass):
    """See the module; ``stores`` too, or loads of dots alone; ``computed`` sizes and beginnings, or arguments alone.

    What a target's copies of blocks take: ``extent`` elements along a dimension, ``rank`` dimensions (None: any number);
    ``alignment``: bytes that bases, strides and rows of a block are multiples of; ``row_alignment``: bytes that a block of one
    dimension is a multiple of, for such blocks lie one after the other where copies may put them.

    A load is left alone when it is volatile or has a cache modifier, when its ``other`` is not zero, when the kernel
    writes through the same argument; an access, when base, strides or rows are not multiples of ``alignment``, when a size
    is no argument (or changes in the innermost loop around it), or where rows that start again at the beginning (``% M``) can be seen.
    """

    name: ClassVar[str] = "promote-pointer-tiles"

    stores: bool = True
    computed: bool = False
    extent: int | None = None
    rank: int | None = None
    alignment: int = 1
    row_alignment: int = 1

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite every function of ``module`` in place."""
        for op in module.body.operations:
            if isa(op, FuncOp):
                _Function(op.operation, self).run()


@dataclass
class _Function:
    function: ir.Operation
    given: PromotePointerTiles
    reader: Reader = field(default_factory=Reader)

    def run(self) -> None:
        """Everything is decided before anything is changed."""
        accesses = list(_accesses(self.function))
        written = self.written(accesses)
        found = []
        for op in accesses:
            tile = self.load_tile(op, written) if isa(op, LoadOp) else self.store_tile(op, accesses)
            if isinstance(tile, Tile):
                found.append((op, tile))
            elif tile is not None:
                declined(PromotePointerTiles.name, op, "not turned into a descriptor access: {}", tile)
        for op, tile in found:
            _replace(self.function, op, tile)

    def written(self, accesses: Sequence[ir.Operation]) -> set[ir.Value] | None:
        """Arguments that are written through; None where something is written that is not known."""
        found: set[ir.Value] = set()
        for op in accesses:
            if isa(op, LoadOp):
                continue
            access = access_of(op)
            if access is None:
                return None
            pointers = self.reader.pointers(access.address)
            base = argument_of(access.address) if pointers is None else pointers.base
            if base is None:
                return None
            found.add(base)
        return found

    def load_tile(self, op: ir.Operation, written: set[ir.Value] | None) -> Tile | str | None:
        """The tile of a load of a dot's operand; why there is none, or None for other loads."""
        if not (_feeds_dot(op) or _is_row_beside_dots(op)):
            return None
        view = op.opview
        if written is None:
            return "the kernel stores through a pointer whose array is unknown"
        if not _plain(op):
            return "the load is volatile or has a cache or eviction modifier"
        if view.other is not None and not is_zero(view.other):
            return "masked-off elements are not 0 (other=...), and a descriptor loads 0 there"
        tile = self.tile(op.results[0].type, view.ptr, view.mask)
        if tile is None:
            return _NO_TILE
        if tile.base in written:
            return "the kernel also stores to this array"
        if _changes_with(tile, op):
            return "the base pointer changes in each iteration of the loop"
        wraps = [(d, axis.wrap) for d, axis in enumerate(tile.axes) if axis.wrap is not None]
        if all(only_inside_matters(self.reader, op.results[0], d, limit) for d, limit in wraps):
            return tile
        return "rows past the end wrap around (offsets modulo the size), and what they give is stored"

    def store_tile(self, op: ir.Operation, accesses: Sequence[ir.Operation]) -> Tile | str | None:
        """The tile of a store whose array nothing else accesses: other accesses would not be ordered after it.

        Why there is none, or None for what is no store of a matrix.
        """
        if not isa(op, StoreOp) or not self.given.stores:
            return None
        view = op.opview
        if getattr(view.value.type, "rank", 0) < 2:
            return None
        if not _plain(op):
            return "the store has a cache or eviction modifier"
        tile = self.tile(view.value.type, view.ptr, view.mask)
        if tile is None or any(axis.wrap is not None for axis in tile.axes) or tile.shift.terms:
            return _NO_TILE
        others = [
            self.reader.pointers(a.address)
            for a in map(access_of, accesses)
            if a is not None and a.operation != op
        ]
        if all(o is not None and o.base != tile.base for o in others):
            return tile
        return "another access reaches this array, or one through a pointer whose array is unknown"

    def tile(self, type_: ir.Type, pointers: ir.Value, mask: ir.Value | None) -> Tile | None:
        """Tile that ``pointers`` under ``mask`` access, if a block copy can access it; None otherwise."""
        if not isinstance(type_, ir.RankedTensorType) or not _may_have(self.given, type_.shape):
            return None
        read = self.reader.pointers(pointers)
        conditions = () if mask is None else self.reader.conditions(mask)
        if read is None or conditions is None or any(c.dim >= type_.rank for c in conditions):
            return None
        tile = tile_of(read, conditions, type_.rank, computed=self.given.computed)
        return tile if tile is not None and _suits(tile, type_, self.given) else None


# --- what suits ---------------------------------------------------------------------------------------------


def _changes_with(tile: Tile, access: ir.Operation) -> bool:
    """True if the array changes in every iteration of the innermost loop around ``access``."""
    values = _array_symbols(tile)
    around = [each for each in ancestors(access) if is_loop(each)]
    return bool(around) and any(is_inside(symbol, around[0]) for symbol in values)


def _array_symbols(tile: Tile) -> list[Symbol]:
    """The scalars that the beginning and the sizes of the tile's array are made of."""
    return [s for p in (tile.shift, *(a.size for a in tile.axes if a.size is not None)) for s in p.symbols()]


def _accesses(function: ir.Operation) -> Iterator[ir.Operation]:
    """All ops that read or write memory through pointers."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if isa(op, CallOp) or not (effects_of(op) or NOTHING).isdisjoint((READ_GLOBAL, WRITE_GLOBAL)):
            found.append(op)
        return ir.WalkResult.ADVANCE

    walk(function, visit, ir.WalkOrder.PRE_ORDER)
    return iter(found)


def _plain(op: ir.Operation) -> bool:
    """True if an access is neither volatile nor has modifiers."""
    return not reads_again(op) and not has_hints(op)


def _feeds_dot(load: ir.Operation) -> bool:
    """True if a dot reads the result of ``load``, unchanged, transposed or in another element type."""
    return reaches(load.results, _is_factor, lambda op: isa(op, TransOp) or is_cast(op))


def _is_factor(use: ir.OpOperand) -> bool:
    return isa(use.owner, DotOp) and use.operand_number < 2


def _is_row_beside_dots(load: ir.Operation) -> bool:
    """True if ``load`` gives a row, in a loop, from which a factor of a dot in the same block is computed."""
    type_ = load.results[0].type
    if not isinstance(type_, ir.RankedTensorType) or type_.rank != 1 or not isa(load.parent, For):
        return False
    ahead, seen = list(load.results), set(load.results)
    while ahead:
        for use in ahead.pop().uses:
            user = use.owner.operation
            if isa(user, DotOp) and use.operand_number < 2 and user.block == load.block:
                return True
            if is_rematerializable(user):
                more = [r for r in user.results if r not in seen]
                seen.update(more)
                ahead += more
    return False


def _may_have(given: PromotePointerTiles, shape: Sequence[int]) -> bool:
    """True if a block may have ``shape``."""
    fits = given.rank is None or len(shape) <= given.rank
    return bool(shape) and fits and (given.extent is None or max(shape) <= given.extent)


def _suits(tile: Tile, type_: ir.RankedTensorType, given: PromotePointerTiles) -> bool:
    """True if sizes, strides and the base meet the requirements of block copies."""
    element = type_.element_type
    if not isinstance(element, ir.IntegerType | ir.FloatType) or element.width < 8:
        return False
    nbytes = element.width // 8
    alignment = given.row_alignment if type_.rank == 1 else given.alignment
    whole = type_.shape[tile.contiguous] * nbytes % alignment == 0
    strides = [axis.stride for d, axis in enumerate(tile.axes) if d != tile.contiguous]
    return (
        whole
        and _divisibility(tile.base) % given.alignment == 0
        and all(_factor(p) * nbytes % given.alignment == 0 for p in (*strides, tile.shift))
    )


def _factor(value: Polynomial) -> int:
    """A number that ``value`` is a multiple of."""
    found = 0
    for monomial, factor in value.terms:
        for symbol, power in monomial:
            factor *= _divisibility(symbol) ** power
        found = math.gcd(found, factor)
    return found


def _divisibility(symbol: Symbol) -> int:
    """Promised divisor of an argument; 1 for other scalars."""
    if isinstance(symbol, Trip) or not is_known_outside(Polynomial.symbol(symbol)):
        return 1
    argument = symbol
    function = argument.owner.owner.operation
    if "arg_attrs" not in function.attributes:
        return 1
    facts = ir.ArrayAttr(function.attributes["arg_attrs"])[ir.BlockArgument(argument).arg_number]
    known = ir.DictAttr(facts)
    return ir.IntegerAttr(known["tt.divisibility"]).value if "tt.divisibility" in known else 1


# --- rewriting ----------------------------------------------------------------------------------------------


def _replace(function: ir.Operation, op: ir.Operation, tile: Tile) -> None:
    """The access through a descriptor whose last dimension is the contiguous one."""
    is_load = isa(op, LoadOp)
    if not is_load and tile.computed:
        op, tile = _inside(op, tile)
    type_ = (op.results[0] if is_load else op.opview.value).type
    rank = type_.rank
    order = [*(d for d in range(rank) if d != tile.contiguous), tile.contiguous]
    block = ir.RankedTensorType.get([type_.shape[d] for d in order], type_.element_type)
    descriptor = _descriptor(_place(function, op, tile), tile, order, block, "read" if is_load else "written")
    i32 = ir.IntegerType.get_signless(32)
    indices = [_emitted(op, tile.axes[d].origin, i32) for d in order]
    transposed = order != list(range(rank))
    if is_load:
        value = make(op, "tt.descriptor_load", block, [descriptor, *indices], _modifiers())
        if transposed:
            back = [order.index(d) for d in range(rank)]
            value = make(op, "tt.trans", type_, [value], {"order": ir.DenseI32ArrayAttr.get(back)})
        op.results[0].replace_all_uses_with(value)
    else:
        value = op.opview.value
        if transposed:
            value = make(op, "tt.trans", block, [value], {"order": ir.DenseI32ArrayAttr.get(order)})
        _store(op, [descriptor, value, *indices])
    op.erase()


def _inside(store: ir.Operation, tile: Tile) -> tuple[ir.Operation, Tile]:
    """A copy of ``store`` for blocks that are inside along dimensions of computed size, which its tile goes past; in a branch."""
    i32, bit = ir.IntegerType.get_signless(32), ir.IntegerType.get_signless(1)
    condition: ir.Value | None = None
    for d in tile.computed:
        axis, length = tile.axes[d], store.opview.value.type.shape[d]
        assert axis.size is not None
        end = _emitted(store, axis.origin + Polynomial.constant(length), i32)
        predicate = {"predicate": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), _SLE)}
        asked = make(store, "arith.cmpi", bit, [end, _emitted(store, axis.size, i32)], predicate)
        condition = asked if condition is None else make(store, "arith.andi", bit, [condition, asked])
    assert condition is not None
    made = branched(store, condition)
    axes = [replace(a, size=None) if d in tile.computed else a for d, a in enumerate(tile.axes)]
    return made, replace(tile, axes=tuple(axes))


def _place(function: ir.Operation, access: ir.Operation, tile: Tile) -> ir.Operation:
    """The op before which the array of ``tile`` is described: outside of all loops in which it stays the same.

    What arguments alone tell comes first of all; what is computed, right before the ``access`` or the loop around it, and only if
    that runs (a loop that gives sums stays as it is): what is read from memory comes while descriptors are made.
    """
    first = found = function.regions[0].blocks[0].operations[0].operation
    for symbol in _array_symbols(tile):
        found = _later(found, _defined(symbol))
    if found == first:
        return first
    chain = ancestors(access)
    number = next(i for i, op in enumerate(chain) if op.block == found.block)
    if ENTERED in chain[number].attributes:
        return chain[number - 1]
    is_plain_loop = isa(chain[number], For) and not len(chain[number].results)
    return _entered(chain[number]) if is_plain_loop else chain[number]


def _entered(loop: ir.Operation) -> ir.Operation:
    """``loop``, which gives nothing, in a branch that is taken if it runs at all."""
    predicate = {"predicate": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), _SLT)}
    runs = make(loop, "arith.cmpi", ir.IntegerType.get_signless(1), list(loop.operands)[:2], predicate)
    point, marked = ir.InsertionPoint(loop), {ENTERED: ir.UnitAttr.get()}
    branch = ir.Operation.create(
        If.OPERATION_NAME, operands=[runs], regions=2, attributes=marked, loc=loop.location, ip=point
    )
    inside = ir.InsertionPoint(branch.regions[0].blocks.append())
    loop.move_before(ir.Operation.create("scf.yield", ip=inside, loc=loop.location))
    return loop


def _defined(symbol: Symbol) -> ir.Operation:
    """The first op that may use ``symbol``."""
    if isinstance(symbol, Trip):
        return symbol.loop.regions[0].blocks[0].operations[0].operation
    owner = symbol.owner
    if isinstance(owner, ir.Block):
        return owner.operations[0].operation
    ops = [view.operation for view in owner.operation.block]
    return ops[ops.index(owner.operation) + 1]


def _later(one: ir.Operation, other: ir.Operation) -> ir.Operation:
    """The op that comes later, of two in blocks one of which is in the other."""
    depths = len(ancestors(one)), len(ancestors(other))
    if depths[0] != depths[1]:
        return one if depths[0] > depths[1] else other
    ops = [view.operation for view in one.block]
    return one if ops.index(one) > ops.index(other) else other


def _modifiers() -> dict[str, ir.Attribute]:
    i32 = ir.IntegerType.get_signless(32)
    return {name: ir.IntegerAttr.get(i32, 1) for name in ("cache", "evict")}


def _store(at: ir.Operation, operands: Sequence[ir.Value]) -> None:
    ir.Operation.create("tt.descriptor_store", operands=operands, loc=at.location, ip=ir.InsertionPoint(at))


def _descriptor(
    at: ir.Operation, tile: Tile, order: Sequence[int], block: ir.RankedTensorType, use: str
) -> ir.Value:
    """``tt.make_tensor_descriptor`` at the beginning of the function; equal ones are merged later."""
    i32, i64 = (ir.IntegerType.get_signless(bits) for bits in (32, 64))
    axes = [tile.axes[d] for d in order]
    sizes = [Polynomial.constant(_ANY) if axis.size is None else axis.size for axis in axes]
    shape = [_emitted(at, size, i32) for size in sizes]
    strides = [_emitted(at, axis.stride, i64) for axis in axes]
    element = block.element_type
    if isinstance(element, ir.IntegerType):
        block = ir.RankedTensorType.get(block.shape, ir.IntegerType.get_signed(element.width))
    type_ = TensorDescType.get(ir.TypeAttr.get(block))
    base = tile.base
    assert isinstance(base.type, PointerType)
    if tile.shift.terms:
        base = make(at, "tt.addptr", base.type, [base, _emitted(at, tile.shift, i64)])
    attributes = {"padding": ir.IntegerAttr.get(i32, 1), PROMOTED: ir.StringAttr.get(use)}
    return make(
        at, "tt.make_tensor_descriptor", type_, [base, *shape, *strides], attributes | _segments(block.rank)
    )


def _segments(rank: int) -> dict[str, ir.Attribute]:
    return {"operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, rank, rank])}


def _emitted(at: ir.Operation, value: Polynomial, type_: ir.Type) -> ir.Value:
    """``value`` as an integer of ``type_`` before ``at``."""
    return value.emitted(
        lambda number: constant(at, ir.IntegerAttr.get(type_, number)),
        lambda symbol: _cast(at, _trip(at, symbol) if isinstance(symbol, Trip) else symbol, type_),
        lambda name, a, b: make(at, name, type_, [a, b]),
    )


def _cast(at: ir.Operation, value: ir.Value, type_: ir.Type) -> ir.Value:
    have = value.type.width
    if have == type_.width:
        return value
    return make(at, "arith.extsi" if have < type_.width else "arith.trunci", type_, [value])


def _trip(at: ir.Operation, trip: Trip) -> ir.Value:
    """(induction variable - lower) / step."""
    index = trip.loop.regions[0].blocks[0].arguments[0]
    lower, _, step = list(trip.loop.operands)[:3]
    moved = index if _is_constant(lower, 0) else make(at, "arith.subi", index.type, [index, lower])
    return moved if _is_constant(step, 1) else make(at, "arith.divsi", index.type, [moved, step])


def _is_constant(value: ir.Value, number: int) -> bool:
    op = producer(value)
    return (
        op is not None
        and isa(op, arith.ConstantOp)
        and ir.IntegerAttr(op.attributes["value"]).value == number
    )
