"""``tt.reduce``: a tree within the thread, butterflies across lanes, then shared memory across warps.

What many warps have left in shared memory is read by lanes that would all read the same (their results have one position): each
takes a vector of it, and butterflies combine these.  Every lane reading all would need a register for each warp.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from tri_core.mlir import ir
from tri_gpu_dialect.layouts import BLOCK, LANE, REGISTER, WARP, LinearLayout, gf2
from tri_gpu_dialect.lowering.context import Lowered, Lowering, Registers
from tri_gpu_dialect.lowering.indices import apply, offset_by, reach
from tri_gpu_dialect.lowering.primitives import LaneMove, LaneSwap
from tri_gpu_dialect.lowering.rules.registers import map_many
from tri_gpu_dialect.lowering.sinking import sink_loads
from tri_gpu_dialect.lowering.table import Rule
from tri_gpu_dialect.lowering.words import (
    bit_width,
    from_memory,
    from_words,
    memory_type,
    to_memory,
    to_words,
)
from tri_gpu_dialect.plans import ReductionPlan, plan_reduction, views

__all__ = ["RULES", "Combine", "combiner", "move_words"]

#: one value per operand
Tuple = tuple[ir.Value, ...]
Combine = Callable[[Tuple, Tuple], Tuple]
#: a tuple that is computed where it is asked for
Later = Callable[[], Tuple]

#: operations of a region that does one thing
_ONE_AND_RETURN = 2
_PAIR = 2
#: vectors of partial results that a lane reads alone
_VECTORS = 2
#: combinations whose operands may be swapped
_COMMUTATIVE = frozenset(
    f"arith.{name}" for name in (
        "addf", "addi", "andi", "maximumf", "maxnumf", "maxsi", "maxui", "minimumf", "minnumf", "minsi", "minui", "mulf", "muli",
        "ori", "xori",
    )
)  # fmt: skip


def combiner(ctx: Lowering, op: ir.Operation) -> Combine:
    """The region of ``op`` as a function of two tuples of scalars, the earlier elements first."""
    block = op.regions[0].blocks[0]

    def combine(left: Tuple, right: Tuple) -> Tuple:
        made = ctx.lower_block(block, [[value] for value in (*left, *right)])
        return tuple(ctx.only(value) for value in made)

    return combine


def reduce(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.reduce``."""
    axis = ir.IntegerAttr(op.attributes["axis"]).value
    layout = ctx.layout(op.operands[0].type)
    plan = plan_reduction(layout, axis)
    combine = combiner(ctx, op)
    operands = [ctx.registers(o) for o in op.operands]
    at_once = _combined_at_once(ctx, op)
    found = {
        p: _tree(combine, [tuple(o[r] for o in operands) for r in g], at_once) for p, g in plan.groups.items()
    }
    sink_loads(ctx, op)
    found = {p: _across_lanes(ctx, combine, t, plan.lane_masks) for p, t in found.items()}
    if plan.warp_masks:
        results = _across_warps(ctx, op, plan, combine, found)
    else:
        results = [
            _placed(ctx, op, plan, [found[p][i] for p in found], list(found), i) for i in range(len(operands))
        ]
    return _across_blocks(ctx, op, plan, combine, results) if plan.block_masks else results


def _combined_at_once(ctx: Lowering, op: ir.Operation) -> int:
    """Number of values that one instruction combines by the operation in the region of ``op``; 2 for a region
    of several operations.
    """
    block = op.regions[0].blocks[0]
    if len(op.operands) != 1 or len(block.operations) != _ONE_AND_RETURN:
        return 2
    combination = block.operations[0].operation
    return ctx.hw.combined_at_once(combination.name, combination.results[0].type)


def _tree(combine: Combine, values: Sequence[Tuple], at_once: int = 2) -> Tuple:
    """Neighbours first: short dependence chains, and rounding errors that grow with the logarithm.

    What is combined last is computed last: only one value per level of the tree waits for its neighbour then, where level after
    level keeps half of all, and assemblers that move loads down to where they are used don't move them across it.
    """
    later = [functools.partial(_given, value) for value in values]
    root = _balanced(functools.partial(_deferred, combine), later, at_once)
    return root()


def _given(value: Tuple) -> Tuple:
    return value


def _deferred(combine: Combine, left: Later, right: Later) -> Later:
    return lambda: combine(left(), right())


