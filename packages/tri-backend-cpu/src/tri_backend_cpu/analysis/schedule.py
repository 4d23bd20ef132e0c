"""First part of the plan: which ops become members of which loop nest.

Ops are taken in program order.  An op that only computes a tensor needs no step.  One that must happen (a
store, a reduction, a value that a loop carries) becomes a member of the open nest if that has its shape and
nothing it needs is only known after the nest; otherwise the nest is closed and a new one opened.  Scalars
go before the open nest, since no member of it can wait for itself.
"""

from __future__ import annotations

from collections.abc import Callable

from tri_backend_cpu.analysis.aliasing import Aliasing
from tri_backend_cpu.analysis.induction import Induction, find_inductions
from tri_backend_cpu.analysis.plan import (
    BlockPlan,
    Buffer,
    Control,
    Dot,
    Effect,
    Member,
    Nest,
    Plan,
    Reduce,
    Scalar,
    Scan,
    Step,
    View,
    Write,
    changes_memory,
    written_through,
)
from tri_core.api import Unsupported, located
from tri_core.dialects import tt
from tri_core.ir.effects import NOTHING, READ_GLOBAL, Effects
from tri_core.ir.regions import For, If, RegionBranchTerminator, While
from tri_core.ir.upstream import AssumeOp
from tri_core.ir.views import isa
from tri_core.mlir import scf
from tri_core.ttir import Block, Op, Value, as_for

__all__ = ["schedule"]


def schedule(body: Block, aliasing: Aliasing | None = None) -> Plan:
    """Steps for every op of ``body`` that needs one; views for the values that they write."""
    plan = Plan(BlockPlan(), {}, {}, {}, aliasing or Aliasing())
    _Scheduler(plan, plan.body).block(body)
    return plan


class _Scheduler:
    """Schedules one block."""

    def __init__(self, plan: Plan, into: BlockPlan) -> None:
        self.plan = plan
        self.into = into
        self.open: Nest | None = None
        #: the nest after which a value is known
        self.waits: dict[Value, Nest] = {}
        #: whether a load needs a result of the open nest: a store may then not join the nest
        self.load_waits = False

    def block(self, block: Block) -> None:
        for op in block.ops[:-1]:
            self.op(op)
        self.terminator(block.terminator)
        self.close()

    def op(self, op: Op) -> None:
        if isa(op, AssumeOp):
            return
        root = _ROOTS.get(op.name)
        if isa(op, For, If, While):
            self.control(op)
        elif root is not None:
            root(self, op)
        elif _has_effects(op, reads=False) and any(v.is_tensor for v in (*op.operands, *op.results)):
            self.effect(op)
        elif any(r.is_tensor for r in op.results):
            self.inline(op)
        else:
            self.scalar(op)

    # --- the open nest -----------------------------------------------------------------------------------

    def close(self) -> None:
        if self.open is not None:
            self.into.append(self.open)
            self.open = None
            self.load_waits = False

    def waiting(self, values: list[Value]) -> bool:
        """True if any of ``values`` is only known after the open nest."""
        return self.open is not None and any(self.waits.get(v) is self.open for v in values)

    def join(self, shape: tuple[int, ...], member: Member, *, scalar: bool = False) -> Nest:
        """Make ``member`` part of the open nest, or of a new one."""
        fits = self.open is not None and (self.open.shape, self.open.scalar) == (shape, scalar)
        if not fits or self.waiting(member.operands):
            self.close()
        if self.open is None:
            self.open = Nest(shape, scalar)
        self.open.members.append(member)
        return self.open

    def step(self, step: Step, operands: list[Value]) -> None:
        """Add a step that is no nest; it goes before the open one if it can."""
        if self.waiting(operands):
            self.close()
        self.into.append(step)

    # --- ops ---------------------------------------------------------------------------------------------

    def inline(self, op: Op) -> None:
        if self.waiting(op.operands):
            assert self.open is not None
            self.waits.update(dict.fromkeys(op.results, self.open))
            self.load_waits |= isa(op, tt.LoadOp)
        elif isa(op, tt.LoadOp) and self.open is not None and any(True for _ in self.open.writes()):
            self.close()  # the load comes after the nest's stores

    def scalar(self, op: Op) -> None:
        if _has_effects(op):
            self.close()
        self.step(Scalar(op), op.operands)

    def effect(self, op: Op) -> None:
        writes = changes_memory(op)
        if self.open is not None and writes and (self.load_waits or self.conflicts(op)):
            self.close()
        if _stands_alone(op):
            self.close()
        shape = max((v.shape for v in (*op.operands, *op.results)), key=len)
        views = [self.new_view(r) if r.uses else None for r in op.results] or [None]
        member = Effect(op.order, list(op.operands), views, op)
        nest = self.join(shape, member, scalar=not _is_by_vectors(op))
        self.waits.update(dict.fromkeys(op.results, nest))
        if _stands_alone(op):
            self.close()

    def conflicts(self, op: Op) -> bool:
        """True if the open nest writes the memory that ``op`` writes, at other points."""
        assert self.open is not None
        conflict = self.plan.aliasing.conflict
        return any(conflict(pointer, written_through(op)) for _, pointer in self.open.writes())

    def reduce(self, op: Op) -> None:
        views: list[View | None] = [self.new_view(r) if r.is_tensor else None for r in op.results]
        nest = self.join(op.source.shape, Reduce(op.order, list(op.operands), views, op))
        self.waits.update(dict.fromkeys(op.results, nest))

    def histogram(self, op: Op) -> None:
        self.close()
        view = self.new_view(op.result)
        member = Effect(op.order, list(op.operands), [view], op)
        self.waits[op.result] = self.join(op.operand("src").shape, member, scalar=True)

    def interleave(self, op: Op) -> None:
        """``tt.join``: both operands are written to one buffer, element by element, alternately."""
        whole = self.new_view(op.result)
        for place, operand in enumerate(op.operands):
            half = View(whole.buffer, operand.shape, whole.strides[:-1], place)
            self.waits[op.result] = self.join(operand.shape, Write(op.order, [operand], [half]))

    def concatenate(self, op: Op) -> None:
        whole, start = self.new_view(op.result), 0
        for operand in op.operands:
            part = View(whole.buffer, operand.shape, View.dense(whole.buffer, operand.shape).strides, start)
            start += operand.type.numel
            self.waits[op.result] = self.join(operand.shape, Write(op.order, [operand], [part]))

    def dot(self, op: Op) -> None:
        self.close()
        self.step(Dot(op, self.new_view(op.result)), op.operands)

    def scan(self, op: Op) -> None:
        self.close()
        self.step(Scan(op, [self.new_view(r) for r in op.results]), op.operands)

    # --- control flow ------------------------------------------------------------------------------------

    def control(self, op: Op) -> None:
        inductions = find_inductions(op) if isa(op, For) else {}
        for induction in inductions.values():
            self.plan.inductions[induction.argument] = induction
            self.plan.inductions[induction.result] = induction
        self.carry(op, inductions)
        self.close()
        step = Control(op, [], list(inductions.values()))
        self.into.append(step)
        for block in op.blocks:
            inner = BlockPlan(step)
            step.blocks.append(inner)
            if block.ops:
                _Scheduler(self.plan, inner).block(block)

    def carry(self, op: Op, inductions: dict[Value, Induction]) -> None:
        """Give memory to the tensors that ``op`` carries, and write the initial ones."""
        if isa(op, If):
            for result in filter(_is_tensor, op.results):
                self.new_view(result)
            return
        loop = as_for(op)
        arguments = op.blocks[0].arguments if loop is None else loop.iter_args
        for argument, initial in zip(arguments, op.operands if loop is None else loop.inits, strict=True):
            if argument.is_tensor and argument not in inductions:
                view = self.plan.carried[argument] = self.new_view(argument)
                self.join(argument.shape, Write(op.order, [initial], [view]))
        if loop is not None:
            for argument, result in zip(arguments, op.results, strict=True):
                if argument in self.plan.views:
                    self.plan.views[result] = self.plan.views[argument]
            return
        for argument, result in zip(op.blocks[1].arguments, op.results, strict=True):
            if argument.is_tensor:
                self.plan.carried[argument] = self.plan.views[result] = self.new_view(argument)

    def terminator(self, op: Op) -> None:
        """Write the tensors that leave the block to where they are expected."""
        parent = op.parent.parent if op.parent else None
        if not (RegionBranchTerminator.declared_by(op.name) or isa(op, tt.ReturnOp)):
            raise located(Unsupported, op.location, f"{op.name} at the end of a block")
        if parent is None:
            return
        values, targets = _leaving(op, parent)
        for value, target in zip(values, targets, strict=True):
            view = self.plan.carried.get(target) or self.plan.views.get(target)
            if view is not None and value is not target:
                self.join(target.shape, Write(op.order, [value], [view]))

    def new_view(self, value: Value) -> View:
        """Memory for ``value``."""
        view = View.dense(Buffer(value.dtype, value.type.numel), value.shape)
        self.plan.views[value] = view
        return view


