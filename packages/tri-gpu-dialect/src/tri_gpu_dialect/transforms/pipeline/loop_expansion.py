"""The expansion of a pipelined loop: copies for the first iterations, the steady loop, and its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tri_core.dialects.tt import LoadOp
from tri_core.ir.rewriting import attributes_of, for_like
from tri_core.ir.traits import is_rematerializable, source_of
from tri_core.ir.views import isa
from tri_core.mlir import ir
from tri_gpu_dialect.analysis.pipeline_schedule import Schedule
from tri_gpu_dialect.base import MemDescType
from tri_gpu_dialect.dialect import LocalDeallocOp
from tri_gpu_dialect.dialect.markers import LATE
from tri_gpu_dialect.edit import all_ops, block_ops, terminator
from tri_gpu_dialect.encodings import SharedEncoding
from tri_gpu_dialect.transforms.layout.rematerialize import rematerialized
from tri_gpu_dialect.transforms.pipeline.copy_buffers import CopyBuffer, readers, transposed
from tri_gpu_dialect.transforms.pipeline.rings import Rings
from tri_gpu_dialect.types import tensor_info, tensor_type

__all__ = ["Expansion", "build", "cloned", "compare", "drop_dead", "integer"]


def build(
    name: str,
    operands: Sequence[ir.Value],
    results: Sequence[ir.Type],
    attributes: dict[str, ir.Attribute] | None = None,
) -> ir.Value:
    """A new op at the ambient insertion point; its first result."""
    return ir.Operation.create(name, results=results, operands=operands, attributes=attributes).results[0]


def integer(type_: ir.Type, value: int) -> ir.Value:
    """The constant ``value`` of ``type_``, at the ambient insertion point."""
    return build("arith.constant", [], [type_], {"value": ir.IntegerAttr.get(type_, value)})


def compare(predicate: int, a: ir.Value, b: ir.Value) -> ir.Value:
    """The comparison of two integers by MLIR's number of its ``predicate``, at the ambient insertion point."""
    kind = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), predicate)
    return build("arith.cmpi", [a, b], [ir.IntegerType.get_signless(1)], {"predicate": kind})


def _also(mask: ir.Value | None, live: ir.Value, type_: ir.Type) -> ir.Value:
    """``mask``, where there is one, off where not ``live``."""
    everywhere = build("tt.splat", [live], [type_])
    return everywhere if mask is None else build("arith.andi", [mask, everywhere], [type_])


_EQ, _SLT = 0, 2