def _balanced(combine: Callable[[Later, Later], Later], values: Sequence[Later], at_once: int) -> Later:
    """The tree's root: of its leaves ``values`` neighbours are combined first.

    Three at once where an instruction takes so many (``at_once``); of an even number then two before, since each such leaves two fewer.
    """
    if at_once > _PAIR and len(values) > _PAIR:
        return _balanced_threes(combine, values)
    while len(values) > 1:
        pairs = [combine(a, b) for a, b in zip(values[::2], values[1::2], strict=False)]
        values = pairs + list(values[len(pairs) * 2 :])
    return values[0]


def _balanced_threes(combine: Callable[[Later, Later], Later], values: Sequence[Later]) -> Later:
    values = list(values) if len(values) % 2 else [combine(values[0], values[1]), *values[2:]]
    while len(values) > 1:
        whole = len(values) // 3 * 3
        threes = [combine(combine(*values[i : i + 2]), values[i + 2]) for i in range(0, whole, 3)]
        values = threes + values[whole:]
    return values[0]


def _across_lanes(ctx: Lowering, combine: Combine, values: Tuple, masks: tuple[int, ...]) -> Tuple:
    """``values`` of all lanes that differ by combinations of ``masks``, combined."""
    steps = ctx.hw.reduce_lanes(masks)

    def moved(move: LaneMove) -> Tuple:
        return tuple(move_words(ctx, v, lambda word: move(ctx.b, word)) for v in values)

    for move in steps.moves:
        if isinstance(move, LaneSwap):
            values = combine(*_swapped(ctx, values, move))
        else:
            values = combine(values, moved(move))
    return values if steps.spread is None else moved(steps.spread)


def _swapped(ctx: Lowering, values: Tuple, swap: LaneSwap) -> tuple[Tuple, Tuple]:
    """Scalars whose 32-bit words have gone through ``swap``: those that it gives first, and second."""
    left, right = [], []
    for value in values:
        pairs = [swap.exchange(ctx.b, word) for word in to_words(ctx.b, [value])]
        left += from_words(ctx.b, [first for first, _ in pairs], value.type, 1)
        right += from_words(ctx.b, [second for _, second in pairs], value.type, 1)
    return tuple(left), tuple(right)


def _from_lane(ctx: Lowering, values: Tuple, mask: int) -> Tuple:
    return tuple(move_words(ctx, v, lambda word: ctx.hw.shuffle_xor(ctx.b, word, mask)) for v in values)


def move_words(ctx: Lowering, value: ir.Value, move: Callable[[ir.Value], ir.Value]) -> ir.Value:
    """A scalar whose 32-bit words have gone through ``move``."""
    words = [move(word) for word in to_words(ctx.b, [value])]
    return from_words(ctx.b, words, value.type, 1)[0]


def _placed(
    ctx: Lowering, op: ir.Operation, plan: ReductionPlan, values: Registers, positions: list[int], i: int
) -> Registers:
    """Results by position as the registers of the result's layout."""
    type_ = op.results[i].type
    if not isinstance(type_, ir.RankedTensorType):
        return values[:1]
    known = dict(zip(positions, values, strict=True))
    flat = _flat_result(ctx, type_)
    return [known[image] for image in flat.images(REGISTER)]


def _flat_result(ctx: Lowering, type_: ir.Type) -> LinearLayout:
    """The layout of a result with its coordinates as one row-major position."""
    layout = ctx.layout(type_)
    flat = views.row_major(layout, [1 << layout.out_bits])
    return flat.rename_outs({"dim0": "position"})


# --- across warps -----------------------------------------------------------------------------------------


