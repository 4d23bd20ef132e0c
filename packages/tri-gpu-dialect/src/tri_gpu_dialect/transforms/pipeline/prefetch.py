"""Reads the operands of matrix instructions from their stages one slice along k ahead of the instruction.

    for i: wait(i); copy(i + 2); x = stage(i); y = dot(x, ...)                      k of the dot: two slices

becomes

    wait(0); copy(2); x0 = slice 0 of stage(0)
    for i: x1 = slice 1 of stage(i); y = dot(x0, ...)
           wait(i + 1); copy(i + 3); x0 = slice 0 of stage(i + 1); y = dot(x1, ...)

So no instruction stands right behind the barrier and the reads that it needs: those of the last slice run while the
first slice of the next iteration is on its way.  The head of the loop (the wait, its barrier, the next copies)
moves to its end, one iteration on; reads of a stage still lie between the barrier after its copy's wait and the one
before it is copied to again, so there is one barrier per iteration, as before.

It is done to loops that ``pipeline`` made.  Operands that the instruction itself reads from memory have no
``ttg.local_load`` and stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tri_core.api import Pass, StageContext
from tri_core.dialects.tt import DotOp
from tri_core.ir.dots import Dot
from tri_core.ir.regions import For, loops_in
from tri_core.ir.rewriting import clone_mapped, create_like
from tri_core.ir.traits import is_rematerializable, source_of
from tri_core.ir.views import cast, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_core.remarks import declined
from tri_gpu_dialect import layouts
from tri_gpu_dialect.analysis.layout_rules import encoding_of
from tri_gpu_dialect.base import MemDescType
from tri_gpu_dialect.dialect import (
    AsyncCommitGroupOp,
    AsyncWaitOp,
    LocalLoadOp,
    MemDescIndexOp,
    MemDescTransOp,
)
from tri_gpu_dialect.edit import all_ops, block_ops, functions, terminator
from tri_gpu_dialect.encodings import DotOperand, MatrixEncoding
from tri_gpu_dialect.layouts import REGISTER
from tri_gpu_dialect.policies.gpu import DEFAULT_POLICY, DefaultPolicy
from tri_gpu_dialect.transforms.pipeline.expander import Expander
from tri_gpu_dialect.transforms.pipeline.schedule import Place, Schedule
from tri_gpu_dialect.types import shape_of, tensor_info, tensor_type

__all__ = ["Prefetch"]


@dataclass(frozen=True)
class Prefetch(Pass):
    """See the module; a slice is ``steps`` steps of the instruction along k, or all of k where that is less.

    ``policy.pipeline.prefetch`` says whether the target wants it at all.  A loop stays whose results and two slices of whose
    operands take more than ``policy.pipeline.prefetch_words`` 32-bit words of every thread.
    """

    name: ClassVar[str] = "prefetch"

    steps: int = 1
    policy: DefaultPolicy = DEFAULT_POLICY

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite the pipelined loops of every function of ``module``."""
        if not self.policy.pipeline.prefetch:
            return
        limit = self.policy.pipeline.prefetch_words
        for function in functions(module):
            for loop in loops_in(function):
                plan = _Plan.of(loop, self.steps)
                if plan is None:
                    continue
                words = sum(dot.words for dot in plan.dots)
                if words <= limit:
                    _rotate(loop, plan)
                else:
                    text = "operands are read right before their dots: results and slices take {} registers, {} at most"
                    declined(self.name, loop, text, words, limit)


