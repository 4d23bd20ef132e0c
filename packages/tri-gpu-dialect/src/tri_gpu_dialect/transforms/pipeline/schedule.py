"""A schedule of a loop as a value: the stage and the cluster of every op of its body, as in MLIR's pipelining of ``scf.for``.

An op of stage ``s`` runs ``s`` iterations of the new loop after the ops of stage 0 of its own iteration; ops of one iteration of
the new loop stand in the order of their clusters, and within a cluster as in the old body.  Where one stage runs alone, before or behind
the new loop, its ops stand as in the old body.  Nothing else of a pipelined
loop is decided elsewhere: :class:`~tri_gpu_dialect.transforms.pipeline.expander.Expander` writes it from this.

What is carried belongs to a stage as well: to the first stage that reads it, or, if that is later, to the one that makes what it
becomes.  Ops of later stages read it, and what earlier stages made, from values that are *forwarded*: carried on, once for each
stage between.  Ops of the stage right before may read what it becomes, which is what they find in their own iteration.

A modulo schedule (Rau, Iterative modulo scheduling, 1994) with an initiation interval of one iteration of the new loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tri_core.errors import InternalError
from tri_core.forks import cached_property
from tri_core.ir.regions import For
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect.edit import all_ops, block_ops

__all__ = ["Carried", "Forwarded", "Place", "Schedule"]


@dataclass(frozen=True, order=True)
class Place:
    """Position of an op in the schedule: its ``stage``, from 0, and the ``cluster`` of the new loop's body,
    in order.
    """

    stage: int
    cluster: int = 0


@dataclass(frozen=True)
class Carried:
    """A value from iteration to iteration: ``argument`` of the body, ``init`` in the first, ``end`` of each for the next."""

    argument: ir.Value
    init: ir.Value
    end: ir.Value


@dataclass(frozen=True)
class Forwarded:
    """``value`` of stage ``stage`` for ops of a later one, ``lag`` iterations of the new loop on."""

    value: ir.Value
    stage: int
    lag: int


@dataclass(frozen=True)
class Schedule:
    """The ``places`` of all ops of the body of ``loop``, an ``scf.for``, in ``stages`` stages.

    ``added``: what is carried beside the loop's own values; ``counted``: the stage whose iterations the new loop's variable counts
    (-1: the last one).  Raises InternalError for an op without a place, and where an op would read what no iteration has made.
    """

    loop: ir.Operation
    places: Mapping[ir.Operation, Place]
    stages: int
    added: tuple[Carried, ...] = ()
    counted: int = -1

    def __post_init__(self) -> None:
        object.__setattr__(self, "counted", self.counted % self.stages)
        for op in self.ops:
            if op not in self.places:
                raise InternalError(f"{op.name} has no place in the schedule of its loop")
            self._check(op)

    def _check(self, op: ir.Operation) -> None:
        stage, variable = self.places[op].stage, For(self.loop).variable
        for value in self.used(op):
            if value == variable:  # it is computed for the stages before the one that counts
                continue
            made = self.stage_of(value)
            if made is None or made <= stage or (value in self.arguments and made == stage + 1):
                continue
            raise InternalError(f"{op.name} of stage {stage} reads what stage {made} makes")

    @cached_property
    def ops(self) -> tuple[ir.Operation, ...]:
        """The ops of the body in their order, without its terminator."""
        return tuple(block_ops(For(self.loop).body)[:-1])

    @cached_property
    def order(self) -> tuple[ir.Operation, ...]:
        """The ops as an iteration of the new loop has them."""
        return tuple(sorted(self.ops, key=lambda op: self.places[op].cluster))

    @cached_property
    def carried(self) -> tuple[Carried, ...]:
        """Iter_args of the loop, and added ones."""
        loop = For(self.loop)
        own = zip(
            loop.carried, loop.inits, loop.yielded, strict=False
        )  # added arguments are behind the loop's own
        return (*(Carried(*each) for each in own), *self.added)

    @cached_property
    def arguments(self) -> dict[ir.Value, Carried]:
        """Iter_args by their block argument in the body."""
        return {each.argument: each for each in self.carried}

    @cached_property
    def _made_in(self) -> dict[ir.Value, int]:
        found = {r: self.places[op].stage for op in self.ops for r in op.results if op in self.places}
        found[For(self.loop).variable] = self.counted
        return found

    @cached_property
    def _stages_of_carried(self) -> dict[ir.Value, int]:
        readers: dict[ir.Value, int] = {}
        for op in self.ops:
            for value in self.used(op):
                if value in self.arguments:
                    stage = self.places[op].stage
                    readers[value] = min(stage, readers.get(value, stage))
        found = {a: readers.get(a, self.stages - 1) for a in self.arguments}
        changed = True
        while changed:
            changed = False
            for argument, each in self.arguments.items():
                made = found.get(each.end, self._made_in.get(each.end, 0))
                if made > found[argument]:
                    found[argument], changed = made, True
        return found

    def used(self, op: ir.Operation) -> Iterator[ir.Value]:
        """Values that ``op``, including its regions, reads."""
        for inner in all_ops(op) if len(op.regions) else (op,):
            yield from inner.operands

    def stage_of(self, value: ir.Value) -> int | None:
        """The stage that ``value`` belongs to; None for what is from outside of the loop, or within an op of its body."""
        stage = self._stages_of_carried.get(value)
        return self._made_in.get(value) if stage is None else stage

    @cached_property
    def coming(self) -> dict[ir.Operation, tuple[ir.Value, ...]]:
        """Arguments that an op reads as what they become in the stage behind its own; ops without such are left out."""
        found = {op: tuple(self._coming(op)) for op in self.ops}
        return {op: values for op, values in found.items() if values}

    def _coming(self, op: ir.Operation) -> Iterator[ir.Value]:
        behind = self.places[op].stage + 1
        return (v for v in self.used(op) if v in self.arguments and self.stage_of(v) == behind)

    @cached_property
    def forwarded(self) -> tuple[Forwarded, ...]:
        """Values that later stages read from earlier ones, in order of use, with a copy for each iteration
        between.
        """
        sent: dict[ir.Value, tuple[int, int]] = {}
        reads = [(v, self.places[op].stage) for op in self.ops for v in self.used(op)]
        reads += [(c.end, self._stages_of_carried[c.argument]) for c in self.carried]
        for value, reader in reads:
            made = self.stage_of(value)
            if made is not None and made < reader:
                _, most = sent.get(value, (made, 0))
                sent[value] = made, max(most, reader - made)
        return tuple(
            Forwarded(value, stage, lag)
            for value, (stage, most) in sent.items()
            for lag in range(1, most + 1)
        )
