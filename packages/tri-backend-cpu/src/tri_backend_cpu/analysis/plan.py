"""The plan of a kernel: steps in the order of execution, and the memory that tensors get.

A *nest* is one loop nest over a shape; its *members* are what it does at every point.  A tensor value is
either *inline* (computed where a member needs it) or has a *view*: it was written by an earlier step and is
read from memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from tri_backend_cpu.analysis.aliasing import Aliasing
from tri_backend_cpu.analysis.cost import CostModel
from tri_backend_cpu.analysis.induction import Induction
from tri_core.dialects import tt
from tri_core.ir.effects import NOTHING, SYNCHRONIZE_CTA, WRITE_GLOBAL, Effects
from tri_core.ir.views import isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.ttir import DType, Op, Value, constant_of

__all__ = [
    "BlockPlan",
    "Buffer",
    "Control",
    "Dot",
    "Effect",
    "Member",
    "Nest",
    "Plan",
    "Reduce",
    "Scalar",
    "Scan",
    "Step",
    "View",
    "Write",
    "changes_memory",
    "is_barrier",
    "written_through",
]


@dataclass(eq=False)
class Buffer:
    """``numel`` elements of ``dtype`` in the arena, at ``offset`` bytes once that is decided."""

    dtype: DType
    numel: int
    offset: int = -1

    @property
    def nbytes(self) -> int:
        """The size in bytes."""
        return self.numel * self.dtype.nbytes


@dataclass(frozen=True)
class View:
    """A tensor in a buffer: element (i, j, ...) is at ``offset + i * strides[0] + j * strides[1] + ...``."""

    buffer: Buffer
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0

    @classmethod
    def dense(cls, buffer: Buffer, shape: tuple[int, ...]) -> View:
        """All of ``buffer``, row-major."""
        strides = [1] * len(shape)
        for d in range(len(shape) - 2, -1, -1):
            strides[d] = strides[d + 1] * shape[d + 1]
        return cls(buffer, shape, tuple(strides))


# --- members of a nest -----------------------------------------------------------------------------------


@dataclass(eq=False)
class Member:
    """Something that a nest does at every point of its shape.

    ``order`` is its place in the program; ``views`` are where its results go, None for a scalar result
    and for one that nobody wants.
    """

    order: int
    operands: list[Value]
    views: list[View | None]


@dataclass(eq=False)
class Write(Member):
    """Writes its operand to its view, whose shape is the nest's."""

    @property
    def value(self) -> Value:
        """Value that is written."""
        (value,) = self.operands
        return value

    @property
    def view(self) -> View:
        """View to which it is written."""
        (view,) = self.views
        if view is None:
            raise ValueError("a write without a view")
        return view


@dataclass(eq=False)
class Reduce(Member):
    """A ``tt.reduce`` over the nest's shape."""

    op: Op


@dataclass(eq=False)
class Effect(Member):
    """An op that does something at every point: a store, an atomic, a print, an assertion, a histogram."""

    op: Op


# --- steps -----------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Step:
    """One thing after another in a block."""

    block: BlockPlan = field(init=False)

    def writes(self) -> Iterator[tuple[int, Value | None]]:
        """The writes to the kernel's memory within: (place in the program, pointer operand).

        Where the step waits for others, who may write anything, the pointer is None.
        """
        return iter(())

    def inner(self) -> list[BlockPlan]:
        """The blocks within."""
        return []

    def written(self) -> list[View]:
        """The views that the step writes."""
        return []

    def retarget(self, buffer: Buffer, target: View) -> None:
        """Write to ``target`` what would go to ``buffer``."""


@dataclass(eq=False)
class Scalar(Step):
    """An op on scalars."""

    op: Op

    def writes(self) -> Iterator[tuple[int, Value | None]]:
        """As for any step."""
        if changes_memory(self.op):
            yield self.op.order, written_through(self.op)
        elif is_barrier(self.op):
            yield self.op.order, None


@dataclass(eq=False)
class Nest(Step):
    """A loop nest over ``shape``, by vectors or (``scalar``) by elements."""

    shape: tuple[int, ...]
    scalar: bool = False
    members: list[Member] = field(default_factory=list)

    def writes(self) -> Iterator[tuple[int, Value | None]]:
        """As for any step."""
        for member in self.members:
            if isinstance(member, Effect) and changes_memory(member.op):
                yield member.order, written_through(member.op)

    def written(self) -> list[View]:
        """As for any step."""
        return [v for m in self.members for v in m.views if v is not None]

    def retarget(self, buffer: Buffer, target: View) -> None:
        """As for any step."""
        for member in self.members:
            member.views = [target if v is not None and v.buffer is buffer else v for v in member.views]


