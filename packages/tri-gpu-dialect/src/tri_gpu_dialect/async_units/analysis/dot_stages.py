"""A loop's dots in two stages: those that read what other dots gave are *late*, started one iteration after the rest.

    for: s = dot(q, k); p = f(s); acc = dot(p, v, acc)            early: s and p of iteration i + 1, late: acc of iteration i

Late is what a late dot's result reaches, in this iteration or the next ones (the accumulator, scaled before it is added to), the
barriers of the buffers that late dots alone read, and scalars that nothing else needs.  Everything else is early.  What
late ops use of the early ones is *forwarded* on to the next iteration, as few registers as can be.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field

from tri_core.dialects.tt import ReduceOp, ScanOp
from tri_core.ir.effects import (
    ALLOCATE_SHARED,
    ASYNC,
    FREE_SHARED,
    READ_GLOBAL,
    READ_SHARED,
    WRITE_GLOBAL,
    has_at_most,
)
from tri_core.ir.traits import is_cast, is_rematerializable, is_view, replicates, source_of
from tri_core.ir.views import cast, defining_op, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.analysis.pressure import registers_of
from tri_gpu_dialect.async_units.analysis.slicing import Refusal
from tri_gpu_dialect.dialect import (
    ArriveBarrierOp,
    AsyncCopyGlobalToLocalOp,
    ConvertLayoutOp,
    LocalAllocOp,
    LocalLoadOp,
    WarpGroupDotOp,
    WarpGroupDotWaitOp,
)
from tri_gpu_dialect.dialect.markers import LATE
from tri_gpu_dialect.edit import all_ops, block_ops, buffer_of
from tri_gpu_dialect.types import tensor_info

__all__ = ["DotStages", "dot_stages"]

#: barrier op -> its first operand that is a buffer
_BARRIERS = {"ttg.wait_barrier": 2, "ttg.arrive_barrier": 1}
#: effects that early ops may have, in their order
_EARLY = (READ_GLOBAL, WRITE_GLOBAL, READ_SHARED, ALLOCATE_SHARED, FREE_SHARED, ASYNC)


@dataclass(frozen=True)
class DotStages:
    """The ops of ``loop`` by number in its body: ``late`` ones, and those that are ``packs``, done last of the early ones.

    ``late_args``: the carried values that belong to late ops; ``forwarded``: early values, of one iteration, that its late ops
    use; ``registers`` of a thread that these values take, at most.
    """

    loop: ir.Operation
    ops: tuple[ir.Operation, ...]
    late: frozenset[int]
    late_args: frozenset[int]
    forwarded: tuple[ir.Value, ...]
    packs: frozenset[int]
    registers: int

    @property
    def first_dot(self) -> int:
        """The first early dot: late ops may begin when it has been started."""
        return next(i for i, op in enumerate(self.ops) if isa(op, WarpGroupDotOp) and i not in self.late)

    @property
    def late_front(self) -> frozenset[int]:
        """The late ops that need no late dot's result of their own iteration."""
        front: list[int] = []
        made: set[ir.Value] = set()
        for i in sorted(self.late):
            op = self.ops[i]
            used = {v for inner in all_ops(op) for v in inner.operands}
            if isa(op, WarpGroupDotOp) or isa(op, ArriveBarrierOp) or used & made:
                made.update(op.results)
            if not isa(op, ArriveBarrierOp) and not used & made:
                front.append(i)
        return frozenset(front)


def _source(value: ir.Value) -> ir.Value:
    """Original of ``value``, through copies, which share its registers."""
    while (op := defining_op(value)) is not None and replicates(op):
        value = source_of(op)
    return value


def dot_stages(loop: ir.Operation) -> DotStages | Refusal | None:
    """The two stages of ``loop``, a counted loop; None where no dot reads what another gave."""
    body = _Body(loop)
    late_dots = body.dependent_dots()
    if not late_dots:
        return None
    return _Division(body, late_dots).made()


# --- the body of a loop -------------------------------------------------------------------------------------