def _is_tensor(value: Value) -> bool:
    return value.is_tensor


def _is_by_vectors(op: Op) -> bool:
    """True if the effect ``op`` can be vectorised over points."""
    return isa(op, tt.StoreOp, tt.AssertOp)


def _stands_alone(op: Op) -> bool:
    """True if the effect ``op`` must be complete at all points before any later op."""
    return isa(op, tt.ElementwiseInlineAsmOp, tt.ExternElementwiseOp, tt.AtomicPollOp)


def _leaving(op: Op, parent: Op) -> tuple[list[Value], list[Value]]:
    """The values that terminator ``op`` yields, and the values that stand for them afterwards."""
    if isa(op, scf.ConditionOp):
        _, *passed = op.operands
        return passed, parent.blocks[1].arguments
    if (loop := as_for(parent)) is not None:
        return loop.yielded, loop.iter_args
    if isa(parent, While):
        return op.operands, parent.blocks[0].arguments
    return op.operands, parent.results


def _has_effects(op: Op, *, reads: bool = True) -> bool:
    """True if ``op`` does more than compute its results; without ``reads``, more than that and read memory."""
    effects = Effects.declared_by(op.name) or NOTHING
    return isa(op, tt.ElementwiseInlineAsmOp, tt.ExternElementwiseOp) or bool(
        effects if reads else effects - {READ_GLOBAL}
    )


def _refused(what: str) -> Callable[[_Scheduler, Op], None]:
    def refuse(_: _Scheduler, op: Op) -> None:
        raise located(Unsupported, op.location, f"{what} on the CPU ({op.name})")

    return refuse


_ROOTS: dict[str, Callable[[_Scheduler, Op], None]] = {
    "tt.call": _refused("a call that could not be inlined"),
    "tt.dot_scaled": _refused("scaled dots"),
    "tt.make_tensor_descriptor": _refused("tensor descriptors"),
    "tt.reduce": _Scheduler.reduce,
    "tt.scan": _Scheduler.scan,
    "tt.dot": _Scheduler.dot,
    "tt.histogram": _Scheduler.histogram,
    "tt.join": _Scheduler.interleave,
    "tt.cat": _Scheduler.concatenate,
}