# --- what there is ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Chain:
    """Path of an operand from a stage: the stage's view ``index``, transposes, the load, casts; ``axis`` is
    k.
    """

    index: ir.Operation
    views: tuple[ir.Operation, ...]
    load: ir.Operation
    casts: tuple[ir.Operation, ...]
    axis: int

    @classmethod
    def of(cls, dot: ir.Operation, number: int) -> _Chain | None:
        """The chain of operand ``number`` of ``dot``, all in its block and for it alone; None without such a one."""
        casts: list[ir.Operation] = []
        op = _maker(dot.operands[number], dot)
        while op is not None and _is_cast(op):
            casts.insert(0, op)
            op = _maker(source_of(op), dot)
        if op is None or not isa(op, LocalLoadOp):
            return None
        load, views = op, list[ir.Operation]()
        op = _maker(source_of(load), dot, alone=False)
        while op is not None and isa(op, MemDescTransOp):
            views.insert(0, op)
            op = _maker(source_of(op), dot, alone=False)
        if (
            op is None
            or not isa(op, MemDescIndexOp)
            or not _is_argument(cast(op, MemDescIndexOp).index, dot.block)
        ):
            return None
        rank = len(shape_of(load.results[0].type))
        return cls(op, tuple(views), load, tuple(casts), rank - 1 - number)

    @property
    def slot(self) -> ir.Value:
        """The number of the stage: an argument of the loop's body."""
        return cast(self.index, MemDescIndexOp).index

    def again(self) -> ir.Value:
        """The view of the stage that the load sees, once more, at the ambient insertion point."""
        view = clone_mapped(self.index, {}).results[0]
        for op in self.views:
            view = clone_mapped(op, {source_of(op): view}).results[0]
        return view

    def read(self, view: ir.Value, start: int, width: int) -> ir.Value:
        """Elements ``[start, start + width)`` along k of ``view``, as the dot takes them."""
        shape = list(view.type.shape)
        if shape[self.axis] != width:
            view = self._part(view, start, width)
        load = self.load.results[0]
        value = ir.Operation.create(
            "ttg.local_load", results=[self._sliced(load.type, width)], operands=[view]
        )
        for each in self.casts:
            type_ = self._sliced(each.results[0].type, width)
            value = create_like(each, operands=[value.results[0]], results=[type_])
        return value.results[0]

    def _part(self, view: ir.Value, start: int, width: int) -> ir.Value:
        whole = view.type
        offsets = [start if d == self.axis else 0 for d in range(len(whole.shape))]
        shape = [width if d == self.axis else n for d, n in enumerate(whole.shape)]
        type_ = MemDescType.of(
            shape, whole.element_type, whole.encoding, mutable=whole.mutable, alloc_shape=whole.alloc_shape
        )
        attributes = {"offsets": ir.DenseI32ArrayAttr.get(offsets)}
        return ir.Operation.create(
            "ttg.memdesc_subslice", results=[type_], operands=[view], attributes=attributes
        ).results[0]

    def _sliced(self, type_: ir.Type, width: int) -> ir.Type:
        info = tensor_info(type_)
        assert info is not None
        shape = [width if d == self.axis else n for d, n in enumerate(info.shape)]
        return tensor_type(shape, info.element_type, info.encoding)


@dataclass(frozen=True)
class _Dot:
    """A dot whose operands both come from stages, in slices of ``width`` of its ``k``."""

    op: ir.Operation
    operands: tuple[_Chain, _Chain]
    k: int
    width: int

    @classmethod
    def of(cls, op: ir.Operation, steps: int) -> _Dot | None:
        encoding, operand = encoding_of(op.results[0]), encoding_of(Dot(op).a)
        if not isinstance(encoding, MatrixEncoding) or not isinstance(operand, DotOperand):
            return None
        left, right = _Chain.of(op, 0), _Chain.of(op, 1)
        if left is None or right is None:
            return None
        k = shape_of(Dot(op).a.type)[-1]
        step = encoding.fragment(0, operand.k_width).out_size("dim1")
        width = min(steps * step, k)
        return cls(op, (left, right), k, width) if k % width == 0 else None

    @property
    def words(self) -> int:
        """32-bit words per thread of the result and of two slices of both operands."""
        slices = sum(_words(v.type) for v in list(self.op.operands)[:2]) * 2 * self.width // self.k
        return _words(self.op.results[0].type) + slices


@dataclass(frozen=True)
class _Plan:
    """A loop's ``head`` (up to its last copies), its ``dots`` in order, and what must move before the last of them."""

    head: tuple[ir.Operation, ...]
    dots: tuple[_Dot, ...]
    early: tuple[ir.Operation, ...]

    @classmethod
    def of(cls, loop: ir.Operation, steps: int) -> _Plan | None:
        """The plan for ``loop``; None if it is none that ``pipeline`` made, or does anything that is in the way."""
        body = loop.regions[0].blocks[0]
        ops = block_ops(body)
        head = _head(ops)
        if not head or not _is_apart(head, body):
            return None
        found = (_Dot.of(op, steps) for op in ops if isa(op, DotOp))
        dots = tuple(dot for dot in found if dot is not None)
        if not dots:
            return None
        place = ops.index(dots[-1].op)
        if any(_touches_memory(op) for op in ops[place:]):
            return None
        needed = [v for op in head for v in op.operands] + [c.slot for dot in dots for c in dot.operands]
        early = _early(needed, body, ops, place)
        return None if early is None else cls(head, dots, early)


def _head(ops: Sequence[ir.Operation]) -> tuple[ir.Operation, ...]:
    """The ops up to the last commit of copies, if they begin with the only wait of the body; else nothing."""
    waits = [i for i, op in enumerate(ops) if isa(op, AsyncWaitOp)]
    commits = [i for i, op in enumerate(ops) if isa(op, AsyncCommitGroupOp)]
    if len(waits) != 1 or not commits or any(not is_rematerializable(op) for op in ops[: waits[0]]):
        return ()
    head = tuple(ops[: commits[-1] + 1])
    return () if any(len(op.regions) for op in head) else head


