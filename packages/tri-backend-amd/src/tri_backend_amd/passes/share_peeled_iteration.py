"""The peeled last iteration of a loop without masks becomes the first one of the loop with masks behind it.

Where loads are masked along k, a loop of dots is two (``split-loops``), and of the first one the last iteration is peeled (``pipeline``):

    for i in low .. mid - 1: next = load(i + 1); y = dot(read(buffer)); buffer = next
    if low < mid: y = dot(read(buffer))
    for i in mid .. high: y = dot(read(alloc(load(i, mask))))

Three copies of the dot.  The last two differ in where the operands come from, so one loop does for both, which loads in all iterations but that one:

    for i in (low < mid ? mid - 1 : mid) .. high:
        if i >= mid: buffer = load(i, mask)
        y = dot(read(buffer))

It runs what the two did, and a branch in each iteration.  What the peeled iteration finds in registers is the branch's other result.  Choices by a
mask that is known to hold in the peeled iteration (``ttg.held_before``) may be there in the loop alone: the diagonal of causal attention.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import ClassVar

from tri_core.api import Pass, StageContext
from tri_core.dialects.tt import LoadOp, TransOp
from tri_core.ir.dots import is_dot
from tri_core.ir.effects import READ_GLOBAL, has_at_most
from tri_core.ir.regions import For, If, loops_in
from tri_core.ir.rewriting import clone_mapped, for_like, terminator
from tri_core.ir.traits import is_pure, moves_data, source_of
from tri_core.ir.views import cast, defining_op, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import arith, ir
from tri_core.remarks import declined
from tri_gpu_dialect.dialect import LocalAllocOp, LocalDeallocOp, LocalLoadOp, LocalStoreOp, MemDescTransOp
from tri_gpu_dialect.dialect.markers import HELD_BEFORE
from tri_gpu_dialect.edit import block_ops, functions
from tri_gpu_dialect.transforms.pipeline.building import build, integer, less, subtract

__all__ = ["SharePeeledIteration"]


@dataclass(frozen=True)
class SharePeeledIteration(Pass):
    """See the module; at ``ttgir.end``, where loops are pipelined and buffers have no place yet."""

    name: ClassVar[str] = "amdg-share-peeled-iteration"

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite the loops behind a peeled iteration of every function of ``module``."""
        for function in functions(module):
            for loop in [each for each in loops_in(function) if isa(each, For)]:
                peeled = _peeled_before(loop)
                if peeled is None:
                    continue
                plan = _Plan(peeled, loop)
                if why := plan.obstacle():
                    declined(self.name, loop, "the peeled iteration before this loop stays: {}", why)
                else:
                    plan.rewrite()


def _peeled_before(loop: ir.Operation) -> ir.Operation | None:
    """The ``scf.if`` with a dot and no loop whose results, in their order, are all that ``loop`` begins with."""
    inits = For(loop).inits
    made = defining_op(inits[0]) if inits else None
    if made is None or not isa(made, If) or made.block != loop.block or inits != list(made.results):
        return None
    branch = If(made)
    if branch.otherwise is None or not any(is_dot(op) for op in block_ops(branch.then)):
        return None
    return made


