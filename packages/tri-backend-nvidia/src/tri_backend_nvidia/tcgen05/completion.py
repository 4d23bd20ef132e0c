"""Completion of dots: each arrives on one of a ring of barriers in memory, and waits wait for phases of
these.

Dots are counted: number i arrives at barrier ``i % RING``, in its phase ``i // RING``, of which the parity is enough, since a
barrier is used again only when its last phase was waited for.  A wait that leaves n dots under way waits for
number ``count - 1 - n``; before the first one, that is a phase that a fresh barrier takes for complete.  The
count is carried through loops and branches.

All threads wait, one commits: the pass ``insert-tcgen05-barriers`` has them synchronise before each dot, so that nobody is a ring behind.
"""

from __future__ import annotations

from collections.abc import Sequence

from tri_backend_nvidia.tcgen05.accumulators import WAIT
from tri_backend_nvidia.tcgen05.scales import SCALE_SETS
from tri_core.api import Unsupported
from tri_core.ir.regions import For, If, While
from tri_core.ir.rewriting import attributes_of
from tri_core.ir.views import isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.locations import source_location
from tri_core.mlir import ir
from tri_gpu_dialect.base import MemDescType
from tri_gpu_dialect.dialect import WarpGroupDotOp, WarpGroupDotWaitOp
from tri_gpu_dialect.edit import all_ops, block_ops, terminator
from tri_gpu_dialect.encodings import SwizzledShared

__all__ = ["RING", "Completion", "has_scales"]

#: barriers of the ring, a power of two: so many dots may be started between two waits
RING = 8
_BARRIER = SwizzledShared(1, 1, 1, (0,))
_I32_BITS = 32


def _i32(value: int) -> ir.Value:
    type_ = ir.IntegerType.get_signless(_I32_BITS)
    attributes = {"value": ir.IntegerAttr.get(type_, value)}
    return ir.Operation.create("arith.constant", results=[type_], attributes=attributes).results[0]


def _arith(name: str, left: ir.Value, right: int) -> ir.Value:
    made = ir.Operation.create(f"arith.{name}", results=[left.type], operands=[left, _i32(right)])
    return made.results[0]


def has_scales(dot: ir.Operation) -> bool:
    """True if the operands of ``dot`` have block scales."""
    return len(dot.operands) > 4


def _has(op: ir.Operation, *kinds: type[ir.OpView]) -> bool:
    return any(isa(inner, *kinds) for inner in all_ops(op))


