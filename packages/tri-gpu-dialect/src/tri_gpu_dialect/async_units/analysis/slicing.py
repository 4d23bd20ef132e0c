"""Loads of a function that a producer partition can issue, and the backward slice it must compute for them.

A kernel is cut in two: the *producer* copies blocks from descriptors to shared memory, the *consumer* does everything
else.  Both run the function's control flow; each computes what it needs and no more (:class:`Demand`).  Loads that are used
together share a :class:`Ring` of stages.

The producer runs ahead.  So what it computes must not depend on what the consumer does: on dots, on memory that the
kernel writes, on atomics.  Where it does, :func:`slice_function` says why.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from tri_core.dialects.tt import (
    DescriptorLoadOp,
    DotOp,
    FuncOp,
    GridDependencyWaitOp,
    LoadOp,
    MakeTensorDescriptorOp,
    ReturnOp,
)
from tri_core.ir.access import access_of
from tri_core.ir.effects import (
    ALLOCATE_SHARED,
    READ_DESCRIBED,
    READ_GLOBAL,
    READ_SHARED,
    SYNCHRONIZE_CTA,
    SYNCHRONIZE_GRID,
    WRITE_DESCRIBED,
    WRITE_GLOBAL,
    effects_of,
    has_at_most,
    may_have,
)
from tri_core.ir.regions import (
    deciding_operands,
    ends_region,
    is_control,
    tied,
)
from tri_core.ir.traits import is_rematerializable, is_view
from tri_core.ir.views import cast, isa
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_core.passes.origins import arguments_of
from tri_gpu_dialect.analysis.layout_rules import encoding_of
from tri_gpu_dialect.dialect import LocalDeallocOp, NextTileOp, WarpGroupDotOp, WarpGroupDotWaitOp
from tri_gpu_dialect.dialect.launch_invariants import known_at_launch
from tri_gpu_dialect.edit import all_ops, block_ops, forwards_elements
from tri_gpu_dialect.encodings import MatrixEncoding
from tri_gpu_dialect.types import tensor_info

__all__ = ["Demand", "Refusal", "Ring", "Slices", "is_row", "slice_function"]

#: effects of ops that are there for their result alone, which may be left out
_NEEDED_FOR_RESULT = (READ_GLOBAL, READ_DESCRIBED, READ_SHARED, ALLOCATE_SHARED)
#: what each side has of its own
_KEPT_ANYWAY = (LocalDeallocOp, ReturnOp)
_SYNCHRONIZE = (SYNCHRONIZE_CTA, SYNCHRONIZE_GRID)
_ATOMIC = frozenset({READ_GLOBAL, WRITE_GLOBAL})


@dataclass(frozen=True)
class Refusal:
    """Refusal to partition a function: ``reason``, because of ``op``."""

    reason: str
    op: ir.Operation


@dataclass(frozen=True)
class Ring:
    """Loads of one block that the same dots use: they fill and free a stage together."""

    loads: tuple[ir.Operation, ...]

    @property
    def block(self) -> ir.Block:
        """Block that contains the loads."""
        return self.loads[0].block


@dataclass
class Demand:
    """The ``ops`` that compute the needed ``values``, with the control flow around them, within ``function``.

    What ops of ``given`` use is not needed: their results come from elsewhere.
    """

    function: ir.Operation
    given: frozenset[ir.Operation] = frozenset()
    ops: set[ir.Operation] = field(default_factory=set)
    values: set[ir.Value] = field(default_factory=set)

    def keep(self, op: ir.Operation) -> None:
        """``op`` happens, so what it uses is needed, and the control flow that leads to it."""
        while op != self.function and op not in self.ops:
            self.ops.add(op)
            if op not in self.given:
                self._uses(op)
            op = op.parent.operation

    def _uses(self, op: ir.Operation) -> None:
        if is_control(op):
            self.need(deciding_operands(op))
        else:
            self.need([v for inner in all_ops(op) for v in inner.operands])

    def need(self, values: Iterable[ir.Value]) -> None:
        """Keep what computes ``values``."""
        ahead = list(values)
        while ahead:
            value = ahead.pop()
            if value in self.values:
                continue
            self.values.add(value)
            if isinstance(value.owner, ir.Block):
                ahead += self._argument(value)
            else:
                ahead += self._result(value, value.owner.operation)

    def _argument(self, value: ir.Value) -> list[ir.Value]:
        op = value.owner.owner.operation
        if isa(op, FuncOp):
            return []
        self.keep(op)
        return tied(value) or []

    def _result(self, value: ir.Value, op: ir.Operation) -> list[ir.Value]:
        self.keep(op)
        return (tied(value) or []) if is_control(op) else []


@dataclass(frozen=True)
class Slices:
    """A function in two: the ``rings`` between them, and what each side keeps.

    ``descriptors``: those that can be made before both sides begin.
    """

    rings: tuple[Ring, ...]
    descriptors: frozenset[ir.Operation]
    producer: Demand
    consumer: Demand


def slice_function(
    function: ir.Operation, next_tiles: frozenset[ir.Operation] = frozenset()
) -> Slices | Refusal | None:
    """Slices of ``function``; None if no dot is fed by a block from a descriptor.

    ``next_tiles``: ``ttg.next_tile`` ops of which the producer hands the results to the consumer.

    Before tensors have layouts, any dot counts: that says whether a kernel could be cut.
    """
    ops = all_ops(function)
    fed = {op: dots for op in ops if isa(op, DescriptorLoadOp) and (dots := _dots(op))}
    if not fed:
        return None
    if len(function.regions[0].blocks) > 1:
        return Refusal("it has branches between blocks", function)
    refusal = _memory(function, ops, fed)
    if refusal is not None:
        return refusal
    rings = _rings(function, fed)
    makers = {op for op in ops if isa(op, MakeTensorDescriptorOp) and known_at_launch(op)}
    producer = Demand(function, frozenset(makers) | next_tiles)
    for op in [*fed, *(op for op in ops if isa(op, GridDependencyWaitOp))]:
        producer.keep(op)
    producer.need(cast(op, NextTileOp).total for op in next_tiles & producer.ops)
    refusal = _not_ahead(producer, set(fed))
    if refusal is not None:
        return refusal
    consumer = _consumer(function, ops, frozenset(fed), next_tiles)
    return Slices(rings, frozenset(makers & producer.ops), producer, consumer)


# --- what is loaded ---------------------------------------------------------------------------------------


def _dots(load: ir.Operation) -> frozenset[ir.Operation]:
    """The dots on matrix instructions that read what ``load`` gives, whole."""
    found: set[ir.Operation] = set()
    ahead, seen = list(load.results), set(load.results)
    while ahead:
        for use in ahead.pop().uses:
            user = use.owner.operation
            if isa(user, WarpGroupDotOp) or (isa(user, DotOp) and _is_on_matrix_unit(user)):
                if use.operand_number < 2:
                    found.add(user)
            elif forwards_elements(user) or is_rematerializable(user):
                more = [r for r in user.results if r not in seen]
                seen.update(more)
                ahead += more
    return frozenset(found)


def _is_on_matrix_unit(dot: ir.Operation) -> bool:
    encoding = encoding_of(dot.results[0])
    return encoding is None or isinstance(encoding, MatrixEncoding)


def _rings(function: ir.Operation, fed: dict[ir.Operation, frozenset[ir.Operation]]) -> tuple[Ring, ...]:
    """The loads of one block for the same dots, together, in program order; rows come with the first blocks beside them."""
    together: dict[tuple[ir.Block, frozenset[ir.Operation]], list[ir.Operation]] = {}
    ordered = [load for load in _in_order(function) if load in fed]
    for load in ordered:
        if not is_row(load):
            together.setdefault((load.block, fed[load]), []).append(load)
    for load in filter(is_row, ordered):
        first = next((loads for (block, _), loads in together.items() if block == load.block), None)
        if first is None:
            together[load.block, fed[load]] = [load]
        else:
            first.append(load)
    return tuple(Ring(tuple(loads)) for loads in together.values())


def is_row(load: ir.Operation) -> bool:
    """True if ``load``, from a descriptor, gives a one-dimensional block."""
    return len(load.results[0].type.shape) == 1


def _in_order(op: ir.Operation) -> list[ir.Operation]:
    found = []
    for region in op.regions:
        for block in region.blocks:
            for inner in block_ops(block):
                found += [inner, *_in_order(inner)]
    return found


# --- what the producer must not need ------------------------------------------------------------------------


def _memory(function: ir.Operation, ops: list[ir.Operation], fed: Iterable[ir.Operation]) -> Refusal | None:
    """Refusal because of a memory access of the kernel that loads must not pass; None if there is none."""
    for load in fed:
        if arguments_of(cast(load, DescriptorLoadOp).desc) is None:
            return Refusal(
                "a block is loaded from a descriptor that is not made in the kernel or given to it", load
            )
    for op in ops:
        if _orders_memory(op):
            return Refusal(f"{op.name} may order memory that blocks are loaded from", op)
        if may_have(op, WRITE_GLOBAL, WRITE_DESCRIBED) and any(_may_overlap(op, load) for load in fed):
            return Refusal("it writes memory that blocks may be loaded from", op)
    return None


def _orders_memory(op: ir.Operation) -> bool:
    """True if ``op`` may order memory accesses: it waits for other threads, or reads and writes atomically."""
    found = effects_of(op)
    return found is None or not found.isdisjoint(_SYNCHRONIZE) or found >= _ATOMIC


def _may_overlap(write: ir.Operation, read: ir.Operation) -> bool:
    """True if both may access the same memory; different arguments of a kernel do not overlap."""
    written = access_of(write)
    one = None if written is None else arguments_of(written.address)
    other = arguments_of(cast(read, DescriptorLoadOp).desc)
    return one is None or other is None or bool(one & other)


def _not_ahead(producer: Demand, loads: set[ir.Operation]) -> Refusal | None:
    """Refusal because of an op that the producer would need but cannot run; None if there is none."""
    writes = [op for op in all_ops(producer.function) if may_have(op, WRITE_GLOBAL, WRITE_DESCRIBED)]
    for op in _in_order(producer.function):
        name = op.name
        if op not in producer.ops:
            continue
        if op in loads or is_control(op) or isa(op, MakeTensorDescriptorOp, GridDependencyWaitOp):
            continue
        made = [r for r in op.results if tensor_info(r.type) is not None]
        if made:
            return Refusal(f"what is loaded depends on a tensor, by {name}", op)
        if not isa(op, LoadOp) and not is_rematerializable(op):
            return Refusal(f"what is loaded depends on {name}", op)
        if isa(op, LoadOp) and any(_may_overlap(w, op) for w in writes):
            return Refusal("what is loaded depends on memory that the kernel writes", op)
    return None


# --- the consumer -------------------------------------------------------------------------------------------


def _consumer(
    function: ir.Operation,
    ops: list[ir.Operation],
    loads: frozenset[ir.Operation],
    next_tiles: frozenset[ir.Operation],
) -> Demand:
    """All that has effects, and what it needs."""
    found = Demand(function, loads | next_tiles)
    for op in ops:
        inner = op != function and not (is_control(op.parent.operation) or isa(op.parent.operation, FuncOp))
        if (
            op == function
            or inner
            or is_control(op)
            or isa(op, WarpGroupDotOp, WarpGroupDotWaitOp)
            or has_at_most(op, *_NEEDED_FOR_RESULT)
        ):
            continue
        if not (is_view(op) or ends_region(op) or isa(op, *_KEPT_ANYWAY)):
            found.keep(op)
    # a loop in which blocks are loaded is there on both sides, even if nobody needs what it computes
    for load in loads:
        if load in found.ops:
            continue
        parent = load.parent.operation
        if parent != function:
            found.keep(parent)
    return found