@dataclass
class Expansion:
    """One loop being pipelined."""

    loop: ir.Operation
    plan: Schedule
    buffers: list[CopyBuffer]
    rings: Rings
    memory: list[ir.Value] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.body = self.loop.regions[0].blocks[0]
        self.lower, self.upper, self.step = list(self.loop.operands)[:3]
        self.inits = list(self.loop.operands)[3:]
        self.i32 = ir.IntegerType.get_signless(32)
        self.token = ir.Type.parse("!ttg.async_token")
        self.stages = self.rings.stages
        self.depths = [self.rings.depth(number) for number in range(len(self.buffers))]

    def run(self) -> None:
        """Replace the loop."""
        with ir.InsertionPoint(self.loop), self.loop.location:
            self.memory = [self.allocated(number) for number in range(len(self.buffers))]
            ahead = self.prologue()
            distance = build(
                "arith.muli", [integer(self.step.type, self.stages - 1), self.step], [self.step.type]
            )
            limit = build("arith.subi", [self.upper, distance], [self.upper.type])
            made = self.steady(ahead, distance, limit)
        with ir.InsertionPoint.after(made), self.loop.location:
            self.wait(0)
            for buffer in self.memory:
                ir.Operation.create("ttg.local_dealloc", operands=[buffer])
        for old, new in zip(self.loop.results, made.results, strict=False):
            old.replace_all_uses_with(new)
        self.loop.erase()
        drop_dead(made)

    def allocated(self, number: int) -> ir.Value:
        """The stages of load ``number``."""
        info = tensor_info(self.plan.loads[number].results[0].type)
        assert info is not None
        attr = self.buffers[number].encoding.to_attr()
        type_ = MemDescType.of((self.depths[number], *info.shape), info.element_type, attr, mutable=True)
        return build("ttg.local_alloc", [], [type_])

    def stage(self, number: int, index: ir.Value) -> ir.Value:
        """The view of stage ``index`` of load ``number``."""
        info = tensor_info(self.plan.loads[number].results[0].type)
        assert info is not None
        attr = self.buffers[number].encoding.to_attr()
        type_ = MemDescType.of(info.shape, info.element_type, attr, mutable=True)
        return build("ttg.memdesc_index", [self.memory[number], index], [type_])

    def wait(self, groups: int) -> None:
        """Until at most ``groups`` groups of copies are under way."""
        build("ttg.async_wait", [], [self.token], {"num": ir.IntegerAttr.get(self.i32, groups)})

    def prologue(self) -> list[ir.Value]:
        """The first copies; gives the carried values that the next ones start from."""
        index, ahead = self.lower, [self.inits[i] for i in self.plan.carried]
        for number in range(self.stages - 1):
            live = compare(_SLT, index, self.upper)
            stage = integer(self.i32, number)
            ahead = self.issue(index, ahead, live, dict.fromkeys(self.depths, stage))
            if number + 2 < self.stages:
                index = build("arith.addi", [index, self.step], [index.type])
        return ahead

    def issue(
        self, index: ir.Value, ahead: Sequence[ir.Value], live: ir.Value, stages: Mapping[int, ir.Value]
    ) -> list[ir.Value]:
        """The first stage at induction value ``index``, where ``live``; gives what it hands to its next time.

        ``stages``: the number of the stage that is filled, for each depth of rings.
        """
        body = self.body.arguments
        known: dict[ir.Value, ir.Value] = {body[0]: index}
        known.update((body[1 + i], value) for i, value in zip(self.plan.carried, ahead, strict=True))
        tokens = []
        for op in self.plan.ops:
            operands = [known.get(v, v) for v in op.operands]
            if op in self.plan.loads:
                depth = self.depths[self.plan.loads.index(op)]
                tokens.append(self.copy(op, known, live, stages[depth]))
                if not self.is_needed_ahead(op):
                    continue
            made = self.masked_load(op, known, live) if isa(op, LoadOp) else cloned(op, operands)
            known.update(zip(op.results, made.results, strict=True))
        build("ttg.async_commit_group", tokens, [self.token])
        coming = terminator(self.body).operands
        return [known.get(coming[i], coming[i]) for i in self.plan.carried]

    def is_needed_ahead(self, load: ir.Operation) -> bool:
        """Whether the first stage itself reads what ``load`` gives."""
        first = {op.results[0] for op in self.plan.ops}
        users = [use.owner.operation for use in load.results[0].uses]
        return any(user.results and user.results[0] in first for user in users)

    def mask(self, load: ir.Operation, known: dict[ir.Value, ir.Value], live: ir.Value) -> ir.Value:
        """The mask of ``load``, off where its iteration does not exist; a scalar for a scalar."""
        view, info = load.opview, tensor_info(load.results[0].type)
        given = None if view.mask is None else known.get(view.mask, view.mask)
        if info is None:
            return live if given is None else build("arith.andi", [given, live], [live.type])
        return _also(given, live, tensor_type(info.shape, live.type, info.encoding))

    def copy(
        self, load: ir.Operation, known: dict[ir.Value, ir.Value], live: ir.Value, stage: ir.Value
    ) -> ir.Value:
        """``load`` as a copy to ``stage``; its token."""
        view, number = load.opview, self.plan.loads.index(load)
        spread = self.buffers[number].spread
        if spread is None:
            mask = self.mask(load, known, live)
            pointers, *others = (known.get(v, v) for v in (view.ptr, view.other) if v is not None)
        else:
            pointers, *others = (
                rematerialized(v, spread, known) for v in (view.ptr, view.other) if v is not None
            )
            given = None if view.mask is None else rematerialized(view.mask, spread, known)
            mask = _also(given, live, tensor_type(load.results[0].type.shape, live.type, spread))
        operands = [pointers, self.stage(number, stage), mask, *others]
        sizes = ir.DenseI32ArrayAttr.get([1, 1, 1, int(view.other is not None)])
        attributes = attributes_of(load, {"operandSegmentSizes": sizes})
        return build("ttg.async_copy_global_to_local", operands, [self.token], attributes)

    def masked_load(
        self, load: ir.Operation, known: dict[ir.Value, ir.Value], live: ir.Value
    ) -> ir.Operation:
        """``load`` in the first stage."""
        view = load.opview
        operands = [known.get(view.ptr, view.ptr), self.mask(load, known, live)]
        if view.other is not None:
            operands.append(known.get(view.other, view.other))
        sizes = ir.DenseI32ArrayAttr.get([1, 1, int(view.other is not None)])
        attributes = attributes_of(load, {"operandSegmentSizes": sizes})
        types = [r.type for r in load.results]
        return ir.Operation.create("tt.load", results=types, operands=operands, attributes=attributes)

    # --- the loop that remains ----------------------------------------------------------------------------

    def steady(self, ahead: Sequence[ir.Value], distance: ir.Value, limit: ir.Value) -> ir.Operation:
        """The new loop: it carries what the old one did, the first stage's values, and the stages' numbers."""
        # the stage that is filled next, and the one that is read next, for each depth of rings
        depths = sorted(set(self.depths))
        numbers = [integer(self.i32, n) for depth in depths for n in ((self.stages - 1) % depth, 0)]
        carried = [*self.inits, *ahead, *numbers]
        # dots may stay under way into the next iteration
        late = {LATE: ir.UnitAttr.get()} if self.rings.is_late else {}
        made = for_like(
            self.loop,
            [self.lower, self.upper, self.step],
            carried,
            attributes=late,
            without={"tt.num_stages"},
        )
        block = made.regions[0].blocks[0]
        count, end = len(self.inits), len(carried) - len(numbers)
        with ir.InsertionPoint(block):
            index, *inner = block.arguments
            own, first, stage = inner[:count], inner[count:end], inner[end:]
            target, source = (
                dict(zip(depths, stage[::2], strict=True)),
                dict(zip(depths, stage[1::2], strict=True)),
            )
            self.wait(self.stages - 2)
            if any(buffer.is_read_in_place for buffer in self.buffers):
                ir.Operation.create("ttg.fence_async_shared")
            copied = _Copies(self, index, first, target, distance, limit)
            if not self.rings.is_tight:
                copied.issue()
            known = dict(zip(self.body.arguments, [index, *own], strict=True))
            yielded = self.second(known, source, copied)
            following = [self.following(n, depth) for depth in depths for n in (target[depth], source[depth])]
            ir.Operation.create("scf.yield", operands=[*yielded, *copied.handed_on, *following])
        return made

    def following(self, stage: ir.Value, depth: int) -> ir.Value:
        """The number of the stage after ``stage`` of rings of ``depth``."""
        raised = build("arith.addi", [stage, integer(self.i32, 1)], [self.i32])
        last = compare(_EQ, raised, integer(self.i32, depth))
        return build("arith.select", [last, integer(self.i32, 0), raised], [self.i32])

    def second(
        self, known: dict[ir.Value, ir.Value], stages: Mapping[int, ir.Value], copied: _Copies | None
    ) -> list[ir.Value]:
        """Everything, with loads from the stages of their depth; gives what is yielded.

        Copies that were not ``copied`` yet (None: there are none) are issued behind the last load that is read at once.
        """
        pending: dict[ir.Value, tuple[ir.Operation, ir.Value]] = {}
        last = [load for load, ring in zip(self.plan.loads, self.rings.rings, strict=True) if ring.at_once][
            -1:
        ]
        for op in block_ops(self.body)[:-1]:
            if op in self.plan.loads:
                number = self.plan.loads.index(op)
                self.read(op, self.stage(number, stages[self.depths[number]]), known, pending)
                if op in last and copied is not None:
                    copied.issue()
            elif isa(op, LocalDeallocOp) and source_of(op) in pending:
                continue
            elif not (op.results and op.results[0] in pending):
                self.fetch(op, known, pending)
                made = cloned(op, [known.get(v, v) for v in op.operands], known)
                known.update(zip(op.results, made.results, strict=True))
        end = terminator(self.body)
        self.fetch(end, known, pending)
        return [known.get(v, v) for v in end.operands]

    def read(
        self,
        load: ir.Operation,
        view: ir.Value,
        known: dict[ir.Value, ir.Value],
        pending: dict[ir.Value, tuple[ir.Operation, ir.Value]],
    ) -> None:
        """Have the readers of ``load`` read ``view`` when they are needed, and others now."""
        found = readers(load)
        for reader in found:
            trans = transposed(reader)
            pending[reader.results[0]] = (reader, view if trans is None else _permuted(view, trans))
        straight = {r.results[0] for r in found if transposed(r) is None}
        users = [use.owner.operation for use in load.results[0].uses]
        through = list(dict.fromkeys(t for r in found if (t := transposed(r)) is not None))
        others = [
            u
            for u in users
            if not (u.results and u.results[0] in straight) and not _only(u, through, pending)
        ]
        if others:
            known[load.results[0]] = build("ttg.local_load", [view], [load.results[0].type])
        else:
            known[load.results[0]] = load.results[0]
            for op in through:
                pending.setdefault(op.results[0], (op, view))

    def fetch(
        self,
        op: ir.Operation,
        known: dict[ir.Value, ir.Value],
        pending: dict[ir.Value, tuple[ir.Operation, ir.Value]],
    ) -> None:
        """Read what ``op``, with all inside of it, needs and has not been read."""
        for inner in all_ops(op):
            for value in inner.operands:
                if value in pending and value not in known:
                    _, view = pending[value]
                    is_buffer = isinstance(value.type, MemDescType)
                    known[value] = view if is_buffer else build("ttg.local_load", [view], [value.type])