@dataclass(frozen=True)
class _Plan:
    """The iteration that ``peeled`` does and those of ``loop``.

    ``same``: ops of the loop's body that the peeled iteration has as well, or that it need not have; ``pairs``: values of
    both that are the same; ``buffers``: of tensors that
    the body puts into buffers, those where the peeled iteration finds them, ``filling`` being what did that; ``sources``: of what the body reads, what
    the peeled iteration does; ``registers``: of what the body loads, and of its variable, what the peeled iteration has in its place.
    """

    peeled: ir.Operation
    loop: ir.Operation
    same: set[ir.Operation] = field(default_factory=set)
    pairs: set[tuple[ir.Value, ir.Value]] = field(default_factory=set)
    buffers: dict[ir.Value, ir.Value] = field(default_factory=dict)
    filling: set[ir.Operation] = field(default_factory=set)
    sources: dict[ir.Value, ir.Value] = field(default_factory=dict)
    registers: dict[ir.Value, ir.Value] = field(default_factory=dict)

    # --- whether ------------------------------------------------------------------------------------------

    def obstacle(self) -> str | None:
        """Reason that both stay; None if there is none."""
        branch, body = If(self.peeled), For(self.loop).body
        assert branch.otherwise is not None
        if "unsignedCmp" in self.loop.attributes:
            return "the loop counts in unsigned order"
        if block_ops(branch.otherwise)[:-1]:
            return "more than its results depend on whether there is one"
        if any(use.owner.operation != self.loop for value in self.peeled.results for use in value.uses):
            return "its results are used elsewhere"
        if not all(is_pure(op) or isa(op, LocalDeallocOp) for op in self._between()):
            return "something else happens between them"
        ends = zip(terminator(branch.then).operands, terminator(body).operands, strict=True)
        if not all(self._are_same(left, right) for left, right in ends):
            return "it computes something else"
        if self._fills_others() or not all(
            is_pure(op) or has_at_most(op, READ_GLOBAL) for op in self._loading()
        ):
            return "the loop does more than load"
        if any(isa(op, LocalLoadOp) or is_dot(op) for op in self._before()):
            return "what is loaded depends on the dot"
        return None

    def _between(self) -> Sequence[ir.Operation]:
        ops = block_ops(self.loop.block)
        return ops[ops.index(self.peeled) + 1 : ops.index(self.loop)]

    def _are_same(self, left: ir.Value, right: ir.Value) -> bool:
        """True if ``left`` of the peeled iteration is computed as ``right`` of the loop's body is, from the
        initial values of each.
        """
        branch, loop = If(self.peeled), For(self.loop)
        if right == loop.variable:
            return self._is_number_of_iteration(left)
        if (left, right) in self.pairs:
            return True
        made, other = _maker(left, branch.then), _maker(right, loop.body)
        if made is None:
            return left == self._begun_with(right) or self._is_in_registers(left, other)
        if other is None or left.type != right.type:
            return False
        if (choice := self._held_choice(other)) is not None:
            found = self._are_same(left, choice)
        else:
            found = isa(other, type(made.opview)) and self._do_same(
                made, other, _place(left) == _place(right)
            )
        if found:
            self.same.add(other)
            self.pairs.add((left, right))
        return found

    def _do_same(self, made: ir.Operation, other: ir.Operation, same_result: bool) -> bool:
        if isa(made, LocalLoadOp) and _maker(cast(made, LocalLoadOp).src, If(self.peeled).then) is None:
            return self._is_read_alike(cast(made, LocalLoadOp), cast(other, LocalLoadOp))
        if isa(made, LoadOp):
            return self._is_loaded_alike(cast(made, LoadOp), cast(other, LoadOp))
        return (
            (is_pure(made) or isa(made, LocalAllocOp, LocalLoadOp))
            and _have_same_regions(made, other)
            and _attributes(made) == _attributes(other)
            and same_result
            and len(made.operands) == len(other.operands)
            and all(self._are_same(*pair) for pair in zip(made.operands, other.operands, strict=True))
        )

    def _is_number_of_iteration(self, left: ir.Value) -> bool:
        """True if ``left`` is a scalar that is known before the peeled iteration."""
        chain = _chain(left, If(self.peeled).then)
        return (
            all(is_pure(op) and not len(op.regions) for op in chain)
            and self.registers.setdefault(For(self.loop).variable, left) == left
        )

    def _is_in_registers(self, left: ir.Value, other: ir.Operation | None) -> bool:
        """True if the loop's ``other`` loads the value that the peeled iteration has as ``left``."""
        if (
            other is None
            or not isa(other, LoadOp)
            or left.type != other.results[0].type
            or other in self.same
        ):
            return False
        return self.registers.setdefault(other.results[0], left) == left

    def _held_choice(self, other: ir.Operation) -> ir.Value | None:
        """Value of ``other``, a select or a conjunction, in the peeled iteration, by a mask that is known to
        hold there; None for other ops.
        """
        if isa(other, arith.SelectOp) and self._holds(cast(other, arith.SelectOp).condition):
            chosen = cast(other, arith.SelectOp)
            held, given, unused = chosen.condition, chosen.true_value, [chosen.false_value]
        elif isa(other, arith.AndIOp) and any(self._holds(each) for each in other.operands):
            (held, given), unused = sorted(other.operands, key=lambda each: not self._holds(each)), []
        else:
            return None
        return given if self._computes_beside(held, *unused) else None

    def _computes_beside(self, *values: ir.Value) -> bool:
        """True if the shared iteration may compute ``values`` of the loop as well; they are then added."""
        chain = [op for value in values for op in _chain(value, For(self.loop).body)]
        if not all(is_pure(op) and not len(op.regions) for op in chain):
            return False
        self.same.update(chain)
        return True

    def _holds(self, mask: ir.Value) -> bool:
        """True if the loop's ``mask`` is known to hold for all elements in the iterations before."""
        made = _maker(mask, For(self.loop).body)
        if made is None:
            return False
        if isa(made, arith.AndIOp) or (moves_data(made) and len(made.operands) == 1):
            return all(self._holds(each) for each in made.operands)
        return HELD_BEFORE in made.attributes

    def _is_loaded_alike(self, made: LoadOp, other: LoadOp) -> bool:
        """True if ``made`` loads the elements that ``other`` does, with a mask that is known to hold."""
        ignored = ("operandSegmentSizes",)
        if made.mask is not None or _attributes(made.operation, ignored) != _attributes(
            other.operation, ignored
        ):
            return False
        if not has_at_most(other.operation, READ_GLOBAL) or other.operation.results[0] in self.registers:
            return False
        if not self._are_same(made.ptr, other.ptr):
            return False
        if other.mask is None:
            return True
        masked = [each for each in (other.mask, other.other) if each is not None]
        return self._holds(other.mask) and self._computes_beside(*masked)

    def _begun_with(self, value: ir.Value) -> ir.Value:
        """Initial value, before the peeled iteration, of ``value`` of the loop's body, if the loop carries
        it.
        """
        loop, branch = For(self.loop), If(self.peeled)
        if not isinstance(value.owner, ir.Block) or value not in loop.carried:
            return value
        assert branch.otherwise is not None
        return terminator(branch.otherwise).operands[loop.carried.index(value)]

    def _is_read_alike(self, made: LocalLoadOp, other: LocalLoadOp) -> bool:
        """True if ``made`` reads a whole buffer from outside of both, and ``other`` one that is filled in the
        loop, whose elements fit that as well.
        """
        body = For(self.loop).body
        found, own = _filled(other.src, body), _turned(made.src)
        if found is None or _maker(made.src, If(self.peeled).then) is not None:
            return False
        whole = defining_op(own.value, LocalAllocOp)
        type_, wanted = found.value.type, own.value.type
        if whole is None or whole.src is not None or found.turns != own.turns:
            return False
        if (list(type_.shape), type_.element_type) != (list(wanted.shape), wanted.element_type):
            return False
        if any(
            (value == found.value) != (buffer == own.value) for value, buffer in self.buffers.items()
        ):  # the buffer holds one tensor
            return False
        self.buffers[found.value] = own.value
        self.filling.update(found.ops)
        self.sources[other.src] = made.src
        return True

    def _loading(self) -> list[ir.Operation]:
        """Ops of the loop's body that the peeled iteration lacks, except those that fill buffers of its own."""
        return [
            op for op in block_ops(For(self.loop).body)[:-1] if op not in self.same and op not in self.filling
        ]

    def _fills_others(self) -> bool:
        """True if the loop reads, outside of the common part, a buffer without a counterpart."""
        return any(
            use.owner.operation not in self.same and use.owner.operation not in self.filling
            for op in self.filling
            for result in op.results
            for use in result.uses
        )

    def _before(self) -> list[ir.Operation]:
        """Ops of both that what is loaded is computed from."""
        found, ahead = set[ir.Operation](), list(self._loading())
        while ahead:
            for value in ahead.pop().operands:
                op = None if isinstance(value.owner, ir.Block) else value.owner.operation
                if op in self.same and op not in found:
                    found.add(op)
                    ahead.append(op)
        return [op for op in block_ops(For(self.loop).body) if op in found]

    # --- the new loop -------------------------------------------------------------------------------------

    def rewrite(self) -> None:
        """Put one loop in place of both."""
        old, branch = For(self.loop), If(self.peeled)
        assert branch.otherwise is not None
        with ir.InsertionPoint(self.loop), self.loop.location:
            first = build(
                "arith.select", [branch.condition, subtract(old.lower, old.step), old.lower], [old.lower.type]
            )
            end = build("arith.maxsi", [old.lower, old.upper], [old.upper.type])
            made = for_like(self.loop, [first, end, old.step], list(terminator(branch.otherwise).operands))
        self._fill(made)
        for freed in [op for op in self._between() if isa(op, LocalDeallocOp)]:
            freed.move_after(made)
        for result, new in zip(self.loop.results, made.results, strict=True):
            result.replace_all_uses_with(new)
        self.loop.erase()
        self.peeled.erase()

    def _fill(self, made: ir.Operation) -> None:
        """The body of the new loop ``made``."""
        old, new, before = For(self.loop), For(made), self._before()
        known = dict(zip(old.body.arguments, new.body.arguments, strict=True))
        with ir.InsertionPoint(new.body), self.loop.location:
            is_ahead = less(new.variable, old.lower)
            if old.variable in self.registers:
                number = self.registers[old.variable]
                known[old.variable] = build(
                    "arith.select", [is_ahead, self._outside(number), new.variable], [number.type]
                )
            _cloned(before, known)
            is_new = build("arith.xori", [is_ahead, integer(is_ahead.type, 1)], [is_ahead.type])
            self._fill_or_keep(is_new, known)
            known.update(self.sources)
            _cloned((op for op in block_ops(old.body)[:-1] if op in self.same and op not in before), known)
            ends = terminator(old.body).operands
            ir.Operation.create("scf.yield", operands=[known.get(value, value) for value in ends])

    def _outside(self, value: ir.Value) -> ir.Value:
        """``value``, a number of the peeled iteration, before the new loop; it stands before the old one."""
        known: dict[ir.Value, ir.Value] = {}
        with ir.InsertionPoint(self.peeled), self.peeled.location:
            _cloned(_chain(value, If(self.peeled).then), known)
        return known.get(value, value)

    def _fill_or_keep(self, is_new: ir.Value, known: dict[ir.Value, ir.Value]) -> None:
        """Load where ``is_new``; else what is in registers stays."""
        kept = {value: own for value, own in self.registers.items() if value != For(self.loop).variable}
        types = [value.type for value in kept]
        filled = ir.Operation.create(If.OPERATION_NAME, results=types, operands=[is_new], regions=2)
        with ir.InsertionPoint(filled.regions[0].blocks.append()):
            inside = dict(known)
            self._load(inside)
            ir.Operation.create("scf.yield", operands=[inside[value] for value in kept])
        if kept:
            with ir.InsertionPoint(filled.regions[1].blocks.append()):
                ir.Operation.create("scf.yield", operands=list(kept.values()))
        known.update(zip(kept, filled.results, strict=True))

    def _load(self, known: dict[ir.Value, ir.Value]) -> None:
        """Load and fill the buffers, here: all loads are under way before the first is waited for."""
        _cloned(self._loading(), known)
        for value, buffer in self.buffers.items():
            ir.Operation.create(
                LocalStoreOp.OPERATION_NAME,
                operands=[known.get(value, value), buffer],
                loc=self.loop.location,
            )