@dataclass(eq=False)
class Dot(Step):
    """A ``tt.dot``; ``view`` of its result."""

    op: Op
    view: View

    def written(self) -> list[View]:
        """As for any step."""
        return [self.view]

    def retarget(self, buffer: Buffer, target: View) -> None:
        """As for any step."""
        self.view = target

    @property
    def starts_at_zero(self) -> bool:
        """True if the accumulator is the constant 0."""
        return constant_of(self.accumulator) == 0

    @property
    def a(self) -> Value:
        """The left operand."""
        return self.op.operand("a")

    @property
    def b(self) -> Value:
        """The right operand."""
        return self.op.operand("b")

    @property
    def accumulator(self) -> Value:
        """Accumulator of the dot."""
        return self.op.operand("c")


@dataclass(eq=False)
class Scan(Step):
    """A ``tt.scan``; ``views`` of its results."""

    op: Op
    views: list[View]

    def written(self) -> list[View]:
        """As for any step."""
        return self.views

    def retarget(self, buffer: Buffer, target: View) -> None:
        """As for any step."""
        self.views = [target if v.buffer is buffer else v for v in self.views]


@dataclass(eq=False)
class Control(Step):
    """A counted loop, branch or ``while`` loop with the plans of its blocks.

    ``inductions`` are a loop's tensors that only move; they need no memory.
    """

    op: Op
    blocks: list[BlockPlan]
    inductions: list[Induction] = field(default_factory=list)

    def writes(self) -> Iterator[tuple[int, Value | None]]:
        """As for any step."""
        for block in self.blocks:
            for step in block.steps:
                yield from step.writes()

    def inner(self) -> list[BlockPlan]:
        """As for any step."""
        return self.blocks


@dataclass(eq=False)
class BlockPlan:
    """The steps of a block; ``parent`` is the control step it belongs to (None: the kernel's body)."""

    parent: Control | None = None
    steps: list[Step] = field(default_factory=list)

    def append(self, step: Step) -> None:
        """Add ``step`` at the end."""
        self.insert(len(self.steps), step)

    def insert(self, index: int, step: Step) -> None:
        """Add ``step`` before the one at ``index``."""
        step.block = self
        self.steps.insert(index, step)

    def walk(self) -> Iterator[Step]:
        """Every step of the block and of the blocks within, in order."""
        for step in self.steps:
            yield step
            for block in step.inner():
                yield from block.walk()

    def ancestor(self, step: Step) -> Step:
        """The step of this block that holds ``step`` (itself, if it is in the block)."""
        while step.block is not self:
            parent = step.block.parent
            if parent is None:
                raise ValueError("the step is not within the block")
            step = parent
        return step


@dataclass(eq=False)
class Plan:
    """A whole kernel.

    ``views``: where values are read that an earlier step wrote.  ``carried``: where a loop keeps its
    arguments (the same, unless an argument had to be copied).  ``cost`` and ``depth`` of every value.
    ``aliasing``: what pointers were taken for.  ``arena``: bytes of all buffers together.
    """

    body: BlockPlan
    views: dict[Value, View]
    carried: dict[Value, View]
    inductions: dict[Value, Induction]
    aliasing: Aliasing
    cost: CostModel = field(default_factory=CostModel)
    depth: dict[Value, int] = field(default_factory=dict)
    arena: int = 0


def changes_memory(op: Op) -> bool:
    """True if ``op`` writes memory, or has effects that the host observes in order."""
    return isa(op, tt.PrintOp) or WRITE_GLOBAL in (Effects.declared_by(op.name) or NOTHING)


def written_through(op: Op) -> Value | None:
    """The pointers that ``op``, which changes memory, writes through; of a print what it prints.

    None where it may write anything, or prints a text alone.
    """
    return next(iter(op.operands), None) if isa(op, tt.PrintOp) else op.optional("ptr")


def is_barrier(op: Op) -> bool:
    """True if accesses before ``op`` are complete when those after it begin."""
    return SYNCHRONIZE_CTA in (Effects.declared_by(op.name) or NOTHING)
