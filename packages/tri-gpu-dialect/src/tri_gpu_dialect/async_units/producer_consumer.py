"""The two sides of warp specialisation, each a copy of a function's control flow with what it needs.

:class:`Side` copies ops; what happens around a ring's loads is the matter of :class:`Producer` and :class:`Consumer`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field

from tri_core.dialects.tt import MakeTensorDescriptorOp
from tri_core.errors import InternalError
from tri_core.ir.access_hints import plugin_hints
from tri_core.ir.markers import STAGES
from tri_core.ir.regions import For, If, While, is_control
from tri_core.ir.rewriting import clone_mapped, end_block, for_like, if_like, while_like
from tri_core.ir.traits import source_of
from tri_core.ir.views import isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.async_units.analysis.rings import RingUse, SlotBuffer, is_inside, uses_inside
from tri_gpu_dialect.async_units.analysis.slicing import Demand
from tri_gpu_dialect.async_units.create_tensormaps import is_repeated
from tri_gpu_dialect.base import MemDescType
from tri_gpu_dialect.dialect import ConvertLayoutOp, LocalDeallocOp
from tri_gpu_dialect.dialect.markers import AWAITED, CLUSTER
from tri_gpu_dialect.edit import (
    block_ops,
    constant,
    i32_attribute,
    make,
    terminator,
)
from tri_gpu_dialect.encodings import SwizzledShared
from tri_gpu_dialect.types import tensor_info

__all__ = ["Consumer", "Memory", "Producer", "Side"]

#: programs whose numbers are under way between the sides
_NUMBERS = 2
_BARRIER = SwizzledShared(1, 1, 1, (0,))
#: attributes of loops that say what has been done now
_DONE = frozenset({STAGES, "tt.warp_specialize"})


# --- memory -------------------------------------------------------------------------------------------------


@dataclass
class Memory:
    """A ring in shared memory: ``stages`` of a buffer per load, and two barriers per stage."""

    stages: int
    buffers: list[ir.Value]
    full: ir.Value
    empty: ir.Value
    #: CTAs of a cluster that fill each other's stages: all of them free a stage before any of them fills it again
    num_ctas: int = 1

    @classmethod
    def allocated(cls, use: RingUse, stages: int, warps: int, num_ctas: int = 1) -> Memory:
        """New memory; ``warps`` consumers of each of ``num_ctas`` CTAs free a stage."""
        # the consumers wait for whatever is copied to a stage
        awaited = {AWAITED: ir.UnitAttr.get()}
        buffers = [
            _buffer(
                (stages, *_shape(b)), _element(b), b.encoding.to_attr(), alignment=i32_attribute(b.alignment), **awaited
            )
            for b in use.buffers
        ]  # fmt: skip
        i64 = ir.IntegerType.get_signless(64)
        full, empty = (_buffer((stages, 1), i64, _BARRIER.to_attr()) for _ in range(2))
        made = cls(stages, buffers, full, empty, num_ctas)
        made.begin(1, warps * num_ctas)
        return made

    @classmethod
    def of_numbers(cls, consumers: int, producers: int) -> Memory:
        """New memory for numbers of programs, which ``producers`` warps hand to ``consumers`` and read as well."""
        i32, i64 = (ir.IntegerType.get_signless(bits) for bits in (32, 64))
        numbers = _buffer((_NUMBERS, 1), i32, _BARRIER.to_attr())
        full, empty = (_buffer((_NUMBERS, 1), i64, _BARRIER.to_attr()) for _ in range(2))
        made = cls(_NUMBERS, [numbers], full, empty)
        made.begin(producers, consumers + producers)
        return made

    def begin(self, full: int, empty: int) -> None:
        """Make the barriers ready, for so many arrivals."""
        for number in range(self.stages):
            for barriers, count in ((self.full, full), (self.empty, empty)):
                stage = self.barrier(barriers, constant(32, number))
                make("ttg.init_barrier", [stage], count=i32_attribute(count))

    def values(self) -> list[ir.Value]:
        """All that a partition captures."""
        return [*self.buffers, self.full, self.empty]

    def seen_as(self, values: Sequence[ir.Value]) -> Memory:
        """The same, by other values."""
        return Memory(self.stages, list(values[:-2]), values[-2], values[-1], self.num_ctas)

    @property
    def reach(self) -> dict[str, ir.Attribute]:
        """Attributes of what stages of other CTAs have to do with."""
        return {CLUSTER: ir.UnitAttr.get()} if self.num_ctas > 1 else {}

    def barrier(self, barriers: ir.Value, stage: ir.Value) -> ir.Value:
        """The barrier of ``stage``."""
        type_ = MemDescType.of((1,), barriers.type.element_type, _BARRIER.to_attr(), mutable=True)
        return make("ttg.memdesc_index", [barriers, stage], type_).results[0]

    def view(self, number: int, stage: ir.Value) -> ir.Value:
        """Buffer ``number`` of ``stage``."""
        whole = self.buffers[number]
        type_ = MemDescType.of(
            whole.type.shape[1:], whole.type.element_type, whole.type.encoding, mutable=True
        )
        return make("ttg.memdesc_index", [whole, stage], type_).results[0]


def _buffer(
    shape: Sequence[int], element: ir.Type, encoding: ir.Attribute, **attributes: ir.Attribute
) -> ir.Value:
    type_ = MemDescType.of(shape, element, encoding, mutable=True)
    return make("ttg.local_alloc", (), type_, **attributes).results[0]


def _shape(buffer: SlotBuffer) -> list[int]:
    return list(buffer.load.results[0].type.shape)


def _element(buffer: SlotBuffer) -> ir.Type:
    info = tensor_info(buffer.load.results[0].type)
    assert info is not None
    return info.element_type


# --- control flow -------------------------------------------------------------------------------------------


@dataclass
class Side(ABC):
    """A copy of the ops that ``demand`` keeps; ``known`` has what became of values.

    ``memory`` is that of ring ``channels[i]`` for use ``i``; ``state``: stage and parity of each ring's next use, i32.
    ``next_tiles``: the op that gives the number of the next program, where the producer gets it; the last ring is for these numbers.
    """

    demand: Demand
    uses: Sequence[RingUse]
    channels: Sequence[int]
    memory: Sequence[Memory]
    known: dict[ir.Value, ir.Value] = field(default_factory=dict)
    state: dict[int, tuple[ir.Value, ir.Value]] = field(default_factory=dict)
    constants: dict[tuple[int, int], ir.Value] = field(default_factory=dict)
    next_tiles: ir.Operation | None = None

    def int_(self, value: int, bits: int = 32) -> ir.Value:
        """A constant, made once."""
        if (value, bits) not in self.constants:
            with ir.InsertionPoint.at_block_begin(self.entry), ir.Location.unknown():
                self.constants[value, bits] = constant(bits, value)
        return self.constants[value, bits]

    def run(self, block: ir.Block) -> None:
        """Copy what ``block``, a function's, does here, at the start of a region."""
        self.entry = ir.InsertionPoint.current.block
        zero = self.int_(0)
        self.state = dict.fromkeys(range(len(self.memory)), (zero, zero))
        self.block(block)

    @abstractmethod
    def before(self, op: ir.Operation) -> None:
        """Called before ``op`` is copied, a terminator too."""

    @abstractmethod
    def after(self, op: ir.Operation) -> None:
        """Called after ``op`` was copied; for a terminator before it is."""

    @abstractmethod
    def is_replaced(self, op: ir.Operation) -> bool:
        """True if ``op`` is kept but not cloned."""

    def value(self, value: ir.Value) -> ir.Value:
        """Counterpart of ``value``."""
        return self.known.get(value, value)

    def values(self, values: Sequence[ir.Value]) -> list[ir.Value]:
        """Counterparts of ``values``."""
        return [self.value(v) for v in values]

    def block(self, block: ir.Block) -> None:
        """Copy the ops of ``block`` here, but not its terminator."""
        *ops, end = block_ops(block)
        for op in ops:
            with op.location:
                self.before(op)
                if op in self.demand.ops and not self.is_replaced(op):
                    self.op(op)
                self.after(op)
        self.before(end)
        self.after(end)
        if self.next_tiles is not None and self.next_tiles.block == block:
            self.known[self.next_tiles.results[0]] = self.hand_over()

    @abstractmethod
    def hand_over(self) -> ir.Value:
        """The number of the next program, at the end of one."""

    def read_number(self) -> ir.Value:
        """Wait for the number in the ring's stage, and free that."""
        ring = len(self.memory) - 1
        memory, (stage, phase) = self.memory[ring], self.state[ring]
        place = memory.view(0, stage)
        make("ttg.wait_barrier", [memory.barrier(memory.full, stage), phase, place])
        number = make("ttg.read_tile", [place], stage.type).results[0]
        make("ttg.arrive_barrier", [memory.barrier(memory.empty, stage), place])
        self.advance(ring)
        return number

    def op(self, op: ir.Operation) -> None:
        """Copy ``op``."""
        if is_control(op):
            _COPIES[op.name](self, op)
        else:
            clone_mapped(op, self.known)

    # --- what is carried ----------------------------------------------------------------------------------

    def flat(self, rings: Sequence[int]) -> list[ir.Value]:
        """The state of ``rings``."""
        return [part for ring in rings for part in self.state[ring]]

    def enter(self, rings: Sequence[int], values: Sequence[ir.Value]) -> None:
        """From here on ``values`` are the state of ``rings``."""
        for i, ring in enumerate(rings):
            self.state[ring] = (values[2 * i], values[2 * i + 1])

    def for_(self, op: ir.Operation) -> None:
        """A counted loop."""
        loop, rings = For(op), self.inside(op)
        old, inits, coming = loop.carried, loop.inits, loop.yielded
        kept = [i for i, v in enumerate(old) if v in self.demand.values]
        carried = [*self.values([inits[i] for i in kept]), *self.flat(rings)]
        made = For(for_like(op, self.values(loop.bounds), carried, kept=kept, without=_DONE))
        self.known[loop.variable] = made.variable
        new = made.carried
        self.known.update((old[i], v) for i, v in zip(kept, new, strict=False))
        with ir.InsertionPoint(made.body):
            self.enter(rings, new[len(kept) :])
            self.block(loop.body)
        yielded = self.values([coming[i] for i in kept])
        end_block(made.body, [*yielded, *self.flat(rings)], loc=loop.end.location)
        self.results(op, made.op, kept, rings)

    def if_(self, op: ir.Operation) -> None:
        """A branch."""
        branch, rings = If(op), self.inside(op)
        kept = [i for i, r in enumerate(op.results) if r in self.demand.values]
        before = dict(self.state)
        types = [op.results[i].type for i in kept] + [v.type for v in self.flat(rings)]
        made = if_like(op, self.value(branch.condition), types, without=_DONE)
        for source, region in zip(op.regions, made.regions, strict=True):
            self.state = dict(before)
            if not len(source.blocks) and not types:
                continue
            block, ends = region.blocks.append(), list[ir.Value]()
            with ir.InsertionPoint(block):
                if len(source.blocks):
                    self.block(source.blocks[0])
                    coming = terminator(source.blocks[0]).operands
                    ends = self.values([coming[i] for i in kept])
            end_block(block, [*ends, *self.flat(rings)])
        self.state = before
        self.results(op, made, kept, rings)

    def while_(self, op: ir.Operation) -> None:
        """A ``while`` loop."""
        loop, rings = While(op), self.inside(op)
        started = [i for i, v in enumerate(loop.before.arguments) if v in self.demand.values]
        passed = [i for i, v in enumerate(loop.after.arguments) if v in self.demand.values]
        inits, decided, coming = loop.inits, loop.passed, loop.yielded
        carried = [*self.values([inits[i] for i in started]), *self.flat(rings)]
        types = [*[op.results[i].type for i in passed], *[v.type for v in self.flat(rings)]]
        made = While(while_like(op, carried, types, kept=(started, passed), without=_DONE))
        self.part(loop.before, started, made.before, rings)
        forwarded = self.values([loop.condition, *(decided[i] for i in passed)])
        end_block(made.before, [*forwarded, *self.flat(rings)], name="scf.condition")
        self.part(loop.after, passed, made.after, rings)
        yielded = self.values([coming[i] for i in started])
        end_block(made.after, [*yielded, *self.flat(rings)])
        self.results(op, made.op, passed, rings)

    def part(self, old: ir.Block, kept: Sequence[int], block: ir.Block, rings: Sequence[int]) -> None:
        """Copy ``old``, a block of a ``while`` loop with its ``kept`` arguments, to ``block``, but not its terminator."""
        self.known.update((old.arguments[i], v) for i, v in zip(kept, block.arguments, strict=False))
        with ir.InsertionPoint(block):
            self.enter(rings, list(block.arguments)[len(kept) :])
            self.block(old)

    def results(
        self, op: ir.Operation, made: ir.Operation, kept: Sequence[int], rings: Sequence[int]
    ) -> None:
        """From behind ``op`` on, the results of ``made`` are those ``kept`` of its own, then the state of ``rings``."""
        self.known.update((op.results[i], v) for i, v in zip(kept, made.results, strict=False))
        self.enter(rings, list(made.results)[len(kept) :])

    # --- rings --------------------------------------------------------------------------------------------

    def rings(self, chosen: Callable[[RingUse], bool]) -> Iterator[tuple[int, RingUse, Memory]]:
        """The rings that are ``chosen``, with number and memory."""
        for number, use in zip(self.channels, self.uses, strict=True):
            if chosen(use):
                yield number, use, self.memory[number]

    def inside(self, op: ir.Operation) -> list[int]:
        """The rings with loads inside of ``op``."""
        found = {self.channels[i] for i in uses_inside(op, self.uses)}
        if self.next_tiles is not None and is_inside(self.next_tiles, op):
            found.add(len(self.memory) - 1)
        return sorted(found)

    def advance(self, ring: int) -> None:
        """The next stage; after the last one the first, in the phase of the other parity."""
        stage, phase = self.state[ring]
        one, i32 = self.int_(1), stage.type
        stages = self.memory[ring].stages
        flipped = make("arith.xori", [phase, one], i32).results[0]
        if stages == 1:
            self.state[ring] = (stage, flipped)
            return
        raised = make("arith.addi", [stage, one], i32).results[0]
        equal = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 0)
        bit = ir.IntegerType.get_signless(1)
        last = make("arith.cmpi", [raised, self.int_(stages)], bit, predicate=equal).results[0]
        self.state[ring] = (
            make("arith.select", [last, self.int_(0), raised], i32).results[0],
            make("arith.select", [last, flipped, phase], i32).results[0],
        )