@dataclass(frozen=True)
class _Turned:
    """A ``value`` whose dimensions are permuted by ``turns``, one after the other, which ``ops`` do."""

    value: ir.Value
    turns: tuple[str, ...] = ()
    ops: tuple[ir.Operation, ...] = ()


def _turned(value: ir.Value, kind: type[ir.OpView] = MemDescTransOp) -> _Turned:
    """``value`` as what it is made of by ops of ``kind``."""
    ops: list[ir.Operation] = []
    while (made := defining_op(value)) is not None and isa(made, kind):
        ops.insert(0, made)
        value = source_of(made)
    return _Turned(value, tuple(str(op.attributes["order"]) for op in ops), tuple(ops))


def _filled(source: ir.Value, block: ir.Block) -> _Turned | None:
    """The tensor that ``source``, a buffer allocated in ``block`` for it, is filled with; None: it isn't known to be one."""
    seen = _turned(source)
    filled = defining_op(seen.value, LocalAllocOp)
    if filled is None or filled.src is None or filled.operation.block != block:
        return None
    stored = _turned(filled.src, TransOp)
    return _Turned(stored.value, stored.turns + seen.turns, (filled.operation, *seen.ops))


def _cloned(ops: Iterable[ir.Operation], known: dict[ir.Value, ir.Value]) -> None:
    for op in ops:
        clone_mapped(op, known)