@dataclass
class _Copies:
    """The copies of an iteration, ahead of it; ``handed_on``: what the next ones start from, once these are issued."""

    expansion: Expansion
    index: ir.Value
    ahead: Sequence[ir.Value]
    stages: Mapping[int, ir.Value]
    distance: ir.Value
    limit: ir.Value
    handed_on: Sequence[ir.Value] = ()
    are_issued: bool = False

    def issue(self) -> None:
        """Issue them here, once."""
        if not self.are_issued:
            self.are_issued = True
            future = build("arith.addi", [self.index, self.distance], [self.index.type])
            live = compare(_SLT, self.index, self.limit)
            self.handed_on = self.expansion.issue(future, self.ahead, live, self.stages)


def _only(
    user: ir.Operation,
    through: Sequence[ir.Operation],
    pending: dict[ir.Value, tuple[ir.Operation, ir.Value]],
) -> bool:
    """Whether ``user`` is a transpose that nobody but pending readers reads."""
    if user not in through:
        return False
    users = [use.owner.operation for use in user.results[0].uses]
    return all(u.results and u.results[0] in pending for u in users)


def _permuted(view: ir.Value, trans: ir.Operation) -> ir.Value:
    """``view`` with its dimensions in the order of a ``tt.trans``."""
    order = list(ir.DenseI32ArrayAttr(trans.attributes["order"]))
    old = view.type
    swapped = SharedEncoding.from_attr(old.encoding).permuted(tuple(order))
    shape = [old.shape[d] for d in order]
    type_ = MemDescType.of(shape, old.element_type, swapped.to_attr(), mutable=True)
    return build("ttg.memdesc_trans", [view], [type_], {"order": ir.DenseI32ArrayAttr.get(order)})


