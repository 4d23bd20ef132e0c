"""Two groups of wavefronts alternate: while one's dots run, the other reads and writes memory.

Of a loop whose loads go through registers to LDS, with two wavefronts on each SIMD,

    for i: next = load(i + 1); y = dot(read(a), read(b)); a, b = next

becomes, the dot in slices along k, four here, each memory cluster and each dot cluster with a barrier at its end,

    barrier; second group: barrier
    for i: read slice 0; load a(i + 1)  | dot 0
           read slice 1; load b(i + 1)  | dot 1
           read slices 2 and 3          | dot 2
           wait for the loads; store    | dot 3
    first group: barrier

The second group is one barrier, so one cluster, behind: the matrix unit has always one wavefront with a dot cluster, and what the other one
does costs nothing as long as it takes no longer.  Wavefronts have priority in dot clusters.  Two barriers lie between the last read of a buffer
and the first store to it, and between that and the next read; so also the group ahead keeps off what the one behind reads.

With two slices both are read before the first, and all is loaded there.  Copies to LDS (gfx950) begin in the last memory cluster, which
then waits for those of the iteration before; nothing is stored.

It is done where the estimate of cycles (:mod:`tri_backend_amd.cycles.alternation`) says that it takes fewer, with the number of slices that takes
the fewest of those for whose operands there are registers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from tri_backend_amd.cycles.alternation import SLICES, LoopCounts, loads_before, read_before
from tri_backend_amd.cycles.chips import CHIPS
from tri_backend_amd.dialect.block import CondBarrierOp
from tri_backend_amd.dialect.copies import WaitLoadsOp
from tri_backend_amd.dialect.scheduling import SchedBarrierOp, SetPriorityOp
from tri_backend_amd.mfma.encoding import AmdMfma
from tri_backend_amd.mfma.table import form_of
from tri_core.api import Pass, StageContext, Target
from tri_core.ir.dots import Dot, is_dot
from tri_core.ir.effects import READ_GLOBAL, READ_SHARED, WRITE_SHARED, has_at_most, may_have
from tri_core.ir.regions import For, loops_in
from tri_core.ir.rewriting import create_like, replace_with
from tri_core.ir.traits import is_pure
from tri_core.ir.views import cast, defining_op, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_core.remarks import declined
from tri_gpu_dialect.analysis.layout_rules import encoding_of
from tri_gpu_dialect.analysis.pressure import registers_of
from tri_gpu_dialect.base import MemDescType
from tri_gpu_dialect.dialect import (
    AsyncCommitGroupOp,
    AsyncCopyGlobalToLocalOp,
    AsyncWaitOp,
    LocalLoadOp,
    LocalStoreOp,
)
from tri_gpu_dialect.edit import SHARED, barrier, block_ops, functions, i32_attribute, module_int
from tri_gpu_dialect.encodings import DotOperand
from tri_gpu_dialect.lowering.words import bit_width
from tri_gpu_dialect.transforms.pipeline.building import build, integer, less
from tri_gpu_dialect.types import shape_of, tensor_info, tensor_type

__all__ = ["BlockPingPong"]

#: wavefronts of a SIMD that alternate
_WAVES = 2
_WIDEST = 128
#: registers of a thread for addresses and numbers
_OTHERS = 24
#: lanes of a wavefront
_LANES = 64


@dataclass(frozen=True)
class BlockPingPong(Pass):
    """See the module; at ``ttgir.end``, where loops are pipelined and no barrier is placed yet."""

    name: ClassVar[str] = "amdg-block-ping-pong"

    def apply(self, module: ir.Module, context: StageContext) -> None:
        """Rewrite the loops of dots of every function of ``module``."""
        target, warps = context.target, module_int(module, "ttg.num-warps")
        for function in functions(module):
            for loop in loops_in(function):
                plan = _Plan.of(loop) if isa(loop, For) else None
                if plan is None:
                    continue
                slices = plan.slices(target, warps)
                if isinstance(slices, str):
                    declined(self.name, plan.dot, "wavefronts do not alternate: {}", slices)
                else:
                    plan.rewrite(warps, slices)


@dataclass(frozen=True)
class _Plan:
    """A ``loop`` with one ``dot`` whose operands are ``read`` from buffers that what is loaded in the same iteration is stored to, behind the dot.

    Or ``copies`` fill other buffers, and there are neither loads nor stores: ``wait`` is for those of an iteration before.
    """

    loop: ir.Operation
    dot: ir.Operation
    read: tuple[ir.Operation, ir.Operation]
    loads: tuple[ir.Operation, ...]
    stores: tuple[ir.Operation, ...]
    copies: tuple[ir.Operation, ...] = ()
    wait: ir.Operation | None = None

    @classmethod
    def of(cls, loop: ir.Operation) -> _Plan | None:
        """The plan for ``loop``; None where it does anything else that is ordered."""
        ops = block_ops(For(loop).body)[:-1]
        dots = [op for op in ops if is_dot(op)]
        stores = tuple(op for op in ops if isa(op, LocalStoreOp))
        copies = tuple(op for op in ops if isa(op, AsyncCopyGlobalToLocalOp))
        if (
            len(dots) != 1
            or bool(stores) == bool(copies)
            or not isinstance(encoding_of(dots[0].results[0]), AmdMfma)
        ):
            return None
        found = [defining_op(value, LocalLoadOp) for value in (Dot(dots[0]).a, Dot(dots[0]).b)]
        read = [op.operation for op in found if op is not None]
        loads = [defining_op(cast(store, LocalStoreOp).src) for store in stores]
        made = [op for op in loads if op is not None and op.block == dots[0].block]
        if len(read) != 2 or len(made) != len(stores):
            return None
        waits = [op for op in ops if isa(op, AsyncWaitOp)]
        wait = waits[0] if copies and len(waits) == 1 else None
        plan = cls(loop, dots[0], (read[0], read[1]), tuple(dict.fromkeys(made)), stores, copies, wait)
        return plan if (plan._copies_whole(ops) if copies else plan._is_whole(ops)) else None

    def _copies_whole(self, ops: Sequence[ir.Operation]) -> bool:
        """The same of ``ops`` with copies: it waits, starts one group of copies, reads, multiplies."""
        commits = [op for op in ops if isa(op, AsyncCommitGroupOp)]
        if self.wait is None or len(commits) != 1 or len(self.wait.operands):
            return False
        own = {self.dot, self.wait, *self.read, *self.copies, *commits}
        ordered = [self.wait, *self.copies, *commits]
        place = {op: number for number, op in enumerate(ops)}
        return (
            not list(self.wait.results[0].uses)
            and all(len(list(op.results[0].uses)) == 1 for op in self.read)
            and all(op in own or (is_pure(op) and not len(op.regions)) for op in ops)
            and sorted(ordered, key=place.__getitem__) == ordered
            and max(place[op] for op in (*self.read, *commits)) < place[self.dot]
        )

    def _is_whole(self, ops: Sequence[ir.Operation]) -> bool:
        """True if ``ops`` of the body have no effects but the plan's, in its order."""
        own = {self.dot, *self.read, *self.loads, *self.stores}
        place = {op: number for number, op in enumerate(ops)}
        views = [cast(op, LocalLoadOp).src for op in self.read]
        views += [cast(op, LocalStoreOp).dst for op in self.stores]
        outside = all(
            not isinstance(v.owner, ir.Block) and v.owner.operation.block != self.dot.block for v in views
        )
        alone = all(len(list(op.results[0].uses)) == 1 for op in (*self.read, *self.loads))
        loaded = all(may_have(op, READ_GLOBAL) and has_at_most(op, READ_GLOBAL) for op in self.loads)
        return (
            outside
            and alone
            and loaded
            and all(op in own or (is_pure(op) and not len(op.regions)) for op in ops)
            and all(has_at_most(op, READ_SHARED) for op in self.read)
            and all(has_at_most(op, WRITE_SHARED) for op in self.stores)
            and max(place[op] for op in (*self.loads, *self.read)) < place[self.dot]
            and min(place[op] for op in self.stores) > place[self.dot]
        )

    # --- whether ------------------------------------------------------------------------------------------

    def slices(self, target: Target, warps: int) -> int | str:
        """Number of slices along k with the fewest cycles; or the reason that the loop is left as it is."""
        unit, chip = target.spec.unit, CHIPS.get(target.key.arch)
        if unit is None or chip is None:
            return f"no cycles are known of {target.key.arch}"
        if warps != _WAVES * unit.partitions:
            return f"the block has {warps} wavefronts, not {_WAVES} for each of {unit.partitions} SIMDs"
        whole = [number for number in SLICES if self.depth % (number * self.step) == 0]
        if not whole:
            return (
                f"a dot over {self.depth} is not {min(SLICES)} slices of instructions that take {self.step}"
            )
        have, need = unit.registers // _WAVES, self.registers(whole[0])
        if need > have:
            return f"it takes {need} registers of a thread, which has {have}"
        counts = self.counts(target.key.arch, warps)
        if counts is None:
            return "its dot is by no instruction whose cycles are known"
        fitting = [number for number in whole if self.registers(number) <= have]
        found, alternating = min(
            ((number, counts.alternating(chip, number)) for number in fitting), key=lambda each: each[1]
        )
        together = counts.together(chip)
        if alternating >= together:
            return (
                f"an iteration would take {alternating:.0f} cycles by the estimate, and takes {together:.0f}"
            )
        return found

    @property
    def depth(self) -> int:
        """Elements along k of the dot."""
        return shape_of(Dot(self.dot).a.type)[-1]

    @property
    def step(self) -> int:
        """Elements along k that a lane's neighbours of an operand are of."""
        operand = encoding_of(Dot(self.dot).a)
        assert isinstance(operand, DotOperand)
        assert isinstance(operand.parent, AmdMfma)
        return operand.parent.fragment(0, operand.k_width).out_size("dim1")

    def registers(self, slices: int) -> int:
        """Of a thread: results, what is loaded, two of so many ``slices`` of the operands, and others."""
        loaded = sum(registers_of(op.results[0]) for op in self.loads)
        operands = sum(registers_of(op.results[0]) for op in self.read)
        return registers_of(self.dot.results[0]) + loaded + 2 * operands // slices + _OTHERS

    def counts(self, processor: str, warps: int) -> LoopCounts | None:
        """Work of a wavefront in an iteration; None if the instruction's passes are not known."""
        result, info = encoding_of(self.dot.results[0]), tensor_info(Dot(self.dot).a.type)
        other = tensor_info(Dot(self.dot).b.type)
        assert isinstance(result, AmdMfma)
        assert info is not None
        assert other is not None
        m, n, k = result.instr_shape
        names = str(info.element_type), str(other.element_type)
        form = form_of(processor, *names, result.instr_shape, exact=False)
        if form is None:
            return None
        rows, columns = shape_of(self.dot.results[0].type)
        copied = sum(_copied(op, warps) for op in self.copies)
        return LoopCounts(
            matrix=rows * columns * self.depth // (m * n * k * warps),
            passes=form.passes,
            source=m * k * form.bits // (8 * _LANES),
            reads=_accesses(self.read),
            writes=_accesses(self.loads),
            loads=_accesses(self.loads) + copied,
            ahead=copied * self.groups,
        )

    @property
    def groups(self) -> int:
        """Groups of copies that may be under way behind the wait."""
        return 0 if self.wait is None else ir.IntegerAttr(self.wait.attributes["num"]).value

    # --- the new loop -------------------------------------------------------------------------------------

    def rewrite(self, warps: int, slices: int) -> None:
        """Put the clusters of so many ``slices`` in their order, and the second half of ``warps`` one barrier behind."""
        copying = self._copying() if self.copies else []
        with ir.InsertionPoint(self.dot), self.dot.location:
            total, operands = Dot(self.dot).c, list[tuple[ir.Value, ir.Value]]()
            for number in range(slices):
                operands += [self._slice(each, slices) for each in read_before(number, slices)]
                for load in loads_before(self.loads, number, slices):
                    load.move_before(self.dot)
                if number == slices - 1 and self.wait is not None:
                    for op in (*copying, self.wait):
                        op.move_before(self.dot)
                elif number == slices - 1:
                    WaitLoadsOp.build([], [], {"count": i32_attribute(0)})
                    for store in self.stores:
                        store.move_before(self.dot)
                total = self._dot(operands[number], total)
        replace_with(self.dot, [total])
        for op in self.read:
            op.erase()
        self._shift(warps)

    def _copying(self) -> list[ir.Operation]:
        """Ops before the dot that it does not depend on: the copies, and their own operands."""
        ops = block_ops(self.dot.block)
        before = ops[: ops.index(self.dot)]
        needed, ahead = set[ir.Operation](self.read), list[ir.Operation](self.read)
        while ahead:
            for value in ahead.pop().operands:
                op = None if isinstance(value.owner, ir.Block) else value.owner.operation
                if op is not None and op in before and op not in needed:
                    needed.add(op)
                    ahead.append(op)
        return [op for op in before if op not in needed and op != self.wait]

    def _slice(self, number: int, slices: int) -> tuple[ir.Value, ir.Value]:
        """The operands' slice ``number`` of ``slices`` along k, read here."""
        left, right = (_sliced(op, number, slices, 1 - place) for place, op in enumerate(self.read))
        return left, right

    def _dot(self, operands: tuple[ir.Value, ir.Value], total: ir.Value) -> ir.Value:
        """A dot cluster between barriers, here."""
        _keep_order()
        _set_priority(1)
        _wait_for_all()
        _keep_order()
        made = create_like(self.dot, operands=[*operands, total]).results[0]
        _keep_order()
        _wait_for_all()
        _set_priority(0)
        _keep_order()
        return made

    def _shift(self, warps: int) -> None:
        """Around the loop, barriers of one half of the wavefronts each."""
        i32 = ir.IntegerType.get_signless(32)
        with ir.InsertionPoint(self.loop), self.loop.location:
            if self.wait is not None:
                create_like(self.wait)
            _wait_for_all()
            warp = build("ttg.warp_id", [], [i32])
            behind = less(integer(i32, warps // 2 - 1), warp)
            ir.Operation.create(CondBarrierOp.OPERATION_NAME, operands=[behind])
        with ir.InsertionPoint.after(self.loop), self.loop.location:
            before = less(warp, integer(i32, warps // 2))
            ir.Operation.create(CondBarrierOp.OPERATION_NAME, operands=[before])


def _keep_order() -> None:
    """No instruction of one side moves to the other."""
    SchedBarrierOp.build([], [], {"mask": i32_attribute(0)})


def _wait_for_all() -> None:
    """A barrier for LDS."""
    barrier(ir.InsertionPoint.current, ir.Location.current, SHARED)


def _set_priority(level: int) -> None:
    SetPriorityOp.build([], [], {"level": i32_attribute(level)})


def _accesses(ops: Sequence[ir.Operation]) -> int:
    """Accesses of 128 bits that what ``ops`` give takes."""
    return sum(-(-registers_of(op.results[0]) * 32 // _WIDEST) for op in ops)


def _copied(copy: ir.Operation, warps: int) -> int:
    """Accesses of 128 bits of a thread that ``copy`` takes."""
    buffer = cast(copy, AsyncCopyGlobalToLocalOp).result.type
    bits = math.prod(buffer.shape) * bit_width(buffer.element_type)
    return -(-bits // (_WIDEST * _LANES * warps))


def _sliced(load: ir.Operation, number: int, slices: int, along: int) -> ir.Value:
    """Slice ``number`` of ``slices`` of what ``load`` reads, along dimension ``along``, read here."""
    view, info = cast(load, LocalLoadOp).src, tensor_info(load.results[0].type)
    assert info is not None
    width = info.shape[along] // slices
    shape = [width if d == along else n for d, n in enumerate(info.shape)]
    offsets = [number * width if d == along else 0 for d in range(len(shape))]
    whole = view.type
    part = MemDescType.of(
        shape, whole.element_type, whole.encoding, mutable=whole.mutable, alloc_shape=whole.alloc_shape
    )
    box = ir.Operation.create(
        "ttg.memdesc_subslice",
        results=[part],
        operands=[view],
        attributes={"offsets": ir.DenseI32ArrayAttr.get(offsets)},
    ).results[0]
    wanted = tensor_type(shape, info.element_type, info.encoding)
    return create_like(load, operands=[box], results=[wanted]).results[0]
