"""The peeled last iteration of a loop without masks becomes the first one of the loop with masks behind it.

Where loads are masked along k, a loop of dots is two (``split-loops``), and of the first one the last iteration is peeled (``pipeline``):

    for i in low .. mid - 1: next = load(i + 1); y = dot(read(buffer)); buffer = next
    if low < mid: y = dot(read(buffer))
    for i in mid .. high: y = dot(read(alloc(load(i, mask))))

Three copies of the dot.  The last two differ in where the operands come from, so one loop does for both, which loads in all iterations but that one:

    for i in (low < mid ? mid - 1 : mid) .. high:
        if i >= mid: buffer = load(i, mask)
        y = dot(read(buffer))

It runs what the two did, and a branch in each iteration.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import ClassVar

from tri_core.api import Pass, StageContext
from tri_core.ir.dots import is_dot
from tri_core.ir.effects import READ_GLOBAL, has_at_most
from tri_core.ir.regions import For, If, loops_in
from tri_core.ir.rewriting import clone_mapped, for_like, terminator
from tri_core.ir.traits import is_pure
from tri_core.ir.views import cast, defining_op, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_core.remarks import declined
from tri_gpu_dialect.dialect import LocalAllocOp, LocalDeallocOp, LocalLoadOp, LocalStoreOp
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

    ``same``: ops of the loop's body that the peeled iteration has as well; ``buffers``: of what the body reads, by the op that allocates and
    fills it, the buffer that the peeled iteration reads.
    """

    peeled: ir.Operation
    loop: ir.Operation
    same: set[ir.Operation] = field(default_factory=set)
    buffers: dict[ir.Operation, ir.Value] = field(default_factory=dict)

    # --- whether ------------------------------------------------------------------------------------------

    def obstacle(self) -> str | None:
        """Why both stay."""
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
        if not all(
            isa(op, LocalAllocOp) or is_pure(op) or has_at_most(op, READ_GLOBAL) for op in self._loading()
        ):
            return "the loop does more than load"
        if any(isa(op, LocalLoadOp) or is_dot(op) for op in self._before()):
            return "what is loaded depends on the dot"
        return None

    def _between(self) -> Sequence[ir.Operation]:
        ops = block_ops(self.loop.block)
        return ops[ops.index(self.peeled) + 1 : ops.index(self.loop)]

    def _are_same(self, left: ir.Value, right: ir.Value) -> bool:
        """Whether ``left`` of the peeled iteration is computed as ``right`` of the loop's body is, from what either begins with."""
        branch, loop = If(self.peeled), For(self.loop)
        made = None if isinstance(left.owner, ir.Block) else left.owner.operation
        if made is None or made.block != branch.then:
            return left == self._begun_with(right)
        other = None if isinstance(right.owner, ir.Block) else right.owner.operation
        if other is None or other.block != loop.body or (made.name, left.type) != (other.name, right.type):
            return False
        if other in self.same:
            return True
        if isa(made, LocalLoadOp):
            found = self._is_read_alike(made, other)
        else:
            found = (
                is_pure(made)
                and not len(made.regions)
                and _attributes(made) == _attributes(other)
                and _place(left) == _place(right)
                and len(made.operands) == len(other.operands)
                and all(self._are_same(*pair) for pair in zip(made.operands, other.operands, strict=True))
            )
        if found:
            self.same.add(other)
        return found

    def _begun_with(self, value: ir.Value) -> ir.Value:
        """What ``value`` of the loop's body is before the peeled iteration, if the loop carries it."""
        loop, branch = For(self.loop), If(self.peeled)
        if not isinstance(value.owner, ir.Block) or value not in loop.carried:
            return value
        assert branch.otherwise is not None
        return terminator(branch.otherwise).operands[loop.carried.index(value)]

    def _is_read_alike(self, made: ir.Operation, other: ir.Operation) -> bool:
        """Whether ``made`` reads a whole buffer from outside of both, and ``other`` one that is allocated and filled there, which is like it."""
        source = cast(made, LocalLoadOp).src
        filled = defining_op(cast(other, LocalLoadOp).src, LocalAllocOp)
        if filled is None or filled.src is None or filled.operation.block != For(self.loop).body:
            return False
        whole = defining_op(source, LocalAllocOp)
        own, wanted = filled.result.type, source.type
        alike = (own.shape, own.element_type, own.encoding) == (
            wanted.shape,
            wanted.element_type,
            wanted.encoding,
        )
        if whole is None or whole.operation.block == made.block:
            return False
        if not alike or self.buffers.setdefault(filled.operation, source) != source:
            return False
        return all(isa(use.owner.operation, LocalLoadOp) for use in filled.result.uses)

    def _loading(self) -> list[ir.Operation]:
        """What the loop's body does and the peeled iteration does not."""
        return [op for op in block_ops(For(self.loop).body)[:-1] if op not in self.same]

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
            _cloned(before, known)
            is_ahead = less(new.variable, old.lower)
            is_new = build("arith.xori", [is_ahead, integer(is_ahead.type, 1)], [is_ahead.type])
            filled = ir.Operation.create(If.OPERATION_NAME, operands=[is_new], regions=2)
            with ir.InsertionPoint(filled.regions[0].blocks.append()):
                self._load(known)
                ir.Operation.create("scf.yield")
            known.update((op.results[0], buffer) for op, buffer in self.buffers.items())
            _cloned((op for op in block_ops(old.body)[:-1] if op in self.same and op not in before), known)
            ends = terminator(old.body).operands
            ir.Operation.create("scf.yield", operands=[known.get(value, value) for value in ends])

    def _load(self, known: dict[ir.Value, ir.Value]) -> None:
        """Load and fill the buffers, here."""
        for op in self._loading():
            if op in self.buffers:
                source = cast(op, LocalAllocOp).src
                assert source is not None
                stored = known.get(source, source)
                ir.Operation.create(
                    LocalStoreOp.OPERATION_NAME, operands=[stored, self.buffers[op]], loc=op.location
                )
            else:
                clone_mapped(op, known)


def _cloned(ops: Iterable[ir.Operation], known: dict[ir.Value, ir.Value]) -> None:
    for op in ops:
        clone_mapped(op, known)


def _attributes(op: ir.Operation) -> dict[str, str]:
    return {name: str(op.attributes[name]) for name in op.attributes}


def _place(result: ir.Value) -> int:
    """Which result of its op ``result`` is."""
    return ir.OpResult(result).result_number