def cloned(
    op: ir.Operation, operands: Sequence[ir.Value], known: dict[ir.Value, ir.Value] | None = None
) -> ir.Operation:
    """A copy of ``op`` here with other operands; values used inside of its regions are replaced as ``known`` says."""
    made = op.clone(ip=ir.InsertionPoint.current).operation
    for i, value in enumerate(operands):
        if made.operands[i] != value:
            made.operands[i] = value
    if known is not None and len(made.regions):
        for inner in all_ops(made):
            for i, value in enumerate(list(inner.operands)):
                if value in known and known[value] != value:
                    inner.operands[i] = known[value]
    return made


# --- what nobody needs any more -----------------------------------------------------------------------------


def drop_dead(loop: ir.Operation) -> None:
    """Remove ops of the loop's body that only computed what the loads needed, and carried values for them."""
    body = loop.regions[0].blocks[0]
    end = terminator(body)
    live = _live(loop, body, end)
    for op in reversed(block_ops(body)[:-1]):
        if is_rematerializable(op) and not any(r in live for r in op.results):
            for i, value in enumerate(list(end.operands)):
                if value in op.results:
                    end.operands[i] = body.arguments[1 + i]
            op.erase()
    for i, argument in enumerate(list(body.arguments)[1:]):
        if argument not in live:
            end.operands[i] = argument


def _live(loop: ir.Operation, body: ir.Block, end: ir.Operation) -> set[ir.Value]:
    """Values of the body that something depends on."""
    live: set[ir.Value] = set()
    arguments = {a: i - 1 for i, a in enumerate(body.arguments)}
    own = {r: op for op in block_ops(body) for r in op.results}
    ahead = [end.operands[i] for i, r in enumerate(loop.results) if next(iter(r.uses), None) is not None]
    for op in block_ops(body)[:-1]:
        if not is_rematerializable(op):
            ahead += [v for inner in all_ops(op) for v in inner.operands]
    while ahead:
        value = ahead.pop()
        if value in live:
            continue
        live.add(value)
        if (index := arguments.get(value, -1)) >= 0:
            ahead.append(end.operands[index])
        elif (op := own.get(value)) is not None:
            ahead += op.operands
    return live