def _is_apart(head: Sequence[ir.Operation], body: ir.Block) -> bool:
    """True if only ``head`` reads its own results, in this iteration or the next."""
    inside = set(head)
    for result in (r for op in head for r in op.results):
        for use in result.uses:
            user = use.owner.operation
            if user in inside:
                continue
            if user != terminator(body):
                return False
            if any(u.owner.operation not in inside for u in body.arguments[1 + use.operand_number].uses):
                return False
            if next(iter(body.owner.results[use.operand_number].uses), None) is not None:
                return False
    return True


def _early(
    values: Sequence[ir.Value], body: ir.Block, ops: Sequence[ir.Operation], place: int
) -> tuple[ir.Operation, ...] | None:
    """The ops from ``place`` on that the next iteration's ``values`` (arguments) need; None if not all can move."""
    arguments = {a: i - 1 for i, a in enumerate(body.arguments)}
    coming, number = terminator(body).operands, {op: i for i, op in enumerate(ops)}
    ahead = [coming[arguments[v]] for v in values if arguments.get(v, -1) >= 0]
    found: set[ir.Operation] = set()
    while ahead:
        owner = ahead.pop().owner
        op = None if isinstance(owner, ir.Block) else owner.operation
        if op is None or number.get(op, -1) < place or op in found:
            continue
        if not is_rematerializable(op):
            return None
        found.add(op)
        ahead += op.operands
    return tuple(op for op in ops if op in found)


def _maker(value: ir.Value, beside: ir.Operation, *, alone: bool = True) -> ir.Operation | None:
    """The op that makes ``value`` in the block of ``beside``; None for another place, or, ``alone``, more users."""
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.operation.block != beside.block:
        return None
    return owner.operation if not alone or len(list(value.uses)) == 1 else None


def _is_argument(value: ir.Value, block: ir.Block) -> bool:
    return isinstance(value.owner, ir.Block) and value.owner == block


def _is_cast(op: ir.Operation) -> bool:
    """True if ``op`` computes each element from the same element of its one operand."""
    if not is_rematerializable(op) or len(op.operands) != 1 or len(op.results) != 1:
        return False
    source, result = tensor_info(source_of(op).type), tensor_info(op.results[0].type)
    if source is None or result is None:
        return False
    return source.shape == result.shape and source.encoding == result.encoding


def _touches_memory(op: ir.Operation) -> bool:
    """True if ``op`` or anything inside of it takes a memory descriptor."""
    return any(isinstance(v.type, MemDescType) for inner in all_ops(op) for v in inner.operands)


def _words(type_: ir.Type) -> int:
    """32-bit words of every thread that hold a tensor."""
    info = tensor_info(type_)
    assert info is not None
    return layouts.of(type_).in_size(REGISTER) * info.bitwidth // 32


# --- the new loop -----------------------------------------------------------------------------------------


#: clusters of the new loop: the dots but the last piece; the next iteration's head and first slices; the last piece, and what follows it
_PIECES, _NEXT, _LAST = range(3)


def _rotate(loop: ir.Operation, plan: _Plan) -> None:
    """Replace ``loop``: the head and the first slices are a stage of their own, an iteration ahead, before the last piece of a dot."""
    body = For(loop).body
    for op in plan.early:
        op.move_before(plan.dots[-1].op)
    behind = block_ops(body)[len(plan.head)]
    with ir.InsertionPoint(behind), loop.location:
        first = iter([c.read(c.again(), 0, dot.width) for dot in plan.dots for c in dot.operands])
    ahead = block_ops(body)[: block_ops(body).index(behind)]
    last = [_cut(dot, (next(first), next(first))) for dot in plan.dots][-1]
    for chain in (c for dot in plan.dots for c in dot.operands):
        for op in (*chain.casts[::-1], chain.load, *chain.views[::-1], chain.index):
            _erase_unused(op)
    rest = block_ops(body)[len(ahead) : -1]
    place = rest.index(last)
    places = {op: Place(0, _NEXT) for op in ahead}
    places.update((op, Place(1, _PIECES if i < place else _LAST)) for i, op in enumerate(rest))
    Expander(Schedule(loop, places, 2), without=()).run()


def _cut(dot: _Dot, first: tuple[ir.Value, ...]) -> ir.Operation:
    """Replace ``dot`` by one per slice, each slice read before the dot of the one before; gives the last."""
    made, total, slices = dot.op, Dot(dot.op).c, first
    views = [source_of(chain.load) for chain in dot.operands]
    with ir.InsertionPoint(dot.op), dot.op.location:
        for start in range(dot.width, dot.k + dot.width, dot.width):
            operands = [*slices, total]
            if start < dot.k:
                pairs = zip(dot.operands, views, strict=True)
                slices = tuple(chain.read(view, start, dot.width) for chain, view in pairs)
            made = create_like(dot.op, operands=operands)
            total = made.results[0]
    dot.op.results[0].replace_all_uses_with(total)
    dot.op.erase()
    return made


def _erase_unused(op: ir.Operation) -> None:
    if next(iter(op.results[0].uses), None) is None:
        op.erase()