@dataclass
class Completion:
    """The ring of one function's barriers."""

    ring: ir.Value

    @classmethod
    def made(cls, function: ir.Operation) -> Completion:
        """A new ring, started where ``function`` begins."""
        i64 = ir.IntegerType.get_signless(64)
        count = ir.IntegerAttr.get(ir.IntegerType.get_signless(_I32_BITS), 1)
        with ir.InsertionPoint.at_block_begin(function.regions[0].blocks[0]), function.location:
            type_ = MemDescType.of((RING, 1), i64, _BARRIER.to_attr(), mutable=True)
            made = cls(ir.Operation.create("ttg.local_alloc", results=[type_]).results[0])
            for stage in range(RING):
                ir.Operation.create(
                    "ttg.init_barrier", operands=[made._barrier(_i32(stage))], attributes={"count": count}
                )
        return made

    def _barrier(self, stage: ir.Value) -> ir.Value:
        type_ = MemDescType.of((1,), self.ring.type.element_type, _BARRIER.to_attr(), mutable=True)
        made = ir.Operation.create("ttg.memdesc_index", results=[type_], operands=[self.ring, stage])
        return made.results[0]

    def count(self, root: ir.Block) -> None:
        """Count the dots in ``root`` from 0, and make their arrivals and the waits for them."""
        _bound(root, 0)
        with ir.InsertionPoint.at_block_begin(root), ir.Location.unknown():
            zero = _i32(0)
        self._block(root, zero)

    def _block(self, block: ir.Block, count: ir.Value) -> ir.Value:
        """Go through ``block``; gives the count at its end."""
        for op in block_ops(block):
            if isa(op, WarpGroupDotOp):
                count = self._commit(op, count)
            elif isa(op, WarpGroupDotWaitOp):
                self._wait(op, count)
            elif len(op.regions) and _has(op, WarpGroupDotOp):
                count = self._region(op, count)
            elif len(op.regions):
                for region in op.regions:
                    for inner in region.blocks:
                        self._block(inner, count)
        return count

    def _commit(self, dot: ir.Operation, count: ir.Value) -> ir.Value:
        if has_scales(dot):
            self._take_turns(dot, count)
        with ir.InsertionPoint.after(dot), dot.location:
            place = self._barrier(_arith("andi", count, RING - 1))
            ir.Operation.create("ttng.tc_gen5_commit", operands=[place])
            return _arith("addi", count, 1)

    def _take_turns(self, dot: ir.Operation, count: ir.Value) -> None:
        """Scales of ``dot`` go to its own set of columns: copies do not follow the dots that read the others."""
        with ir.InsertionPoint(dot), dot.location:
            index = _arith("andi", count, SCALE_SETS - 1)
            for i in (6, 7):
                view = dot.operands[i]
                columns = {"columns": dot.attributes["scale_columns"]}
                made = ir.Operation.create(
                    "ttng.tmem_index", results=[view.type], operands=[view, index], attributes=columns
                )
                dot.operands[i] = made.results[0]

    def _wait(self, wait: ir.Operation, count: ir.Value) -> None:
        pendings = ir.IntegerAttr(wait.attributes["pendings"]).value
        with ir.InsertionPoint(wait), wait.location:
            number = _arith("subi", count, 1 + pendings)
            phase = _arith("andi", _arith("shrsi", number, RING.bit_length() - 1), 1)
            place = self._barrier(_arith("andi", number, RING - 1))
            ir.Operation.create("ttg.wait_barrier", operands=[place, phase])

    # --- control flow: rebuilt with one value more ------------------------------------------------------

    def _region(self, op: ir.Operation, count: ir.Value) -> ir.Value:
        if isa(op, For):
            return self._for(op, count)
        if isa(op, If):
            return self._if(op, count)
        if isa(op, While):
            return self._while(op, count)
        raise Unsupported(
            f"a dot whose accumulator is in tensor memory, in a {op.name}",
            location=source_location(op.location),
        )

    def _for(self, loop: ir.Operation, count: ir.Value) -> ir.Value:
        body = loop.regions[0].blocks[0]
        _drop_unchanged(loop)
        kept = _kept(loop)
        inits = [loop.operands[3 + i] for i in kept]
        bounds = list(loop.operands)[:3]
        yielded = terminator(body).operands
        old = [yielded[i] for i in kept]
        for i in reversed(range(len(loop.results))):
            if i not in kept:
                _drop_yield(body, i)
                body.erase_argument(1 + i)
        carried = body.add_argument(count.type, loop.location)
        made = _rebuilt(loop, [*bounds, *inits, count], [*[v.type for v in old], count.type])
        body.append_to(made.regions[0])
        body = made.regions[0].blocks[0]
        _yield_more(body, self._block(body, carried))
        _hand_over(loop, made, kept)
        return made.results[len(kept)]

    def _if(self, branch: ir.Operation, count: ir.Value) -> ir.Value:
        types = [*[r.type for r in branch.results], count.type]
        made = _rebuilt(branch, list(branch.operands), types)
        for number, region in enumerate(branch.regions):
            if len(region.blocks):
                region.blocks[0].append_to(made.regions[number])
            else:
                with ir.InsertionPoint(made.regions[number].blocks.append()), branch.location:
                    ir.Operation.create("scf.yield")
            block = made.regions[number].blocks[0]
            _yield_more(block, self._block(block, count))
        _hand_over(branch, made, range(len(branch.results)))
        return made.results[len(types) - 1]

    def _while(self, loop: ir.Operation, count: ir.Value) -> ir.Value:
        types = [*[r.type for r in loop.results], count.type]
        before, after = (region.blocks[0] for region in loop.regions)
        first, second = (block.add_argument(count.type, loop.location) for block in (before, after))
        made = _rebuilt(loop, [*loop.operands, count], types)
        before.append_to(made.regions[0])
        after.append_to(made.regions[1])
        before, after = (region.blocks[0] for region in made.regions)
        _yield_more(before, self._block(before, first))
        _yield_more(after, self._block(after, second))
        _hand_over(loop, made, range(len(loop.results)))
        return made.results[len(types) - 1]