_COPIES = {For.OPERATION_NAME: Side.for_, If.OPERATION_NAME: Side.if_, While.OPERATION_NAME: Side.while_}


# --- the sides ----------------------------------------------------------------------------------------------


@dataclass
class Producer(Side):
    """Copies blocks to stages, as soon as they are empty; ``descriptors`` of loads that were made before."""

    descriptors: dict[ir.Operation, ir.Value] = field(default_factory=dict)
    ticket: ir.Value | None = None
    #: of each ring whose copies are waited for: where that was, and the state then
    drained: dict[int, tuple[ir.Block, tuple[ir.Value, ir.Value]]] = field(default_factory=dict)

    def before(self, op: ir.Operation) -> None:
        """A descriptor that is made anew is read by no copy any more; loads are made behind the last of their ring."""
        if (
            isa(op, MakeTensorDescriptorOp)
            and op in self.demand.ops
            and not self.is_replaced(op)
            and is_repeated(op)
        ):
            through = {use.owner.operation for use in op.results[0].uses}
            for number, _, memory in self.rings(lambda use: not through.isdisjoint(use.ring.loads)):
                self.drain(number, memory)

    def drain(self, ring: int, memory: Memory) -> None:
        """Wait until all that was copied to the stages is there.

        Stages before the next one are in the phase of its parity, the others in the one before; that is over where a stage has not
        been filled yet.
        """
        here, (stage, phase) = ir.InsertionPoint.current.block, self.state[ring]
        if self.drained.get(ring) == (here, (stage, phase)):
            return
        self.drained[ring] = here, (stage, phase)
        flipped = make("arith.xori", [phase, self.int_(1)], phase.type).results[0]
        below = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 2)
        for number in range(memory.stages):
            each, bit = self.int_(number), ir.IntegerType.get_signless(1)
            filled = make("arith.cmpi", [each, stage], bit, predicate=below).results[0]
            parity = make("arith.select", [filled, phase, flipped], phase.type).results[0]
            make("ttg.wait_barrier", [memory.barrier(memory.full, each), parity])

    def is_replaced(self, op: ir.Operation) -> bool:
        """Loads are made when the last of their ring is reached."""
        return op in self.demand.given or any(op in use.ring.loads for use in self.uses)

    def value(self, value: ir.Value) -> ir.Value:
        """Counterpart of ``value``, which must be available in the partition."""
        if value not in self.known:
            raise InternalError(f"a partition uses {value} from outside")
        return self.known[value]

    def after(self, op: ir.Operation) -> None:
        """Fill a stage; take a ticket, which comes while this program's blocks are copied."""
        if self.next_tiles is not None and op == self.next_tiles:
            total = self.value(op.operands[1])
            self.ticket = make("ttg.fetch_tile", [total], total.type).results[0]
        for number, use, memory in self.rings(lambda use: use.ring.loads[-1] == op):
            stage, phase = self.state[number]
            passed = make("arith.xori", [phase, self.int_(1)], phase.type).results[0]
            make("ttg.wait_barrier", [memory.barrier(memory.empty, stage), passed])
            full, always = memory.barrier(memory.full, stage), self.int_(1, 1)
            make("ttg.barrier_expect", [full, always], size=i32_attribute(use.bytes))
            for i, load in enumerate(use.ring.loads):
                made = self.descriptors.get(load)
                descriptor = self.value(source_of(load)) if made is None else made
                coordinates = self.values(list(load.operands)[1:])
                operands = [descriptor, *coordinates, full, memory.view(i, stage), always]
                make("ttg.async_copy_descriptor_to_local", operands, **memory.reach, **plugin_hints(load))
            self.advance(number)

    def hand_over(self) -> ir.Value:
        """The ticket, behind the programs that CTAs begin with, is put into the ring, and read from it."""
        ring = len(self.memory) - 1
        memory, (stage, phase) = self.memory[ring], self.state[ring]
        assert self.ticket is not None
        i32 = self.ticket.type
        ctas = make("tt.get_num_programs", (), i32, axis=i32_attribute(0)).results[0]
        number = make("arith.addi", [self.ticket, ctas], i32).results[0]
        place = memory.view(0, stage)
        passed = make("arith.xori", [phase, self.int_(1)], i32).results[0]
        make("ttg.wait_barrier", [memory.barrier(memory.empty, stage), passed, place])
        make("ttg.broadcast_tile", [number, place])
        make("ttg.arrive_barrier", [memory.barrier(memory.full, stage), place])
        return self.read_number()


