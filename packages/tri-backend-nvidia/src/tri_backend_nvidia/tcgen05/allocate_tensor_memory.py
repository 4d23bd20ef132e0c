"""Puts the accumulators of dots into tensor memory.

    c = dot(a, b, c0); d = wait(c)      ->   store c0, t; dot(a, b, t); commit; wait for the commit; d = load t

Accumulators that loops carry stay there (:mod:`accumulators`): they are stored before the loop, and loaded where registers are needed.
A left operand that is made of an accumulator goes to tensor memory, too, instead of to shared memory (:mod:`tmem_operands`).
Columns are given to accumulators for as long as they live; all are allocated at once, where the consumers of the
kernel start, and deallocated at its end.  :mod:`completion` has what tells when dots are done.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import ClassVar

from tri_backend_nvidia.tcgen05.accumulators import DOT, WAIT, Accumulator, accumulators, is_placed, reads
from tri_backend_nvidia.tcgen05.completion import Completion, has_scales
from tri_backend_nvidia.tcgen05.encoding import TensorMemory
from tri_backend_nvidia.tcgen05.ops import TensorMemorySpaceAttr
from tri_backend_nvidia.tcgen05.scales import SCALE_SETS, TensorMemoryScales
from tri_backend_nvidia.tcgen05.tmem_operands import Operand, PlacedOperand, overlap, place_operands
from tri_backend_nvidia.tcgen05.tmem_operands import left_operands as factors_of
from tri_core.api import OutOfResources, Pass, StageContext, Unsupported
from tri_core.dialects.tt import FuncOp, ReturnOp
from tri_core.ir.dots import Dot
from tri_core.ir.regions import If
from tri_core.ir.rewriting import attributes_of
from tri_core.ir.views import cast, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.locations import source_location
from tri_core.mlir import builtin, ir
from tri_core.passes.origins import is_zero
from tri_core.remarks import declined, is_listening
from tri_gpu_dialect.base import MemDescType
from tri_gpu_dialect.dialect import ConvertLayoutOp, WarpGroupDotOp, WarpGroupDotWaitOp, WarpSpecializeOp
from tri_gpu_dialect.dialect.markers import TENSOR_MEMORY
from tri_gpu_dialect.dialect.partitions import default_block
from tri_gpu_dialect.edit import all_ops, block_ops, functions
from tri_gpu_dialect.encodings import SwizzledShared

__all__ = ["AllocateTensorMemory"]


#: the fewest columns that can be allocated
_LEAST = 32
#: scales begin at a multiple of the columns that a copy writes
_ALIGNED = 4
_SLOT = SwizzledShared(1, 1, 1, (0,))


def _i32(value: int) -> ir.IntegerAttr:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(32), value)


@dataclass(frozen=True)
class AllocateTensorMemory(Pass):
    """See the module; runs when nothing else moves dots, before shared memory is allocated."""

    name: ClassVar[str] = "allocate-tensor-memory"
    required: ClassVar[bool] = True
    former_names: ClassVar[tuple[str, ...]] = ("place-accumulators",)

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite the kernel of ``module``; OutOfResources where the columns do not suffice."""
        limit = context.target.spec.limits.get("tensor_memory") if context is not None else None
        for function in functions(module):
            found = accumulators(function)
            if not found:
                continue
            _check_kernel(function)
            columns = _give_columns(function, found)
            scales = Scales.of(function, max(c + _width(accumulator) for accumulator, c in columns))
            needed = max(1 << (scales.end - 1).bit_length(), _LEAST)
            if limit is not None and needed > limit:
                raise _too_large(function, needed, limit)
            known = [(accumulator, column, _width(accumulator)) for accumulator, column in columns]
            factors = factors_of(function, _numbers(function))
            left_operands = place_operands(factors, known, scales.end, limit or needed)
            if len(left_operands) < len(factors) and is_listening():
                _tell(factors, left_operands, limit or needed)
            last = max([scales.end, *(operand.range[1] for operand in left_operands)])
            size = max(1 << (last - 1).bit_length(), _LEAST)
            _Placement(function, size, dict_of(columns), scales, left_operands).run(found)
            module.operation.attributes[TENSOR_MEMORY] = _i32(size)