def _rebuilt(op: ir.Operation, operands: Sequence[ir.Value], types: Sequence[ir.Type]) -> ir.Operation:
    return ir.Operation.create(
        op.name,
        results=types,
        operands=operands,
        regions=len(op.regions),
        attributes=attributes_of(op),
        ip=ir.InsertionPoint(op),
        loc=op.location,
    )


def _yield_more(block: ir.Block, value: ir.Value) -> None:
    """The terminator of ``block`` forwards ``value``, too."""
    end = terminator(block)
    ir.Operation.create(
        end.name,
        operands=[*end.operands, value],
        attributes=attributes_of(end),
        ip=ir.InsertionPoint(end),
        loc=end.location,
    )
    end.erase()


def _drop_yield(block: ir.Block, index: int) -> None:
    end = terminator(block)
    operands = [v for i, v in enumerate(end.operands) if i != index]
    ir.Operation.create(end.name, operands=operands, ip=ir.InsertionPoint(end), loc=end.location)
    end.erase()


def _hand_over(old: ir.Operation, new: ir.Operation, kept: Sequence[int]) -> None:
    for i, number in enumerate(kept):
        old.results[number].replace_all_uses_with(new.results[i])
    old.erase()


def _is_unchanged(loop: ir.Operation, index: int) -> bool:
    body = loop.regions[0].blocks[0]
    return bool(terminator(body).operands[index] == body.arguments[1 + index])


def _drop_unchanged(loop: ir.Operation) -> None:
    """Replace iter_args that never change by their initial values."""
    body = loop.regions[0].blocks[0]
    for i in range(len(loop.results)):
        if _is_unchanged(loop, i):
            init = loop.operands[3 + i]
            loop.results[i].replace_all_uses_with(init)
            argument = body.arguments[1 + i]
            # where it is loop-carried it stays until that is dropped
            for use in list(argument.uses):
                if (use.owner.operation, use.operand_number) != (terminator(body), i):
                    use.owner.operation.operands[use.operand_number] = init


def _kept(loop: ir.Operation) -> list[int]:
    return [i for i in range(len(loop.results)) if not _is_unchanged(loop, i)]


# --- how many dots are between waits ----------------------------------------------------------------------


def _bound(block: ir.Block, since: int) -> int:
    """See to a wait among any ``RING`` dots that follow each other; ``since`` the last, and at the end of ``block``."""
    for op in block_ops(block):
        if isa(op, WarpGroupDotOp):
            if since >= (SCALE_SETS if has_scales(op) else RING - 1):
                since = _wait_before(op)
            since += 1
        elif isa(op, WarpGroupDotWaitOp):
            since = min(since, ir.IntegerAttr(op.attributes["pendings"]).value)
        elif len(op.regions) and _has(op, WarpGroupDotOp, WarpGroupDotWaitOp):
            since = _bound_inside(op, since)
    return since


def _bound_inside(op: ir.Operation, since: int) -> int:
    blocks = [block for region in op.regions for block in region.blocks]
    if isa(op, If):
        return max([since, *[_bound(block, since) for block in blocks]])
    for block in blocks:
        # what the last iteration leaves must be no more than what this one started from
        start = max(since, _least(block))
        if _bound(block, start) > start:
            _wait_before(terminator(block))
        since = max(since, start)
    return since


def _least(block: ir.Block) -> int:
    """Largest number of dots that the waits of ``block`` leave pending; 0 without waits."""
    found = [
        ir.IntegerAttr(op.attributes["pendings"]).value
        for op in block_ops(block)
        if isa(op, WarpGroupDotWaitOp)
    ]
    return max(found, default=0)


def _wait_before(op: ir.Operation) -> int:
    none = ir.IntegerAttr.get(ir.IntegerType.get_signless(_I32_BITS), 0)
    ir.Operation.create(WAIT, attributes={"pendings": none}, ip=ir.InsertionPoint(op), loc=op.location)
    return 0
