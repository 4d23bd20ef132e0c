"""Software pipelining: loads of dots' operands are issued iterations ahead, as asynchronous copies to shared memory.

    for i: x = load(p(i)); y = dot(x, ...)          num_stages = 3

becomes

    buffer of 3 slots; copy(p(0)) -> slot 0; copy(p(1)) -> slot 1
    for i: wait for the copy of i; copy(p(i + 2)) -> slot (i + 2) % 3; x = slot i % 3; y = dot(x, ...)
    wait for all copies

Dots that run on their own read their slots where they are.  Where such a dot may stay under way into the next iteration
(see :mod:`tri_gpu_dialect.passes.overlap_dots`), there is one more slot, if shared memory has room for it.

Copies past the last iteration are masked off.  The slot that a copy goes to was read one iteration before, so the
barrier that comes with the wait is the only one.  What addresses and masks are computed from runs ahead with
values of its own (see :mod:`tri_gpu_dialect.analysis.pipeline_schedule`); what only the loads needed goes.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from tri_core.api import Pass, Policy, StageContext
from tri_core.mlir import ir
from tri_core.passes.origins import is_zero
from tri_gpu_dialect import layouts
from tri_gpu_dialect.analysis import AxisInfos, axis_info
from tri_gpu_dialect.analysis.dot_stages import LATE
from tri_gpu_dialect.analysis.layout_rules import encoding_of
from tri_gpu_dialect.analysis.pipeline_schedule import Schedule, is_dot_buffer, is_pure, schedule
from tri_gpu_dialect.base import MemDescType
from tri_gpu_dialect.edit import all_ops, block_ops, functions, terminator
from tri_gpu_dialect.encodings import SharedEncoding, decode
from tri_gpu_dialect.layouts import BLOCK, OFFSET, LinearLayout, vector_access
from tri_gpu_dialect.layouts.shared import pad_offset, row_major
from tri_gpu_dialect.passes.allocate_shared_memory import buffer_bytes
from tri_gpu_dialect.passes.overlap_dots import carried_dots
from tri_gpu_dialect.passes.stage_matrix_operands import is_matrix_operand
from tri_gpu_dialect.plans import scratch_bytes, views
from tri_gpu_dialect.plans.operand_memory import is_read_in_rows, memory_in_block
from tri_gpu_dialect.policy import DEFAULT_POLICY
from tri_gpu_dialect.remarks import add_remark
from tri_gpu_dialect.types import tensor_info, tensor_type

__all__ = ["Pipeline"]


@dataclass(frozen=True)
class Pipeline(Pass):
    """See the module; ``num_stages`` iterations at once, unless a loop's ``tt.num_stages`` says otherwise.

    Without asynchronous copies (``policy.async_copy_bits`` is empty) nothing is done; with too little shared
    memory a loop gets fewer stages, and a remark says so.
    """

    name: ClassVar[str] = "pipeline"

    num_stages: int = 3
    policy: Policy = DEFAULT_POLICY

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite the innermost loops of every function of ``module``."""
        widths = getattr(self.policy, "async_copy_bits", ())
        limit = context.target.spec.limits.get("shared") if context is not None else None
        if not widths:
            return
        for function in functions(module):
            loops = [op for op in all_ops(function) if op.name == "scf.for" and _is_innermost(op)]
            if not loops:
                continue
            # all plans before any change: what is known of addresses is computed once
            suits = functools.partial(_suits, axes=axis_info(function), widths=widths)
            plans = [schedule(loop, suits) for loop in loops]
            for loop, plan in zip(loops, plans, strict=True):
                if plan is not None:
                    self.loop(function, loop, plan, limit)

    def loop(self, function: ir.Operation, loop: ir.Operation, plan: Schedule, limit: int | None) -> None:
        """Pipeline ``loop`` with as many stages as were asked for and have room."""
        given = loop.attributes.get("tt.num_stages", None)
        stages = ir.IntegerAttr(given).value if given is not None else self.num_stages
        if stages < 2 or "unsignedCmp" in loop.attributes:
            return
        buffers = [_Buffer.of(load) for load in plan.loads]
        slots = stages + bool(carried_dots(loop))
        if limit is not None:
            each, free = sum(b.bytes for b in buffers), limit - _beside(function, loop, plan)
            slots = min(slots, free // each)
            if slots < stages:
                have = (
                    f"has {slots} of {stages} stages"
                    if slots >= 2
                    else f"is not pipelined in {stages} stages"
                )
                add_remark(
                    loop,
                    f"the loop {have}: each takes {each} bytes of shared memory, {max(free, 0)} of {limit} are free",
                )
        if slots >= 2:
            # with two slots nothing can be under way in one while the other is filled
            is_late = bool(carried_dots(loop)) and slots > 2
            _Expansion(loop, plan, buffers, slots - is_late, slots).run()


def _is_innermost(loop: ir.Operation) -> bool:
    return not any(op.name in ("scf.for", "scf.while") for op in all_ops(loop) if op != loop)


def _beside(function: ir.Operation, loop: ir.Operation, plan: Schedule) -> int:
    """Bytes of shared memory that are in use while ``loop`` runs, beside what its loads will take, at most."""
    gone = {reader.results[0] for load in plan.loads for reader in _readers(load)}
    inside = [
        scratch_bytes(op) for op in all_ops(loop) if not (op.results and op.results[0] in gone) and op != loop
    ]
    held = [op for op in all_ops(function) if op.name == "ttg.local_alloc" and op.results[0] not in gone]
    return 2 * max(inside, default=0) + sum(buffer_bytes(op.results[0].type) for op in held)


def _suits(load: ir.Operation, axes: AxisInfos, widths: Sequence[int]) -> bool:
    """Whether ``load`` can be an asynchronous copy: of matrices, in accesses of one of the ``widths`` in bits."""
    view, info = load.opview, tensor_info(load.results[0].type)
    volatile = "isVolatile" in load.attributes and ir.BoolAttr(load.attributes["isVolatile"]).value
    if info is None or info.rank < 2 or info.bitwidth < 8 or volatile:
        return False
    if view.other is not None and not is_zero(view.other):
        return False
    if not _stays_in_block(load):
        return False
    chosen = _chosen_encoding(load)
    dims = range(info.rank) if chosen is None else [_contiguous(chosen, info.shape)]
    best = max(_run(view.ptr, view.mask, axes, dim, info.bitwidth) for dim in dims)
    return best * info.bitwidth >= min(widths)


def _run(pointers: ir.Value, mask: ir.Value | None, axes: AxisInfos, dim: int, bits: int) -> int:
    """Elements that a thread accesses at once along ``dim``."""
    width = min(axes.contiguous(pointers, dim), max(128 // bits, 1))
    if mask is not None:
        width = min(width, axes.constant_run(mask, dim))
    shape = tuple(pointers.type.shape)
    order = [dim, *(d for d in reversed(range(len(shape))) if d != dim)]
    return vector_access(layouts.of(pointers.type), row_major(shape, order), width).width


def _contiguous(encoding: SharedEncoding, shape: tuple[int, ...]) -> int:
    """The dimension that neighbours in a buffer of ``shape`` differ in."""
    first = layouts.layout_for(encoding, shape).bases[OFFSET][0]
    return next(d for d, step in enumerate(first) if step)


@dataclass(frozen=True)
class _Buffer:
    """What a load is copied to: one slot of it, and whether dots read it there."""

    encoding: SharedEncoding
    bytes: int
    is_read_in_place: bool

    @classmethod
    def of(cls, load: ir.Operation) -> _Buffer:
        result = load.results[0]
        info = tensor_info(result.type)
        assert info is not None
        own = layouts.of(result.type)
        chosen = _chosen_encoding(load)
        by_element = [op for op in _readers(load) if not is_read_in_rows(encoding_of(op.results[0]))]
        readers = tuple(_seen_from(load, reader) for reader in by_element) or (own,)
        encoding = chosen or memory_in_block(info.shape, info.bitwidth, own, readers)
        size = pad_offset(math.prod(encoding.share(info.shape)), encoding.padding) * info.bitwidth // 8
        return cls(encoding, size, is_read_in_place=chosen is not None)


def _chosen_encoding(load: ir.Operation) -> SharedEncoding | None:
    """The encoding of a slot that dots read ``load`` from, if some do."""
    return next((_buffer_encoding(op) for op in _near(load) if is_dot_buffer(op)), None)


def _buffer_encoding(alloc: ir.Operation) -> SharedEncoding:
    """The encoding of the buffer that ``alloc`` fills with a load or its transpose, for the load."""
    encoding = decode(alloc.results[0].type.encoding)
    assert isinstance(encoding, SharedEncoding)
    trans = _transposed(alloc)
    return encoding if trans is None else encoding.permuted(_inverse(trans))


def _near(load: ir.Operation) -> list[ir.Operation]:
    """The users of ``load`` (or of its transpose), in its block."""
    found = []
    for use in load.results[0].uses:
        user = use.owner.operation
        inner = [u.owner.operation for u in user.results[0].uses] if user.name == "tt.trans" else [user]
        found += [op for op in inner if user.block == op.block == load.block]
    return found


def _readers(load: ir.Operation) -> list[ir.Operation]:
    """What reads a slot of ``load`` in a way of its own.

    Conversions (perhaps of its transpose) to operands of matrix instructions; buffers for dots, if they are like the slot.
    """
    chosen = _chosen_encoding(load)
    return [
        op
        for op in _near(load)
        if (op.name == "ttg.convert_layout" and is_matrix_operand(op.results[0]))
        or (is_dot_buffer(op) and _buffer_encoding(op) == chosen)
    ]


def _stays_in_block(load: ir.Operation) -> bool:
    """Whether each block of a cluster loads what it reads."""
    own = layouts.of(load.results[0].type)
    begins = own.bases.get(BLOCK, ())
    if not begins:
        return True
    chosen = _chosen_encoding(load)
    if chosen is not None and chosen.part(tuple(load.results[0].type.shape))[1] != begins:
        return False
    return all(
        is_dot_buffer(reader) or _seen_from(load, reader).bases.get(BLOCK, ()) == begins
        for reader in _readers(load)
    )


def _transposed(reader: ir.Operation) -> ir.Operation | None:
    """The ``tt.trans`` between a load and a reader of :func:`_readers`."""
    owner = reader.operands[0].owner.operation
    return owner if owner.name == "tt.trans" else None


def _seen_from(load: ir.Operation, reader: ir.Operation) -> LinearLayout:
    """The layout that ``reader`` wants, in the coordinates of ``load``."""
    layout = layouts.of(reader.results[0].type)
    trans = _transposed(reader)
    if trans is None:
        return layout
    return views.permuted(layout, _inverse(trans))


def _inverse(trans: ir.Operation) -> tuple[int, ...]:
    """The order of the transpose that undoes ``trans``."""
    order = list(ir.DenseI32ArrayAttr(trans.attributes["order"]))
    return tuple(order.index(d) for d in range(len(order)))


def _op(
    name: str,
    operands: Sequence[ir.Value],
    results: Sequence[ir.Type],
    attributes: dict[str, ir.Attribute] | None = None,
) -> ir.Value:
    """A new op at the ambient insertion point; its first result."""
    return ir.Operation.create(name, results=results, operands=operands, attributes=attributes).results[0]


def _int(type_: ir.Type, value: int) -> ir.Value:
    return _op("arith.constant", [], [type_], {"value": ir.IntegerAttr.get(type_, value)})


def _compare(predicate: int, a: ir.Value, b: ir.Value) -> ir.Value:
    kind = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), predicate)
    return _op("arith.cmpi", [a, b], [ir.IntegerType.get_signless(1)], {"predicate": kind})


_EQ, _SLT = 0, 2


@dataclass
class _Expansion:
    """One loop being pipelined."""

    loop: ir.Operation
    plan: Schedule
    buffers: list[_Buffer]
    stages: int
    slots: int
    memory: list[ir.Value] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.body = self.loop.regions[0].blocks[0]
        self.lower, self.upper, self.step = list(self.loop.operands)[:3]
        self.inits = list(self.loop.operands)[3:]
        self.i32 = ir.IntegerType.get_signless(32)
        self.token = ir.Type.parse("!ttg.async_token")

    def run(self) -> None:
        """Replace the loop."""
        with ir.InsertionPoint(self.loop), self.loop.location:
            self.memory = [self.allocated(*pair) for pair in zip(self.plan.loads, self.buffers, strict=True)]
            ahead = self.prologue()
            distance = _op("arith.muli", [_int(self.step.type, self.stages - 1), self.step], [self.step.type])
            limit = _op("arith.subi", [self.upper, distance], [self.upper.type])
            made = self.steady(ahead, distance, limit)
        with ir.InsertionPoint.after(made), self.loop.location:
            self.wait(0)
            for buffer in self.memory:
                ir.Operation.create("ttg.local_dealloc", operands=[buffer])
        for old, new in zip(self.loop.results, made.results, strict=False):
            old.replace_all_uses_with(new)
        self.loop.erase()
        _drop_dead(made)

    def allocated(self, load: ir.Operation, buffer: _Buffer) -> ir.Value:
        """The slots of a load."""
        info = tensor_info(load.results[0].type)
        assert info is not None
        attr = buffer.encoding.to_attr()
        type_ = MemDescType.of((self.slots, *info.shape), info.element_type, attr, mutable=True)
        return _op("ttg.local_alloc", [], [type_])

    def slot(self, number: int, index: ir.Value) -> ir.Value:
        """The view of slot ``index`` of load ``number``."""
        info = tensor_info(self.plan.loads[number].results[0].type)
        assert info is not None
        attr = self.buffers[number].encoding.to_attr()
        type_ = MemDescType.of(info.shape, info.element_type, attr, mutable=True)
        return _op("ttg.memdesc_index", [self.memory[number], index], [type_])

    def wait(self, groups: int) -> None:
        """Until at most ``groups`` groups of copies are under way."""
        _op("ttg.async_wait", [], [self.token], {"num": ir.IntegerAttr.get(self.i32, groups)})

    def prologue(self) -> list[ir.Value]:
        """The first copies; gives the carried values that the next ones start from."""
        index, ahead = self.lower, [self.inits[i] for i in self.plan.carried]
        for number in range(self.stages - 1):
            live = _compare(_SLT, index, self.upper)
            ahead = self.issue(index, ahead, live, _int(self.i32, number))
            if number + 2 < self.stages:
                index = _op("arith.addi", [index, self.step], [index.type])
        return ahead

    def issue(
        self, index: ir.Value, ahead: Sequence[ir.Value], live: ir.Value, slot: ir.Value
    ) -> list[ir.Value]:
        """The first stage at induction value ``index``, where ``live``; gives what it hands to its next time."""
        body = self.body.arguments
        known: dict[ir.Value, ir.Value] = {body[0]: index}
        known.update((body[1 + i], value) for i, value in zip(self.plan.carried, ahead, strict=True))
        tokens = []
        for op in self.plan.ops:
            operands = [known.get(v, v) for v in op.operands]
            if op in self.plan.loads:
                tokens.append(self.copy(op, known, live, slot))
                if not self.is_needed_ahead(op):
                    continue
            made = self.masked_load(op, known, live) if op.name == "tt.load" else _clone(op, operands)
            known.update(zip(op.results, made.results, strict=True))
        _op("ttg.async_commit_group", tokens, [self.token])
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
            return live if given is None else _op("arith.andi", [given, live], [live.type])
        type_ = tensor_type(info.shape, live.type, info.encoding)
        spread = _op("tt.splat", [live], [type_])
        return spread if given is None else _op("arith.andi", [given, spread], [type_])

    def copy(
        self, load: ir.Operation, known: dict[ir.Value, ir.Value], live: ir.Value, slot: ir.Value
    ) -> ir.Value:
        """``load`` as a copy to ``slot``; its token."""
        view, number = load.opview, self.plan.loads.index(load)
        operands = [known.get(view.ptr, view.ptr), self.slot(number, slot), self.mask(load, known, live)]
        if view.other is not None:
            operands.append(known.get(view.other, view.other))
        attributes = _attributes(load)
        sizes = [1, 1, 1, int(view.other is not None)]
        attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get(sizes)
        return _op("ttg.async_copy_global_to_local", operands, [self.token], attributes)

    def masked_load(
        self, load: ir.Operation, known: dict[ir.Value, ir.Value], live: ir.Value
    ) -> ir.Operation:
        """``load`` in the first stage."""
        view = load.opview
        operands = [known.get(view.ptr, view.ptr), self.mask(load, known, live)]
        if view.other is not None:
            operands.append(known.get(view.other, view.other))
        attributes = _attributes(load)
        attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get([1, 1, int(view.other is not None)])
        types = [r.type for r in load.results]
        return ir.Operation.create("tt.load", results=types, operands=operands, attributes=attributes)

    # --- the loop that remains ----------------------------------------------------------------------------

    def steady(self, ahead: Sequence[ir.Value], distance: ir.Value, limit: ir.Value) -> ir.Operation:
        """The new loop: it carries what the old one did, the first stage's values, and the slots' numbers."""
        slots = [_int(self.i32, self.stages - 1), _int(self.i32, 0)]
        carried = [*self.inits, *ahead, *slots]
        types = [v.type for v in carried]
        made = ir.Operation.create(
            "scf.for",
            results=types,
            operands=[self.lower, self.upper, self.step, *carried],
            regions=1,
            attributes=self.attributes(),
        )
        block = made.regions[0].blocks.append(self.lower.type, *types)
        count = len(self.inits)
        with ir.InsertionPoint(block):
            index, *inner = block.arguments
            own, first, (target, source) = inner[:count], inner[count:-2], inner[-2:]
            self.wait(self.stages - 2)
            if any(buffer.is_read_in_place for buffer in self.buffers):
                ir.Operation.create("ttg.fence_async_shared")
            future = _op("arith.addi", [index, distance], [index.type])
            again = self.issue(future, first, _compare(_SLT, index, limit), target)
            known = dict(zip(self.body.arguments, [index, *own], strict=True))
            yielded = self.second(known, source)
            turned = [self.following(target), self.following(source)]
            ir.Operation.create("scf.yield", operands=[*yielded, *again, *turned])
        return made

    def attributes(self) -> dict[str, ir.Attribute]:
        """Of the new loop; it says so where dots may stay under way into the next iteration."""
        kept = {k: self.loop.attributes[k] for k in self.loop.attributes if k != "tt.num_stages"}
        return kept | ({LATE: ir.UnitAttr.get()} if self.slots > self.stages else {})

    def following(self, slot: ir.Value) -> ir.Value:
        """The slot after ``slot``."""
        raised = _op("arith.addi", [slot, _int(self.i32, 1)], [self.i32])
        last = _compare(_EQ, raised, _int(self.i32, self.slots))
        return _op("arith.select", [last, _int(self.i32, 0), raised], [self.i32])

    def second(self, known: dict[ir.Value, ir.Value], slot: ir.Value) -> list[ir.Value]:
        """Everything, with loads from ``slot``; gives what is yielded."""
        pending: dict[ir.Value, tuple[ir.Operation, ir.Value]] = {}
        for op in block_ops(self.body)[:-1]:
            if op in self.plan.loads:
                view = self.slot(self.plan.loads.index(op), slot)
                self.read(op, view, known, pending)
            elif op.name == "ttg.local_dealloc" and op.operands[0] in pending:
                continue
            elif not (op.results and op.results[0] in pending):
                self.fetch(op, known, pending)
                made = _clone(op, [known.get(v, v) for v in op.operands], known)
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
        readers = _readers(load)
        for reader in readers:
            trans = _transposed(reader)
            pending[reader.results[0]] = (reader, view if trans is None else _permuted(view, trans))
        straight = {r.results[0] for r in readers if _transposed(r) is None}
        users = [use.owner.operation for use in load.results[0].uses]
        through = list(dict.fromkeys(t for r in readers if (t := _transposed(r)) is not None))
        others = [
            u
            for u in users
            if not (u.results and u.results[0] in straight) and not _only(u, through, pending)
        ]
        if others:
            known[load.results[0]] = _op("ttg.local_load", [view], [load.results[0].type])
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
                    known[value] = view if is_buffer else _op("ttg.local_load", [view], [value.type])


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
    return _op("ttg.memdesc_trans", [view], [type_], {"order": ir.DenseI32ArrayAttr.get(order)})


def _attributes(op: ir.Operation) -> dict[str, ir.Attribute]:
    return {name: op.attributes[name] for name in op.attributes}


def _clone(
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


def _drop_dead(loop: ir.Operation) -> None:
    """Remove ops of the loop's body that only computed what the loads needed, and carried values for them."""
    body = loop.regions[0].blocks[0]
    end = terminator(body)
    live = _live(loop, body, end)
    for op in reversed(block_ops(body)[:-1]):
        if is_pure(op) and not any(r in live for r in op.results):
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
        if not is_pure(op):
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