def _tell(found: Sequence[Operand], placed: Sequence[PlacedOperand], limit: int) -> None:
    """Log the operands that go through shared memory, with the reason."""
    own = {each.operand.dot for each in placed}
    for operand in found:
        if operand.dot not in own:
            text = "what the dot multiplies goes through shared memory: {} columns of tensor memory have no room for it"
            declined(AllocateTensorMemory.name, operand.dot, text, limit)


def dict_of(columns: Sequence[tuple[Accumulator, int]]) -> dict[int, int]:
    """Columns by the identity of accumulators."""
    return {id(accumulator): column for accumulator, column in columns}


def _check_kernel(function: ir.Operation) -> None:
    given = function.attributes
    if "sym_visibility" in given and ir.StringAttr(given["sym_visibility"]).value != "public":
        raise Unsupported(
            "a dot whose accumulator is in tensor memory, in a function that is called",
            remedy="let the function be inlined (no noinline=True)",
            location=source_location(function.location),
        )


def _too_large(function: ir.Operation, need: int, have: int) -> OutOfResources:
    return OutOfResources(
        f"the kernel needs {need} columns of tensor memory; the target has {have}",
        remedy="use smaller blocks: an accumulator takes a column of 128 rows for each of its columns",
        location=source_location(function.location),
        resource="tensor_memory",
        need=need,
        have=have,
    )


# --- columns ----------------------------------------------------------------------------------------------


def _width(accumulator: Accumulator) -> int:
    shape = tuple(accumulator.type.shape)
    return TensorMemory.of(shape).columns(shape)