class _Body:
    """The ops of a loop by number, and who uses what."""

    def __init__(self, loop: ir.Operation) -> None:
        self.loop = loop
        self.block = loop.regions[0].blocks[0]
        *ops, self.end = block_ops(self.block)
        self.ops = ops
        self.number = {op: i for i, op in enumerate(ops)}
        self.arguments = list(self.block.arguments)

    @property
    def dots(self) -> list[int]:
        """The dots that run on their own."""
        return [i for i, op in enumerate(self.ops) if isa(op, WarpGroupDotOp)]

    def users(self, value: ir.Value) -> Iterator[tuple[int | None, int]]:
        """Users of ``value``: the index of an op, or None and the index of the iter_arg that it becomes."""
        for use in value.uses:
            op = use.owner.operation
            if op == self.end:
                yield None, use.operand_number
                continue
            while op.block != self.block:
                op = op.parent.operation
            yield self.number[op], use.operand_number

    def used(self, i: int) -> list[ir.Value]:
        """Values that op ``i`` reads."""
        return [v for inner in all_ops(self.ops[i]) for v in inner.operands]

    def maker(self, value: ir.Value) -> int | None:
        """The number of the op of the body that gives ``value``."""
        if isinstance(value.owner, ir.Block):
            return None
        return self.number.get(value.owner.operation)

    def carried(self, value: ir.Value) -> int | None:
        """The number of ``value`` among what the loop carries."""
        if not isinstance(value.owner, ir.Block) or value.owner != self.block:
            return None
        number: int = ir.BlockArgument(value).arg_number
        return number - 1 if number else None

    def is_inside(self, value: ir.Value) -> bool:
        """True if ``value`` varies from iteration to iteration."""
        if isinstance(value.owner, ir.Block):
            return bool(value.owner == self.block)
        return value.owner.operation in self.number

    def reached(self, values: Iterable[ir.Value], *, around: bool) -> tuple[set[int], set[int]]:
        """The ops that use ``values``, directly or not, and carried values; ``around``: in later iterations too."""
        ops, args = set[int](), set[int]()
        ahead = list(values)
        while ahead:
            for user, operand in self.users(ahead.pop()):
                if user is not None:
                    if user not in ops:
                        ops.add(user)
                        ahead += self.ops[user].results
                elif around and operand not in args:
                    args.add(operand)
                    ahead.append(self.arguments[1 + operand])
        return ops, args

    def needed(self, values: Iterable[ir.Value]) -> tuple[set[int], set[int]]:
        """The ops and carried values that ``values`` are computed from, in earlier iterations too."""
        ops, args = set[int](), set[int]()
        ahead = list(values)
        while ahead:
            value = ahead.pop()
            made, carried = self.maker(value), self.carried(value)
            if made is not None and made not in ops:
                ops.add(made)
                ahead += self.used(made)
            if carried is not None and carried not in args:
                args.add(carried)
                ahead.append(self.end.operands[carried])
        return ops, args

    def dependent_dots(self) -> set[int]:
        """Dots whose operands are computed from another dot's result of the same iteration."""
        found = set()
        for i in self.dots:
            after, _ = self.reached(self.ops[i].results, around=False)
            for j in self.dots:
                operands = list(self.ops[j].operands)[:2]
                if j in after and any(self.maker(v) in after for v in operands):
                    found.add(j)
        return found


def _is_scalar(op: ir.Operation) -> bool:
    """True if ``op`` computes scalars or views of buffers, without side effects."""
    return (is_rematerializable(op) or is_view(op)) and all(tensor_info(r.type) is None for r in op.results)


def _is_packing(op: ir.Operation) -> bool:
    """True if ``op`` converts the type or layout of a register operand: scheduled once the previous operand's
    registers are free.
    """
    return is_cast(op) or isa(op, ConvertLayoutOp)


def _waits(op: ir.Operation) -> list[ir.Operation]:
    """The waits for a dot."""
    return [use.owner.operation for use in op.results[0].uses]


# --- the division -------------------------------------------------------------------------------------------