@dataclass
class Consumer(Side):
    """Uses stages when they are full, and frees them."""

    views: dict[ir.Operation, ir.Value] = field(default_factory=dict)
    gone: set[ir.Operation] = field(default_factory=set)

    def __post_init__(self) -> None:
        for buffer in (b for use in self.uses for b in use.buffers):
            self.gone.update(buffer.replaced)
            self.gone.add(buffer.load)
            for alloc, _ in buffer.views:
                users = [use.owner.operation for use in alloc.results[0].uses]
                self.gone.update(op for op in users if isa(op, LocalDeallocOp))

    def is_replaced(self, op: ir.Operation) -> bool:
        """Loads, and buffers that are stages."""
        return op in self.gone or (self.next_tiles is not None and op == self.next_tiles)

    def hand_over(self) -> ir.Value:
        """As the producer has got it."""
        return self.read_number()

    def before(self, op: ir.Operation) -> None:
        """Views of the stage where a block was loaded; a wait where it is used."""
        for number, use, memory in self.rings(lambda use: op in use.ring.loads and op not in self.views):
            self.see(use, use.ring.loads.index(op), memory, self.state[number][0])
        for number, use, memory in self.rings(lambda use: use.first == op):
            stage, phase = self.state[number]
            for index, buffer in enumerate(use.buffers):
                if buffer.load not in self.views:  # it is loaded later than another of the ring is used
                    self.see(use, index, memory, stage)
            make("ttg.wait_barrier", [memory.barrier(memory.full, stage), phase, *self.stage_views(use)])
            for buffer in use.buffers:
                self.read(buffer)

    def stage_views(self, use: RingUse) -> list[ir.Value]:
        """The views of the stage in use."""
        return [self.views[buffer.load] for buffer in use.buffers]

    def see(self, use: RingUse, index: int, memory: Memory, stage: ir.Value) -> None:
        """Buffers of dots are views of ``stage``."""
        buffer = use.buffers[index]
        view = self.views[buffer.load] = memory.view(index, stage)
        for alloc, order in buffer.views:
            self.known[alloc.results[0]] = view if order is None else _transposed(view, alloc, order)

    def read(self, buffer: SlotBuffer) -> None:
        """Blocks that are used as tensors are read; conversions right in the layout that they give."""
        view, load = self.views[buffer.load], buffer.load
        readers = [op for op in buffer.readers if op in self.demand.ops or op == terminator(op.block)]
        converts = [op for op in readers if isa(op, ConvertLayoutOp)]
        for op in converts:
            self.known[op.results[0]] = make("ttg.local_load", [view], op.results[0].type).results[0]
            self.gone.add(op)
        if len(converts) < len(readers):
            self.known[load.results[0]] = make("ttg.local_load", [view], load.results[0].type).results[0]

    def after(self, op: ir.Operation) -> None:
        """Free the stage after its last use."""
        for number, use, memory in self.rings(lambda use: use.last == op):
            empty = memory.barrier(memory.empty, self.state[number][0])
            make("ttg.arrive_barrier", [empty, *self.stage_views(use)], **memory.reach)
            self.advance(number)


def _transposed(view: ir.Value, alloc: ir.Operation, order: Sequence[int]) -> ir.Value:
    shape = [view.type.shape[d] for d in order]
    type_ = MemDescType.of(shape, view.type.element_type, alloc.results[0].type.encoding, mutable=True)
    return make("ttg.memdesc_trans", [view], type_, order=ir.DenseI32ArrayAttr.get(list(order))).results[0]