def _give_columns(function: ir.Operation, found: Sequence[Accumulator]) -> list[tuple[Accumulator, int]]:
    """A first column for each accumulator: those of one type may have the same ones after each other.

    Accumulators of other types would be read by other warps, which no barrier orders.
    """
    numbers = _numbers(function)
    for accumulator in found:
        accumulator.life = _life(accumulator, numbers)
    given: list[tuple[Accumulator, int]] = []
    for accumulator in sorted(found, key=lambda c: (-_width(c), c.life)):
        width = _width(accumulator)
        taken = sorted(
            (c, c + _width(o))
            for o, c in given
            if o.type != accumulator.type or overlap(o.life, accumulator.life)
        )
        column = 0
        for low, high in taken:
            if column + width <= low:
                break
            column = max(column, -(-high // width) * width)
        given.append((accumulator, column))
    return given


@dataclass(frozen=True)
class Scales:
    """Columns for the scales of dots: ``SCALE_SETS`` sets of ``columns`` each from column ``first`` on."""

    first: int
    columns: int

    @classmethod
    def of(cls, function: ir.Operation, first: int) -> Scales:
        """From column ``first`` on, for the largest scales of a dot of ``function``."""
        dots = [op for op in all_ops(function) if isa(op, WarpGroupDotOp) and has_scales(op)]
        most = max((sum(cls.widths(dot)) for dot in dots), default=0)
        return cls(-(-first // _ALIGNED) * _ALIGNED if most else first, most)

    @staticmethod
    def widths(dot: ir.Operation) -> tuple[int, int]:
        """Columns of the scales of A and of B."""
        a, b = (TensorMemoryScales().columns(tuple(dot.operands[i].type.shape)) for i in (4, 5))
        return a, b

    @property
    def end(self) -> int:
        """The first column behind them."""
        return self.first + SCALE_SETS * self.columns


class _Numbers:
    """Ops numbered in program order: an op has the numbers from its own to its end's."""

    def __init__(self) -> None:
        self.spans: dict[ir.Operation, tuple[int, int]] = {}
        self.count = 0

    def visit(self, op: ir.Operation) -> None:
        first, self.count = self.count, self.count + 1
        for region in op.regions:
            for block in region.blocks:
                for inner in block_ops(block):
                    self.visit(inner)
        self.spans[op] = (first, self.count)
        self.count += 1


def _numbers(function: ir.Operation) -> dict[ir.Operation, tuple[int, int]]:
    numbers = _Numbers()
    numbers.visit(function)
    return numbers.spans


def _life(accumulator: Accumulator, numbers: dict[ir.Operation, tuple[int, int]]) -> tuple[int, int]:
    """From the first store to the last load of ``accumulator``."""
    ops = [*accumulator.dots, *([] if accumulator.carried is None else [accumulator.carried.loop])]
    for value in accumulator.held:
        ops += [user for _, user, _ in reads(accumulator, value)]
        ops += [use.owner.operation for use in value.uses if isa(use.owner.operation, WarpGroupDotWaitOp)]
    spans = [numbers[op] for op in ops]
    return min(s[0] for s in spans), max(s[1] for s in spans)


# --- rewriting --------------------------------------------------------------------------------------------


@dataclass
class _Placement:
    """The rewriting of one function; ``columns`` by the identity of accumulators."""

    function: ir.Operation
    size: int
    columns: dict[int, int]
    scales: Scales
    left_operands: Sequence[PlacedOperand] = ()
    views: dict[int, ir.Value] = field(default_factory=dict)

    def run(self, found: Sequence[Accumulator]) -> None:
        root = self.root()
        for op in all_ops(self.function):
            if isa(op, WarpGroupDotOp) and is_placed(op.results[0]) and not _is_inside(op, root):
                raise Unsupported(
                    "a dot behind the part of a kernel whose warps are specialised",
                    remedy="pass warp_specialize=False",
                    location=source_location(op.location),
                )
        completion = Completion.made(self.function)
        self.allocate(root, found)
        for accumulator in found:
            self.load(accumulator)
        for accumulator in found:
            self.start(accumulator)
        for op in all_ops(self.function):
            if isa(op, WarpGroupDotWaitOp):
                _forget_values(op)
        completion.count(root)

    def root(self) -> ir.Block:
        """Block in which the consumers of the kernel start."""
        entry = self.function.regions[0].blocks[0]
        special = [op for op in block_ops(entry) if isa(op, WarpSpecializeOp)]
        return default_block(special[0]) if special else entry

    def allocate(self, root: ir.Block, found: Sequence[Accumulator]) -> None:
        """The memory, and a buffer for each accumulator, at the start of ``root``; its end where the function returns."""
        i32, location = ir.IntegerType.get_signless(32), self.function.location
        entry = self.function.regions[0].blocks[0]
        with ir.InsertionPoint.at_block_begin(entry), location:
            type_ = MemDescType.of((1,), i32, _SLOT.to_attr(), mutable=True)
            slot = ir.Operation.create("ttg.local_alloc", results=[type_])
        at = ir.InsertionPoint.after(slot) if root == entry else ir.InsertionPoint.at_block_begin(root)
        columns = {"columns": _i32(self.size)}
        with at, location:
            ir.Operation.create("ttng.tmem_alloc", operands=slot.results, attributes=columns)
            for accumulator in found:
                shape, element = tuple(accumulator.type.shape), accumulator.type.element_type
                buffer = MemDescType.of(
                    shape,
                    element,
                    TensorMemory.of(shape).to_attr(),
                    mutable=True,
                    memory_space=TensorMemorySpaceAttr.get(),
                )
                made = ir.Operation.create(
                    "ttng.tmem_view",
                    results=[buffer],
                    operands=slot.results,
                    attributes={"column": _i32(self.columns[id(accumulator)])},
                )
                self.views[id(accumulator)] = made.results[0]
                self.place_scales(accumulator, slot.results[0])
            for placed in self.left_operands:
                _move_operand(placed, slot.results[0])
        for op in all_ops(self.function):
            if isa(op, ReturnOp):
                with ir.InsertionPoint(op), location:
                    ir.Operation.create("ttng.tmem_dealloc", operands=slot.results, attributes=columns)

    def place_scales(self, accumulator: Accumulator, slot: ir.Value) -> None:
        """Give the dots of ``accumulator`` that have scales the columns of these, behind all other operands."""
        for i, dot in enumerate(accumulator.dots):
            if not has_scales(dot):
                continue
            column, places = self.scales.first, []
            for value, width in zip(list(dot.operands)[4:6], Scales.widths(dot), strict=True):
                places.append(_scales_view(value, slot, column))
                column += width
            accumulator.dots[i] = _with_places(dot, places, self.scales.columns)

    def load(self, accumulator: Accumulator) -> None:
        """Read the accumulator where registers are needed."""
        for value in accumulator.held:
            by_value: dict[ir.Value, list[tuple[ir.Operation, int]]] = {}
            for held, user, number in reads(accumulator, value):
                by_value.setdefault(held, []).append((user, number))
            for held, users in by_value.items():
                for user, _ in users:
                    _sink(user)
                place = _place(accumulator, held, [user for user, _ in users])
                with ir.InsertionPoint(place), place.location:
                    loaded = ir.Operation.create(
                        "ttng.tmem_load", results=[held.type], operands=[self.views[id(accumulator)]]
                    ).results[0]
                for user, number in users:
                    user.operands[number] = loaded

    def start(self, accumulator: Accumulator) -> None:
        """Store what the accumulator starts from, and have the dots add to the buffer."""
        view = self.views[id(accumulator)]
        if accumulator.carried is not None:
            _store(accumulator.carried.init, view, accumulator.carried.loop)
        for i, dot in enumerate(accumulator.dots):
            is_there = accumulator.adds_in_place or i > 0
            _replace(dot, view, _adds(dot) if is_there else _filled(dot, view))
        if accumulator.carried is not None:
            # nobody needs it in registers any more: it is loop-carried as it is, and goes
            end = list(accumulator.carried.argument.owner.operations)[-1].operation
            end.operands[accumulator.carried.index] = accumulator.carried.argument


def _move_operand(placed: PlacedOperand, slot: ir.Value) -> None:
    """Have the dot of ``placed`` read tensor memory, which is written where shared memory was."""
    operand, type_ = placed.operand, placed.type
    place = MemDescType.of(
        tuple(type_.shape),
        type_.element_type,
        type_.encoding,
        mutable=True,
        memory_space=TensorMemorySpaceAttr.get(),
    )
    attributes = {"column": _i32(placed.column)}
    view = ir.Operation.create("ttng.tmem_view", results=[place], operands=[slot], attributes=attributes)
    _store(operand.source, view.results[0], operand.alloc)
    cast(operand.dot, WarpGroupDotOp).a = view.results[0]
    for use in list(operand.alloc.results[0].uses):
        use.owner.operation.erase()
    operand.alloc.erase()


def _scales_view(scales: ir.Value, slot: ir.Value, column: int) -> ir.Value:
    """The place of ``scales`` in tensor memory from column ``column`` on."""
    place = MemDescType.of(
        tuple(scales.type.shape),
        scales.type.element_type,
        TensorMemoryScales().to_attr(),
        mutable=True,
        memory_space=TensorMemorySpaceAttr.get(),
    )
    attributes = {"column": _i32(column)}
    return ir.Operation.create(
        "ttng.tmem_view", results=[place], operands=[slot], attributes=attributes
    ).results[0]


def _with_places(dot: ir.Operation, places: Sequence[ir.Value], columns: int) -> ir.Operation:
    """``dot`` with ``places`` for its scales, of which ``columns`` make a set."""
    attributes = attributes_of(dot) | {"scale_columns": _i32(columns)}
    with ir.InsertionPoint(dot), dot.location:
        made = ir.Operation.create(
            DOT, results=[dot.results[0].type], operands=[*dot.operands, *places], attributes=attributes
        )
    dot.results[0].replace_all_uses_with(made.results[0])
    dot.erase()
    return made


def _is_inside(op: ir.Operation, root: ir.Block) -> bool:
    block = op.block
    while block != root:
        owner = block.owner.operation
        if isa(owner, FuncOp, builtin.ModuleOp):
            return False
        block = owner.block
    return True


def _bit(value: int) -> ir.Value:
    type_ = ir.IntegerType.get_signless(1)
    attributes = {"value": ir.IntegerAttr.get(type_, value)}
    return ir.Operation.create("arith.constant", results=[type_], attributes=attributes).results[0]


def _store(value: ir.Value, view: ir.Value, before: ir.Operation) -> None:
    with ir.InsertionPoint(before), before.location:
        ir.Operation.create("ttng.tmem_store", operands=[value, view])


def _adds(dot: ir.Operation) -> ir.Value:
    """Flag (i1) of ``dot`` for accumulating."""
    adds = next(iter(cast(dot, WarpGroupDotOp).more), None)
    if adds is not None:
        return adds
    with ir.InsertionPoint(dot), dot.location:
        return _bit(1)


def _filled(dot: ir.Operation, view: ir.Value) -> ir.Value:
    """Have the buffer ``view`` hold what ``dot`` adds to, unless that is nothing; whether it adds."""
    total, adds = Dot(dot).c, next(iter(cast(dot, WarpGroupDotOp).more), None)
    if adds is not None and is_zero(adds):
        return adds
    if adds is None and is_zero(total):
        with ir.InsertionPoint(dot), dot.location:
            return _bit(0)
    _store(total, view, dot)
    return _adds(dot)


def _replace(dot: ir.Operation, view: ir.Value, add: ir.Value) -> None:
    """``dot`` onto the buffer ``view``, which its result, that nothing needs, stands for."""
    with ir.InsertionPoint(dot), dot.location:
        ir.Operation.create(
            DOT,
            results=[view.type],
            operands=[*list(dot.operands)[:2], view, add, *list(dot.operands)[4:]],
            attributes=attributes_of(dot),
        )
    # waits alone are left of its users
    dot.results[0].replace_all_uses_with(Dot(dot).c)
    dot.erase()


def _forget_values(wait: ir.Operation) -> None:
    """``wait`` without values, whose users have been given others."""
    with ir.InsertionPoint(wait), wait.location:
        ir.Operation.create(WAIT, attributes={"pendings": wait.attributes["pendings"]})
    for result, operand in zip(wait.results, wait.operands, strict=True):
        result.replace_all_uses_with(operand)
    wait.erase()


# --- places of loads --------------------------------------------------------------------------------------


def _place(accumulator: Accumulator, held: ir.Value, users: Sequence[ir.Operation]) -> ir.Operation:
    """The op before which ``accumulator`` is read as ``held``: the first user, but no later than a dot that adds to it.

    Users that are all in one way of a branch have it there.
    """
    block = held.owner if isinstance(held.owner, ir.Block) else held.owner.operation.block
    writers = [dot for dot in accumulator.dots if dot.block == block]
    while True:
        ancestors = [_ancestor(user, block) for user in users]
        ops = block_ops(block)
        first = min(ops.index(op) for op in [*ancestors, *_after(held, writers, ops)])
        inner = _only_block(ops[first], users) if all(op == ops[first] for op in ancestors) else None
        if inner is None:
            return ops[first]
        block, writers = inner, []


def _sink(op: ir.Operation) -> None:
    """Move ``op``, if it only changes a layout, to where its result is used."""
    if not isa(op, ConvertLayoutOp):
        return
    users = [use.owner.operation for use in op.results[0].uses]
    block = op.block
    while users:
        ancestors = [_ancestor(user, block) for user in users]
        ops = block_ops(block)
        first = ops[min(ops.index(each) for each in ancestors)]
        inner = _only_block(first, users) if all(each == first for each in ancestors) else None
        if inner is None:
            break
        block = inner
    if block != op.block:
        op.move_before(first)


def _after(
    held: ir.Value, writers: Sequence[ir.Operation], ops: Sequence[ir.Operation]
) -> list[ir.Operation]:
    """Those of ``writers`` that stand behind where ``held`` is made."""
    start = -1
    if not isinstance(held.owner, ir.Block) and held.owner.operation in ops:
        start = list(ops).index(held.owner.operation)
    return [w for w in writers if list(ops).index(w) > start]


def _ancestor(op: ir.Operation, block: ir.Block) -> ir.Operation:
    while op.block != block:
        op = op.parent.operation
    return op


def _only_block(op: ir.Operation, users: Sequence[ir.Operation]) -> ir.Block | None:
    """The block of ``op``, a branch, that has all ``users``."""
    if not isa(op, If) or any(user == op for user in users):
        return None
    for region in op.regions:
        for block in region.blocks:
            if all(_is_inside(user, block) for user in users):
                return block
    return None
