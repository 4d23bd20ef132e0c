"""``tt.scan``: see :mod:`tri_gpu_dialect.plans.scanning` for the algorithm.

Each register has a *prefix*, its scan within the block of elements joined so far among those of its own
thread, and a *block*: the total of everything joined so far, and the *carry*, what comes before the
thread's own part.  Carries are put before the prefixes once, at the end.

Where every register has a block of its own, lanes go on without totals: the last lane of a block has it, as its prefix.  Each step takes one
combination then, and warps get totals from the last lanes alone.

Registers that hold the highest bits of the coordinate are gone through one after the other, with what comes before them all: then no
carry waits for the others, and what came from other warps is read where it is needed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.layouts import LANE, REGISTER
from tri_gpu_dialect.lowering.context import Lowered, Lowering, Registers
from tri_gpu_dialect.lowering.indices import apply, offset_by, reach
from tri_gpu_dialect.lowering.rules.reduction import Combine, Tuple, combiner, move_words
from tri_gpu_dialect.lowering.table import Rule
from tri_gpu_dialect.lowering.words import bit_width, from_memory, memory_type, to_memory
from tri_gpu_dialect.plans import plan_scan
from tri_gpu_dialect.plans.scanning import ScanStep, WarpStep

__all__ = ["RULES"]


@dataclass(frozen=True)
class Block:
    """Scan state of the elements joined so far, shared by registers in one block.

    ``carry`` is what comes before the thread's own elements, there only where ``has_carry`` (None: nowhere).
    """

    total: Tuple
    carry: Tuple | None = None
    has_carry: ir.Value | None = None


def scan(ctx: Lowering, op: ir.Operation) -> Sequence[Lowered]:
    """``tt.scan``."""
    axis = ir.IntegerAttr(op.attributes["axis"]).value
    reverse = bool(ir.IntegerAttr(op.attributes["reverse"]).value)
    plan = plan_scan(ctx.layout(op.operands[0].type), axis)
    elements = list(zip(*(ctx.registers(o) for o in op.operands), strict=True))
    state = _Scan(ctx, op, combiner(ctx, op), reverse, elements)
    first, last = _last_registers(plan.steps)
    runs = _runs(first)
    following = [*(run[0] for run in runs[1:]), plan.steps[len(first)] if last else None]
    for run, then in zip(runs, following, strict=False):
        state.run(run, then)
    rows = state.results_along(last) if last else state.results()
    return [[row[i] for row in rows] for i in range(len(op.operands))]


def _last_registers(steps: Sequence[ScanStep | WarpStep]) -> tuple[Sequence[ScanStep | WarpStep], list[int]]:
    """``steps`` without those over registers at their end, and the bits of these; only if lanes or warps come before."""
    end = len(steps)
    while end and isinstance(step := steps[end - 1], ScanStep) and step.dim == REGISTER:
        end -= 1
    return (
        (steps[:end], [step.bit for step in steps[end:] if isinstance(step, ScanStep)])
        if end
        else (steps, [])
    )


def _runs(steps: Sequence[ScanStep | WarpStep]) -> list[list[ScanStep | WarpStep]]:
    """Steps over lanes that follow each other together, each of the others alone."""
    found: list[list[ScanStep | WarpStep]] = []
    for step in steps:
        if found and _is_lane(step) and _is_lane(found[-1][-1]):
            found[-1].append(step)
        else:
            found.append([step])
    return found


def _is_lane(step: ScanStep | WarpStep) -> bool:
    return isinstance(step, ScanStep) and step.dim == LANE


class _Scan:
    """The scan while its steps run; ``prefix`` and ``block`` by register."""

    def __init__(
        self, ctx: Lowering, op: ir.Operation, combine: Combine, reverse: bool, elements: list[Tuple]
    ) -> None:
        self.ctx, self.op, self.combine, self.reverse = ctx, op, combine, reverse
        self.prefix = elements
        self.block: Sequence[Block] = [Block(element) for element in elements]
        self.used_memory = False
        #: the lanes that have the totals of ``block``; None: all
        self.having: ir.Value | None = None

    def run(self, steps: Sequence[ScanStep | WarpStep], then: ScanStep | WarpStep | None) -> None:
        """Steps over lanes, or one of another kind; ``then`` is the one behind them, if any is."""
        if _is_lane(steps[0]) and self._single():
            self._across_lanes_of_single(
                [1 << step.bit for step in steps if isinstance(step, ScanStep)], then
            )
            return
        for step in steps:
            if isinstance(step, WarpStep):
                self.across_warps(step)
            elif step.dim == REGISTER:
                self.across_registers(step)
            else:
                self.across_lanes(step)

    def _single(self) -> bool:
        """True where each register is a block, whose total is its prefix."""
        return all(
            block.carry is None and block.total is prefix
            for prefix, block in zip(self.prefix, self.block, strict=True)
        ) and len({id(block) for block in self.block}) == len(self.block)

    def _across_lanes_of_single(self, bits: Sequence[int], then: ScanStep | WarpStep | None) -> None:
        """Join blocks of one register, whose last lanes have their totals; all have them where no warps come ``then``."""
        ctx, b, low = self.ctx, self.ctx.b, 0
        for bit in bits:
            later = b.cmp("eq" if self.reverse else "ne", b.and_(ctx.lane, b.int_(bit)), b.int_(0))
            before = partial(ctx.hw.shuffle_before, b, bit=bit, low=low, reverse=self.reverse)
            self.prefix = [self._behind(before, later, values) for values in self.prefix]
            low |= bit
        if isinstance(then, WarpStep):
            self.having = b.cmp("eq", b.and_(ctx.lane, b.int_(low)), b.int_(0 if self.reverse else low))
        totals = self.prefix
        if isinstance(then, ScanStep):
            last = b.and_(ctx.lane, b.int_(~low)) if self.reverse else b.or_(ctx.lane, b.int_(low))
            of_last = partial(ctx.hw.shuffle_idx, b, lane=last)
            totals = [self._moved(values, of_last) for values in self.prefix]
        self.block = [Block(total) for total in totals]

    def _behind(self, before: Callable[[ir.Value], ir.Value], later: ir.Value, values: Tuple) -> Tuple:
        return self._select(later, self.combine(self._moved(values, before), values), values)

    def _moved(self, values: Tuple, move: Callable[[ir.Value], ir.Value]) -> Tuple:
        return tuple(move_words(self.ctx, value, move) for value in values)

    def across_registers(self, step: ScanStep) -> None:
        """Join register r with r ^ bit: what comes later takes the earlier total before itself."""
        bit, prefix, block = 1 << step.bit, list(self.prefix), list(self.block)
        joined: dict[tuple[int, int], tuple[Block, Block]] = {}
        totals: dict[tuple[int, int], Tuple] = {}
        for r in range(len(prefix)):
            if bool(r & bit) != self.reverse:
                continue  # the later one
            earlier, later = self.block[r], self.block[r ^ bit]
            both = (id(earlier.total), id(later.total))
            if both not in totals:
                totals[both] = self.combine(earlier.total, later.total)
            key = (id(earlier), id(later))
            if key not in joined:
                joined[key] = self._join(earlier, later, totals[both])
            block[r], block[r ^ bit] = joined[key]
            if later.carry is None:
                prefix[r ^ bit] = self.combine(earlier.total, prefix[r ^ bit])
        self.prefix, self.block = prefix, block

    def _join(self, earlier: Block, later: Block, total: Tuple) -> tuple[Block, Block]:
        if later.carry is None or later.has_carry is None:
            whole = Block(total)
            return whole, whole
        carry = self._select(later.has_carry, self.combine(earlier.total, later.carry), earlier.total)
        return replace(earlier, total=total), Block(total, carry, self.ctx.b.true())

    def _select(self, condition: ir.Value, yes: Tuple, no: Tuple) -> Tuple:
        return tuple(self.ctx.b.select(condition, y, n) for y, n in zip(yes, no, strict=True))

    def across_lanes(self, step: ScanStep) -> None:
        """Join with the lane that differs in one bit."""
        ctx, b = self.ctx, self.ctx.b
        bit = b.cmp("ne", b.and_(ctx.lane, b.int_(1 << step.bit)), b.int_(0))
        later = b.not_(bit) if self.reverse else bit
        totals: dict[int, tuple[Tuple, Tuple]] = {}
        made: dict[int, Block] = {}
        for block in self.block:
            key = id(block.total)
            if key not in totals:
                other = self._fetch(block.total, 1 << step.bit)
                totals[key] = other, self._total(block.total, other, later)
            if id(block) not in made:
                other, total = totals[key]
                made[id(block)] = self._after(block, other, later, total)
        self.block = [made[id(block)] for block in self.block]
        self._settle()

    def _settle(self) -> None:
        """Put the carries of blocks of a single register before its prefix: nothing is saved by waiting."""
        count = Counter(id(block) for block in self.block)
        alone = [r for r, block in enumerate(self.block) if count[id(block)] == 1]
        prefix, blocks = list(self.prefix), list(self.block)
        for r in alone:
            prefix[r], blocks[r] = self._result(prefix[r], blocks[r]), Block(blocks[r].total)
        self.prefix, self.block = prefix, blocks

    def _fetch(self, values: Tuple, mask: int) -> Tuple:
        return self._moved(values, partial(self.ctx.hw.shuffle_xor, self.ctx.b, mask=mask))

    def _total(self, own: Tuple, other: Tuple, later: ir.Value) -> Tuple:
        return self._select(later, self.combine(other, own), self.combine(own, other))

    def _after(self, block: Block, other: Tuple, later: ir.Value, total: Tuple) -> Block:
        """``block`` joined to a common ``total`` with a block of total ``other``, first where ``later``."""
        if block.carry is None or block.has_carry is None:
            return Block(total, other, later)
        longer = self._select(block.has_carry, self.combine(other, block.carry), other)
        carry = self._select(later, longer, block.carry)
        return Block(total, carry, self.ctx.b.or_(block.has_carry, later))

    def results(self) -> list[Tuple]:
        """The inclusive scan of every register."""
        return [self._result(p, block) for p, block in zip(self.prefix, self.block, strict=True)]

    def results_along(self, bits: Sequence[int]) -> list[Tuple]:
        """The inclusive scan of every register, of which those that differ in ``bits`` follow each other, the lowest bit first."""
        found: dict[int, Tuple] = {}
        before: dict[int, Tuple] = {}  # by the lowest register of those that follow each other
        totals: dict[tuple[int, int], Tuple] = {}
        mask = sum(1 << bit for bit in bits)
        for r in sorted(range(len(self.prefix)), key=lambda r: (_rank(r, bits), r), reverse=self.reverse):
            block, lead = self.block[r], r & ~mask
            running = before.get(lead)
            if running is None:
                found[r], before[lead] = self._result(self.prefix[r], block), block.total
                continue
            carry = running
            if block.carry is not None and block.has_carry is not None:
                carry = self._select(block.has_carry, self.combine(running, block.carry), running)
            found[r] = self.combine(carry, self.prefix[r])
            key = id(running), id(block.total)
            if key not in totals:
                totals[key] = self.combine(running, block.total)
            before[lead] = totals[key]
        return [found[r] for r in range(len(self.prefix))]

    def _result(self, prefix: Tuple, block: Block) -> Tuple:
        if block.carry is None or block.has_carry is None:
            return prefix
        return self._select(block.has_carry, self.combine(block.carry, prefix), prefix)

    # --- across warps -------------------------------------------------------------------------------------

    def across_warps(self, step: WarpStep) -> None:
        """Join with the blocks of all warps that differ in the step's bits, through shared memory."""
        ctx, b = self.ctx, self.ctx.b
        if self.used_memory:
            ctx.barrier()
        self.used_memory = True
        inputs = ctx.inputs()
        start, reached = apply(b, step.slot, inputs)[0], reach(step.slot, list(inputs))[0]
        images = step.slot.images(REGISTER)
        unique = {id(block): (block, image) for block, image in zip(self.block, images, strict=True)}
        bases = self._bases(step)
        totals = [(block.total, offset_by(b, start, reached, image)) for block, image in unique.values()]
        if self.having is None:
            self._write_all(totals, bases)
        else:
            b.if_(self.having, partial(self._write_all, totals, bases))
            self.having = None
        ctx.barrier()
        mine = b.and_(start, b.int_((1 << step.bits) - 1))
        # registers have none of the bits that warps do, so where the joined blocks begin differs by constants as the slots do
        begin = b.and_(start, b.int_(-1 << step.bits))
        # read where they are needed
        self.block = _Joined(
            [id(block) for block in self.block],
            lambda key: self._among(
                unique[key][0],
                self._read(
                    unique[key][0].total, bases, offset_by(b, begin, reached, unique[key][1]), step.bits
                ),
                mine,
            ),
        )

    def _bases(self, step: WarpStep) -> list[ir.Value]:
        b, base, offset, found = self.ctx.b, self.ctx.scratch(self.op), 0, []
        for value in self.prefix[0]:
            found.append(b.gep(base, b.int_(offset), b.i8))
            offset += -(-step.slots * bit_width(memory_type(b, value.type)) // 128) * 16
        return found

    def _write_all(self, totals: Sequence[tuple[Tuple, ir.Value]], bases: list[ir.Value]) -> None:
        for values, slot in totals:
            self._write(values, bases, slot)

    def _write(self, values: Tuple, bases: list[ir.Value], slot: ir.Value) -> None:
        b = self.ctx.b
        for value, base in zip(values, bases, strict=True):
            element = memory_type(b, value.type)
            address = b.gep(base, slot, element)
            self.ctx.hw.store_shared(b, address, to_memory(b, value), None, bit_width(element) // 8)

    def _read(self, like: Tuple, bases: list[ir.Value], first: ir.Value, bits: int) -> list[Tuple]:
        """The totals of the ``2 ** bits`` blocks to be joined, in the order of their coordinates, from slot ``first`` on."""
        b, count = self.ctx.b, 1 << bits
        columns: list[Registers] = []
        for value, base in zip(like, bases, strict=True):
            element = memory_type(b, value.type)
            start = b.gep(base, first, element)
            width = min(count, max(self.ctx.target.spec.max_vector_bits // bit_width(element), 1))
            column: Registers = []
            for i in range(0, count, width):
                address = b.gep(start, b.int_(i), element)
                type_ = b.vector_type(element, width)
                vector = self.ctx.hw.load_shared(b, address, type_, None, width * bit_width(element) // 8)
                column += [from_memory(b, v, value.type) for v in b.unpack(vector)]
            columns.append(column)
        return list(zip(*columns, strict=True))

    def _among(self, block: Block, totals: list[Tuple], mine: ir.Value) -> Block:
        """``block`` joined with all blocks of ``totals``, of which it is number ``mine``."""
        b = self.ctx.b
        order = list(range(len(totals)))[:: -1 if self.reverse else 1]
        before = totals[order[0]]
        carry = before
        for i in order[1:]:
            carry = self._select(b.cmp("eq", mine, b.int_(i)), before, carry)
            before = self.combine(before, totals[i])
        has = b.cmp("ne", mine, b.int_(order[0]))
        return self._after(block, carry, has, before)


def _rank(register: int, bits: Sequence[int]) -> int:
    """The number that ``bits`` of ``register`` make, the first being the lowest."""
    return sum((register >> bit & 1) << place for place, bit in enumerate(bits))


class _Joined(Sequence[Block]):
    """Blocks by register, each made when it is first asked for; registers with one key share a block."""

    def __init__(self, keys: Sequence[int], make: Callable[[int], Block]) -> None:
        self.keys, self.make = keys, make
        self.made: dict[int, Block] = {}

    def __len__(self) -> int:
        return len(self.keys)

    def __getitem__(self, register: Any) -> Any:
        key = self.keys[register]
        if key not in self.made:
            self.made[key] = self.make(key)
        return self.made[key]


RULES: dict[str, Rule] = {"tt.scan": scan}