def _across_warps(
    ctx: Lowering, op: ir.Operation, plan: ReductionPlan, combine: Combine, found: dict[int, Tuple]
) -> list[Registers]:
    """Every warp writes its partial results; every thread reads those of its results and combines them."""
    b = ctx.b
    bases = _operand_bases(ctx, op, plan)
    inputs = ctx.inputs()
    position = apply(b, plan.kept, inputs)[0]
    reached = reach(plan.kept, list(inputs))[0]
    partial = apply(b, plan.partial, {WARP: ctx.warp})[0]
    count = plan.partials
    for offset, values in found.items():
        place = b.add(b.mul(offset_by(b, position, reached, offset), b.int_(count)), partial)
        for value, base in zip(values, bases, strict=True):
            element = memory_type(b, value.type)
            address = b.gep(base, place, element)
            ctx.hw.store_shared(b, address, to_memory(b, value), _writer(ctx, plan), bit_width(element) // 8)
    ctx.barrier()
    types = [v.type for v in next(iter(found.values()))]
    read = _reader(ctx, plan, bases, types, combine, _sharing_lanes(ctx, op, plan, types), _commutes(op))
    results = _result_positions(ctx, op)
    return list(map_many(read, len(types), results))


def _writer(ctx: Lowering, plan: ReductionPlan) -> ir.Value | None:
    """One lane of those that hold the same partial results: lane bits that mean no position are 0."""
    idle = sum(1 << i for i, column in enumerate(plan.kept.packed(LANE)) if not column)
    return ctx.b.cmp("eq", ctx.b.and_(ctx.lane, ctx.b.int_(idle)), ctx.b.int_(0)) if idle else None


def _operand_bases(ctx: Lowering, op: ir.Operation, plan: ReductionPlan) -> list[ir.Value]:
    """Addresses of each operand's partial results: one operand after the other, aligned to 16 bytes."""
    base, offset, bases = ctx.scratch(op), 0, []
    for operand in op.operands:
        bases.append(ctx.b.gep(base, ctx.b.int_(offset), ctx.b.i8))
        width = bit_width(memory_type(ctx.b, ctx.storage(operand.type))) // 8
        offset += -(-plan.positions * plan.partials * width // 16) * 16
    return bases


def _result_positions(ctx: Lowering, op: ir.Operation) -> Registers:
    """The flat position of each register of the result."""
    b, type_ = ctx.b, op.results[0].type
    if not isinstance(type_, ir.RankedTensorType):
        return [b.int_(0)]
    layout = _flat_result(ctx, type_)
    inputs = ctx.inputs()
    base, reached = apply(b, layout, inputs)[0], reach(layout, list(inputs))[0]
    by_image = {i: offset_by(b, base, reached, i) for i in dict.fromkeys(layout.images(REGISTER))}
    return [by_image[i] for i in layout.images(REGISTER)]


def _sharing_lanes(
    ctx: Lowering, op: ir.Operation, plan: ReductionPlan, types: Sequence[ir.Type]
) -> tuple[int, ...]:
    """Bits of the lane that say which vector of partial results it reads; none: each lane reads all.

    Only bits that mean no position of the result.  One instruction for each partial result is soon done; a combination of many is
    shared where there are two vectors, or every warp does all of it again.
    """
    vectors = max(plan.partials // _vector(ctx, t) for t in types)
    type_ = op.results[0].type
    if vectors <= (_VECTORS if _commutes(op) else 1):
        return ()
    if isinstance(type_, ir.RankedTensorType):
        columns = _flat_result(ctx, type_).packed(LANE)
        idle = [i for i, column in enumerate(columns) if not column]
    else:
        idle = list(range(len(plan.kept.packed(LANE))))
    return tuple(idle[: vectors.bit_length() - 1])


def _commutes(op: ir.Operation) -> bool:
    """True if the region of ``op`` is one commutative operation: both lanes of a pair get the same result
    then.
    """
    block = op.regions[0].blocks[0]
    return (
        len(op.operands) == 1
        and len(block.operations) == _ONE_AND_RETURN
        and block.operations[0].operation.name in _COMMUTATIVE
    )


def _vector(ctx: Lowering, type_: ir.Type) -> int:
    """Elements of a vector of shared memory."""
    return max(ctx.target.spec.max_vector_bits // bit_width(memory_type(ctx.b, type_)), 1)


def _part(ctx: Lowering, plan: ReductionPlan, sharing: tuple[int, ...]) -> ir.Value:
    """The number that bits ``sharing`` of the lane make."""
    if not sharing:
        return ctx.b.int_(0)
    lanes = range(len(plan.kept.packed(LANE)))
    columns = tuple(1 << sharing.index(bit) if bit in sharing else 0 for bit in lanes)
    layout = LinearLayout(((LANE, len(columns)),), (("part", len(sharing)),), columns)
    return apply(ctx.b, layout, {LANE: ctx.lane})[0]


def _reader(
    ctx: Lowering,
    plan: ReductionPlan,
    bases: list[ir.Value],
    types: list[ir.Type],
    combine: Combine,
    sharing: tuple[int, ...],
    commutes: bool,
) -> Callable[[ir.Value], Tuple]:
    """Reads the partial results at a position, in vectors, and combines them; lanes that differ in bits ``sharing`` read one part each."""
    b, count = ctx.b, plan.partials >> len(sharing)
    part = b.mul(_part(ctx, plan, sharing), b.int_(count))

    def column(base: ir.Value, type_: ir.Type, position: ir.Value) -> Registers:
        element = memory_type(b, type_)
        width = min(count, _vector(ctx, type_))
        first = b.add(b.mul(position, b.int_(plan.partials)), part)
        start = b.gep(base, first, element)
        found: Registers = []
        for offset in range(0, count, width):
            address = b.gep(start, b.int_(offset), element)
            alignment = width * bit_width(element) // 8
            vector = ctx.hw.load_shared(b, address, b.vector_type(element, width), None, alignment)
            found += [from_memory(b, v, type_) for v in b.unpack(vector)]
        return found

    def read(position: ir.Value) -> Tuple:
        columns = [column(base, t, position) for base, t in zip(bases, types, strict=True)]
        total = _tree(combine, list(zip(*columns, strict=True)))
        for bit in sharing:
            total = combine(total, _from_lane(ctx, total, 1 << bit))
        return total if commutes else _of_first(ctx, total, sharing)

    return read


def _of_first(ctx: Lowering, values: Tuple, sharing: tuple[int, ...]) -> Tuple:
    """``values`` of the lane that combined all in their order: the one whose bits ``sharing`` are 0.

    Others have swapped operands and may have rounded otherwise; what a branch asks must be the same in all lanes.
    """
    if not sharing:
        return values
    b = ctx.b
    lane = b.and_(ctx.lane, b.int_(~sum(1 << bit for bit in sharing)))
    return tuple(move_words(ctx, v, lambda word: ctx.hw.shuffle_idx(b, word, lane)) for v in values)


# --- across the blocks of a cluster -----------------------------------------------------------------------


def _across_blocks(
    ctx: Lowering, op: ir.Operation, plan: ReductionPlan, combine: Combine, results: list[Registers]
) -> list[Registers]:
    """Every block writes its results, and reads those of all others that contribute, all in the same order."""
    b, positions = ctx.b, _result_positions(ctx, op)
    bases = _block_bases(ctx, op, plan)
    elements = [memory_type(b, values[0].type) for values in results]
    places = dict.fromkeys(positions)
    for position, *values in zip(positions, *results, strict=True):
        for value, base, element in zip(values, bases, elements, strict=True):
            address = b.gep(base, position, element)
            ctx.hw.store_shared(b, address, to_memory(b, value), None, bit_width(element) // 8)
    ctx.cluster_barrier()
    types = [values[0].type for values in results]
    ranks = _contributors(ctx, plan)

    def read(position: ir.Value, rank: ir.Value) -> Tuple:
        got = []
        for base, element, type_ in zip(bases, elements, types, strict=True):
            address = b.gep(base, position, element)
            value = ctx.hw.load_peer(b, address, rank, element, bit_width(element) // 8)
            got.append(from_memory(b, value, type_))
        return tuple(got)

    totals = {p: _tree(combine, [read(p, rank) for rank in ranks]) for p in places}
    ctx.cluster_barrier()  # others have read what is here
    return [[totals[p][i] for p in positions] for i in range(len(results))]


def _block_bases(ctx: Lowering, op: ir.Operation, plan: ReductionPlan) -> list[ir.Value]:
    """Addresses of each operand's results of this block, behind the partial results of warps."""
    widths = [bit_width(memory_type(ctx.b, ctx.storage(o.type))) // 8 for o in op.operands]
    base, offset, bases = ctx.scratch(op), plan.warp_bytes(widths), []
    for width in widths:
        bases.append(ctx.b.gep(base, ctx.b.int_(offset), ctx.b.i8))
        offset += -(-plan.positions * width // 16) * 16
    return bases


def _contributors(ctx: Lowering, plan: ReductionPlan) -> list[ir.Value]:
    """The blocks whose results make one of this block's, in the order of their index."""
    b, rank = ctx.b, ctx.block_id()
    index = plan.block_partial.packed(BLOCK)
    # this block's number without its own index, which is a linear map of the number
    first = LinearLayout(
        ((BLOCK, len(index)),),
        (("rank", len(index)),),
        tuple(1 << i ^ gf2.apply(plan.block_masks, column) for i, column in enumerate(index)),
    )
    start = apply(b, first, {BLOCK: rank})[0]
    numbers = range(1 << len(plan.block_masks))
    return [b.xor(start, b.int_(gf2.apply(plan.block_masks, n))) for n in numbers]


RULES: dict[str, Rule] = {"tt.reduce": reduce}