def _maker(value: ir.Value, block: ir.Block) -> ir.Operation | None:
    """The op of ``block`` that makes ``value``; None: it is known before, or carried."""
    op = None if isinstance(value.owner, ir.Block) else value.owner.operation
    return op if op is not None and op.block == block else None


def _chain(value: ir.Value, block: ir.Block) -> list[ir.Operation]:
    """The ops of ``block`` that ``value`` is computed by, in order."""
    found, ahead = set[ir.Operation](), [value]
    while ahead:
        op = _maker(ahead.pop(), block)
        if op is not None and op not in found:
            found.add(op)
            ahead += list(op.operands)
    return [op for op in block_ops(block) if op in found] if found else []


def _have_same_regions(left: ir.Operation, right: ir.Operation) -> bool:
    """True if the regions of both, as of reductions, have one block each with equal ops, without nested
    regions, on their arguments and constants of their own.
    """
    blocks = [[list(region.blocks) for region in op.regions] for op in (left, right)]
    return len(blocks[0]) == len(blocks[1]) and all(
        len(one) == len(other) == 1 and _do_same_alone(one[0], other[0])
        for one, other in zip(*blocks, strict=True)
    )


def _do_same_alone(left: ir.Block, right: ir.Block) -> bool:
    ops, others = block_ops(left), block_ops(right)
    if len(ops) != len(others) or [a.type for a in left.arguments] != [a.type for a in right.arguments]:
        return False
    known = dict(zip(left.arguments, right.arguments, strict=True))
    for op, other in zip(ops, others, strict=True):
        same = (op.name, _attributes(op), [r.type for r in op.results]) == (
            other.name,
            _attributes(other),
            [r.type for r in other.results],
        )
        if not same or len(op.regions) or [known.get(v, v) for v in op.operands] != list(other.operands):
            return False
        known.update(zip(op.results, other.results, strict=True))
    return True


def _attributes(op: ir.Operation, ignored: Sequence[str] = ()) -> dict[str, str]:
    return {name: str(op.attributes[name]) for name in op.attributes if name not in ignored}


def _place(result: ir.Value) -> int:
    """Index of ``result`` among its op's results."""
    return ir.OpResult(result).result_number