@dataclass
class _Division:
    """Partition of ops and iter_args into early and late, found by fixpoint iteration."""

    body: _Body
    late_dots: set[int]
    late: set[int] = field(default_factory=set)
    late_args: set[int] = field(default_factory=set)

    def made(self) -> DotStages | Refusal:
        """All of it, or why not."""
        accumulators = [self.body.ops[i].results[0] for i in self.late_dots]
        reached, self.late_args = self.body.reached(accumulators, around=True)
        self.late = self.late_dots | reached
        refusal = self.refused()
        if refusal is not None:
            return refusal
        refusal = self.barriers()
        if refusal is not None:
            return refusal
        self.scalars()
        self.sink()
        forwarded = self.forwarded()
        packs = self.packs(forwarded)
        return DotStages(
            self.body.loop,
            tuple(self.body.ops),
            frozenset(self.late),
            frozenset(self.late_args),
            forwarded,
            packs,
            self.registers(forwarded, packs),
        )

    def refused(self) -> Refusal | None:
        """Refusal because of an op of the body; None if there is none."""
        body = self.body
        if all(i in self.late for i in body.dots):
            return Refusal("every dot of an iteration needs the accumulators of the one before", body.loop)
        for i in body.dots:
            waits = _waits(body.ops[i])
            if len(waits) != 1 or not isa(waits[0], WarpGroupDotWaitOp) or waits[0].block != body.block:
                return Refusal("a dot is under way when its iteration ends", body.ops[i])
        for i, op in enumerate(body.ops):
            reason = self.op_refused(i, op)
            if reason is not None:
                return Refusal(reason, op)
        return self.buffers()

    def op_refused(self, i: int, op: ir.Operation) -> str | None:
        name = op.name
        if (
            isa(op, WarpGroupDotOp, WarpGroupDotWaitOp, ReduceOp, ScanOp)
            or name in _BARRIERS
            or is_rematerializable(op)
            or is_view(op)
        ):
            return None
        if i in self.late:
            return f"{name} needs the accumulator of a dot that would be late"
        return (
            None
            if isa(op, AsyncCopyGlobalToLocalOp) or has_at_most(op, *_EARLY)
            else f"{name} may not move across a dot"
        )

    def buffers(self) -> Refusal | None:
        """Refusal if memory that late dots read is overwritten before the next iteration; None otherwise."""
        read = self.late_roots()
        for op in self.body.ops:
            if isa(op, LocalAllocOp) and op.results[0] in read:
                return Refusal("a buffer of a late dot is filled in the dot's own iteration", op)
            written = (
                buffer_of(cast(op, AsyncCopyGlobalToLocalOp).result)
                if isa(op, AsyncCopyGlobalToLocalOp)
                else None
            )
            if written in read and LATE not in self.body.loop.attributes:
                return Refusal("stages are filled again before a late dot would have read them", op)
        return None

    def late_roots(self) -> set[ir.Value]:
        """The buffers that late dots read."""
        return {root for i in self.body.dots if i in self.late for root in self.roots(i)}

    def roots(self, i: int) -> set[ir.Value]:
        """The buffers that op ``i``, a dot or a load, reads."""
        op = self.body.ops[i]
        number = 2 if isa(op, WarpGroupDotOp) else 1 if isa(op, LocalLoadOp) else 0
        return {buffer_of(v) for v in list(op.operands)[:number] if tensor_info(v.type) is None}

    def barriers(self) -> Refusal | None:
        """Waits are as early as the first read of their buffers, arrivals as late as the last."""
        late = self.late_roots()
        early = {root for i in range(len(self.body.ops)) if i not in self.late for root in self.roots(i)}
        for i, op in enumerate(self.body.ops):
            if op.name not in _BARRIERS:
                continue
            named = {buffer_of(v) for v in list(op.operands)[_BARRIERS[op.name] :]}
            if not named:
                return Refusal("it is unknown what a barrier guards", op)
            if named & late and named & early and any(v.type.shape[0] < 2 for v in named):
                return Refusal("early and late dots read the one stage there is", op)
            is_late = bool(named & late) and (isa(op, ArriveBarrierOp) or not named & early)
            self.late |= {i} if is_late else set()
        return None

    def scalars(self) -> None:
        """Numbers and views that late ops alone need are late, with what else becomes of them."""
        body, ops = self.body, self.body.ops
        anchors = [i for i in range(len(ops)) if i not in self.late and not _is_scalar(ops[i])]
        needed, needed_args = body.needed(v for i in anchors for v in body.used(i))
        ends = [body.end.operands[k] for k in self.late_args]
        wanted, wanted_args = body.needed([*(v for i in self.late for v in body.used(i)), *ends])
        self.late |= {i for i in wanted - needed if _is_scalar(ops[i])}
        self.late_args |= wanted_args - needed_args
        # nothing early needs what they become: it would need them
        values = [r for i in self.late for r in ops[i].results]
        reached, args = body.reached([*values, *(body.arguments[1 + k] for k in self.late_args)], around=True)
        self.late |= reached
        self.late_args |= args

    def uses_are_late(self, value: ir.Value) -> bool:
        """True if all users of ``value`` are late."""
        return all(user is not None and user in self.late for user, _ in self.body.users(value))

    def sink(self) -> None:
        """Make early ops late if all their users are late and they need more registers than their operands."""
        for i in reversed(range(len(self.body.ops))):
            op = self.body.ops[i]
            # a conversion may go through shared memory: a late dot should not wait for that
            if (
                i in self.late
                or not is_rematerializable(op)
                or isa(op, ConvertLayoutOp)
                or len(op.results) != 1
            ):
                continue
            if not self.uses_are_late(op.results[0]):
                continue
            before = sum(registers_of(v) for v in set(op.operands) if not self.is_forwarded(v))
            if registers_of(op.results[0]) > before:
                self.late.add(i)

    def is_forwarded(self, value: ir.Value) -> bool:
        """True if ``value`` is available to late ops anyway."""
        if not self.body.is_inside(value):  # others, after the loop, may use it too
            return True
        return any(user in self.late for user, _ in self.body.users(value) if user is not None)

    def is_early(self, value: ir.Value) -> bool:
        """True if ``value`` belongs to the current iteration and is early."""
        if not self.body.is_inside(value):
            return False
        made, carried = self.body.maker(value), self.body.carried(value)
        return made not in self.late if made is not None else carried not in self.late_args

    def forwarded(self) -> tuple[ir.Value, ...]:
        """Early values that late ops read or that late iter_args become."""
        found = [v for i in sorted(self.late) for v in self.body.used(i) if self.is_early(v)]
        ends = [self.body.end.operands[k] for k in sorted(self.late_args)]
        return tuple(dict.fromkeys([*found, *(v for v in ends if self.is_early(v))]))

    def packs(self, forwarded: tuple[ir.Value, ...]) -> frozenset[int]:
        """The early ops that make operands of late dots of what is computed."""
        operands = {cast(self.body.ops[i], WarpGroupDotOp).a for i in self.body.dots if i in self.late}
        ahead, found = [v for v in forwarded if v in operands], set[int]()
        while ahead:
            value = ahead.pop()
            made = self.body.maker(value)
            users = {user for user, _ in self.body.users(value)}
            if made is None or not _is_packing(self.body.ops[made]) or not users <= (self.late | found):
                continue
            found.add(made)
            ahead += self.body.ops[made].operands
        return frozenset(found)

    def registers(self, forwarded: tuple[ir.Value, ...], packs: frozenset[int]) -> int:
        """Of a thread while both stages run: what is carried and forwarded, the early dots' accumulators, tensors from outside."""
        body = self.body
        inside = [*body.arguments[1:], *forwarded]
        early = [body.ops[i].results[0] for i in body.dots if i not in self.late]
        outside = {_source(v) for i in range(len(body.ops)) for v in body.used(i) if not body.is_inside(v)}
        # an operand that is not packed last is there twice: of this iteration and of the one before
        twice = [
            dot.a
            for dot in (cast(body.ops[i], WarpGroupDotOp) for i in body.dots if i in self.late)
            if body.maker(dot.a) not in packs
        ]
        return sum(registers_of(v) for v in [*inside, *early, *outside, *twice])
