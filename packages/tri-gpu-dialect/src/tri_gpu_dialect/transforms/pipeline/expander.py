"""Writes a loop anew by its :class:`~tri_gpu_dialect.transforms.pipeline.schedule.Schedule`: the one expander that there is.

    prologue   stages 0 .. k, for k = 0 .. stages - 2: what must have run before the new loop begins
    kernel     the new loop: all stages, each of another iteration of the old one
    epilogue   where the last iterations are *peeled*: the stages that the new loop has not run for them

Without an epilogue the new loop runs as often as the old one, and its earlier stages run beyond the end: what they do there is
predicated, or does no harm.  As in MLIR's ``PipeliningOption``, who pipelines says how an op is predicated, and may change ops
by the part that they are copied to.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import field

from tri_core.errors import InternalError
from tri_core.ir.regions import For, If
from tri_core.ir.rewriting import clone_mapped, for_like
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_core.passes.loops import known_trips
from tri_gpu_dialect.transforms.pipeline.building import add, build, integer, less, multiply, subtract
from tri_gpu_dialect.transforms.pipeline.schedule import Schedule

__all__ = ["Expander", "Part", "State"]

#: what the new loop carries: the old one's values and what is added, then what is forwarded; None: not made yet
State = list[ir.Value | None]
_Known = MutableMapping[ir.Value, ir.Value]


class Part(enum.Enum):
    """Part of the pipelined loop that receives a copy of an op."""

    PROLOGUE = enum.auto()
    KERNEL = enum.auto()
    EPILOGUE = enum.auto()


def _as_they_are(op: ir.Operation, made: ir.Operation, part: Part) -> None:
    """Copies are like the ops of the old loop."""


@dataclass
class Expander:
    """Writes the loop of ``schedule`` anew.

    ``peel``: the last iteration is behind the new loop, for schedules of two stages (else: earlier stages run beyond the end).
    ``predicate``: gives what stands for an op, with what is ``known`` of its operands, where it is to do nothing unless ``live``; None:
    a copy of it.  Without it, ops do no harm in iterations that there are not.  ``annotate``: changes a copy that was made of an op in
    some part.  ``guarded``: what is written stands where the old loop has an iteration.
    ``attributes`` and ``without``: of the new loop, against those of the old one.
    """

    schedule: Schedule
    peel: bool = False
    predicate: Callable[[ir.Operation, Mapping[ir.Value, ir.Value], ir.Value], ir.Operation | None] | None = (
        None
    )
    annotate: Callable[[ir.Operation, ir.Operation, Part], None] = _as_they_are
    attributes: Mapping[str, ir.Attribute] = field(default_factory=dict)
    without: Sequence[str] = ("tt.num_stages",)
    guarded: bool = False

    def __post_init__(self) -> None:
        if self.peel and self.schedule.stages != 2:
            raise InternalError(f"the last iteration of {self.schedule.stages} stages cannot be peeled")
        if not self.peel and self.schedule.counted != self.schedule.stages - 1:
            raise InternalError(
                "the new loop counts the last stage's iterations where earlier ones run beyond the end"
            )
        self.loop = For(self.schedule.loop)
        self.last_stage = self.schedule.stages - 1
        self.trips = known_trips(self.schedule.loop)
        self.indices = [self.loop.lower]
        self.lives: dict[int, ir.Value] = {}

    def run(self) -> ir.Operation:
        """Replace the loop; gives the new one."""
        old = self.schedule.loop
        with ir.InsertionPoint(old), old.location:
            made = self.kernel(self.prologue([each.init for each in self.schedule.carried]))
            results: Sequence[ir.Value] = list(made.results)
            if self.peel:
                results = self.epilogue_if_any(results)
        for number, result in enumerate(old.results):
            self.check_result(number, result)
            result.replace_all_uses_with(results[number])
        old.erase()
        return made

    def check_result(self, number: int, result: ir.Value) -> None:
        """Check that a loop result carried by a stage which runs beyond the end is unused; InternalError
        otherwise.
        """
        stage = self.schedule.stage_of(self.schedule.carried[number].argument)
        if not self.peel and stage != self.last_stage and next(iter(result.uses), None) is not None:
            raise InternalError(
                f"a result of the loop is carried by stage {stage}, which runs beyond its end"
            )

    def written(self, inits: Sequence[ir.Value]) -> list[ir.Value]:
        """The prologue from ``inits``, the new loop and the peeled last iteration, here; gives the results of the old loop."""
        return self.epilogue(list(self.kernel(self.prologue(inits)).results))

    @property
    def forwarded(self) -> list[ir.Value]:
        """Iter_args of the new loop after the old ones and the added ones."""
        return [each.value for each in self.schedule.forwarded]

    # --- parts --------------------------------------------------------------------------------------------

    def prologue(self, inits: Sequence[ir.Value]) -> list[ir.Value]:
        """The first iterations of all stages but the last, here; gives what the new loop carries."""
        state: State = [*inits, *([None] * len(self.schedule.forwarded))]
        for part in range(self.last_stage):
            state = _Copies(self, Part.PROLOGUE, range(part + 1), state, first=part).made()
        return _whole(state)

    def kernel(self, state: Sequence[ir.Value]) -> ir.Operation:
        """The new loop, here."""
        lower, upper, step = self.loop.bounds
        ahead = {s: self.distance(self.schedule.counted - s) for s in range(self.schedule.counted)}
        limits = (
            {} if self.peel or self.predicate is None else {s: subtract(upper, d) for s, d in ahead.items()}
        )
        if self.peel and self.schedule.counted == 0:
            lower = add(lower, step)
        elif self.peel:
            upper = subtract(upper, step)
        made = for_like(
            self.schedule.loop,
            [lower, upper, step],
            state,
            attributes=self.attributes,
            without=self.without,
        )
        block = made.regions[0].blocks[0]
        with ir.InsertionPoint(block):
            index, *carried = block.arguments
            copies = _Copies(
                self, Part.KERNEL, self.all, list(carried), index=index, ahead=ahead, limits=limits
            )
            ir.Operation.create("scf.yield", operands=_whole(copies.made()))
        return made

    def iteration(self, index: ir.Value, state: Sequence[ir.Value]) -> list[ir.Value]:
        """One iteration of the new loop at ``index``, here; gives what it carries on."""
        return _whole(_Copies(self, Part.KERNEL, self.all, list(state), index=index).made())

    def epilogue(self, state: Sequence[ir.Value]) -> list[ir.Value]:
        """The last stage of the last iteration, here; gives the results of the old loop."""
        index = self.last_index() if self.schedule.counted == self.last_stage else None
        copies = _Copies(self, Part.EPILOGUE, range(1, 2), list(state), index=index)
        return _whole(copies.made()[: len(self.loop.inits)])

    def epilogue_if_any(self, state: Sequence[ir.Value]) -> list[ir.Value]:
        """The epilogue, where the old loop has an iteration, here; gives its results."""
        live = self.live(0)
        if live is None:
            return self.epilogue(state)
        without = list(state[: len(self.loop.inits)])
        types = [v.type for v in without]
        branch = ir.Operation.create(If.OPERATION_NAME, results=types, operands=[live], regions=2)
        for region, runs in zip(branch.regions, (True, False), strict=True):
            with ir.InsertionPoint(region.blocks.append()):
                ir.Operation.create("scf.yield", operands=self.epilogue(state) if runs else without)
        return list(branch.results)

    # --- iterations ---------------------------------------------------------------------------------------

    @property
    def all(self) -> range:
        """The stages."""
        return range(self.schedule.stages)

    def distance(self, iterations: int) -> ir.Value:
        """Increment of the induction variable over ``iterations``, computed here."""
        step = self.loop.step
        return step if iterations == 1 else multiply(integer(step.type, iterations), step)

    def nth(self, iteration: int) -> ir.Value:
        """The variable in iteration number ``iteration``, computed where it was first asked for."""
        while len(self.indices) <= iteration:
            self.indices.append(add(self.indices[-1], self.loop.step))
        return self.indices[iteration]

    def live(self, iteration: int) -> ir.Value | None:
        """Condition (i1) that iteration ``iteration`` exists, computed at its first use; None if it always
        does.
        """
        if iteration < (self.trips or int(self.guarded)):
            return None
        if iteration not in self.lives:
            self.lives[iteration] = less(self.nth(iteration), self.loop.upper)
        return self.lives[iteration]

    def last_index(self) -> ir.Value:
        """The variable in the last iteration, here."""
        lower, upper, step = self.loop.bounds
        beyond_the_first = subtract(subtract(upper, lower), integer(upper.type, 1))
        steps = build("arith.divsi", [beyond_the_first, step], [upper.type])
        return add(lower, multiply(steps, step))


def _whole(state: State) -> list[ir.Value]:
    """``state`` where nothing is missing."""
    made = [value for value in state if value is not None]
    if len(made) != len(state):
        raise InternalError("a stage reads what the prologue has not made")
    return made


class _Copies:
    """Copies of the ops of some ``stages``, each of an iteration of its own, here.

    ``first``: in the prologue, the iteration that stage 0 is in; ``index``: elsewhere, the variable of the stage that is counted, to
    which ``ahead`` is added for the stages before; ``limits``: what ``index`` is below in iterations of those that there are.
    """

    def __init__(
        self,
        expander: Expander,
        part: Part,
        stages: range,
        state: State,
        *,
        first: int = 0,
        index: ir.Value | None = None,
        ahead: Mapping[int, ir.Value] | None = None,
        limits: Mapping[int, ir.Value] | None = None,
    ) -> None:
        self.expander, self.schedule, self.part = expander, expander.schedule, part
        self.stages, self.state = stages, state
        self.first, self.index = first, index
        self.ahead, self.limits = ahead or {}, limits or {}
        self.known: dict[int, _Known] = {stage: {} for stage in stages}
        self.lives: dict[int, ir.Value | None] = {}

    def made(self) -> State:
        """Make them; what is carried on."""
        self.enter()
        # one stage alone runs as it did
        for op in self.schedule.order if len(self.stages) > 1 else self.schedule.ops:
            stage = self.schedule.places[op].stage
            if stage in self.known:
                self.copy(op, stage)
        return self.left()

    def enter(self) -> None:
        """Initialise the values of each stage: iter_args, and values forwarded to it."""
        schedule = self.schedule
        for each, value in zip(schedule.carried, self.state, strict=False):
            stage = schedule.stage_of(each.argument)
            if stage in self.known and value is not None:
                self.known[stage][each.argument] = value
        for sent, value in zip(schedule.forwarded, self.state[len(schedule.carried) :], strict=True):
            if sent.stage + sent.lag in self.known and value is not None:
                self.known[sent.stage + sent.lag][sent.value] = value
        if self.index is not None and schedule.counted in self.known:
            self.known[schedule.counted][self.expander.loop.variable] = self.index

    def begin(self, stage: int) -> None:
        """Before the first op of ``stage``: its variable, and whether its iteration exists."""
        known, variable = self.known[stage], self.expander.loop.variable
        live = None
        if self.part is Part.PROLOGUE:
            iteration = self.first - stage
            if stage <= self.schedule.counted:
                known[variable] = self.expander.nth(iteration)
            live = self.expander.live(iteration) if self.expander.predicate is not None else None
        elif self.index is not None and stage < self.schedule.counted:
            distance = self.ahead.get(stage) or self.expander.distance(self.schedule.counted - stage)
            known[variable] = add(self.index, distance)
            if stage in self.limits:
                live = less(self.index, self.limits[stage])
        self.lives[stage] = live

    def copy(self, op: ir.Operation, stage: int) -> None:
        """``op`` of ``stage``, or what stands for it."""
        if stage not in self.lives:
            self.begin(stage)
        known, live = self.known[stage], self.lives[stage]
        for value in self.schedule.coming.get(op, ()):
            known[value] = self.coming(value, stage + 1)
        predicate = self.expander.predicate
        made = predicate(op, known, live) if predicate is not None and live is not None else None
        if made is None:
            made = clone_mapped(op, known)
        else:
            known.update(zip(op.results, made.results, strict=True))
        self.expander.annotate(op, made, self.part)

    def coming(self, argument: ir.Value, stage: int) -> ir.Value:
        """Value of ``argument``, carried by ``stage``, in that stage's next iteration."""
        if stage in self.known:
            return self.end(argument, stage)
        return self.schedule.arguments[argument].init

    def end(self, argument: ir.Value, stage: int) -> ir.Value:
        """Value that ``argument`` becomes in the current iteration of ``stage``."""
        end = self.schedule.arguments[argument].end
        if end not in self.known[stage] and self.schedule.stage_of(end) is not None:
            raise InternalError(f"what stage {stage} carries on is read before it is made")
        return self.known[stage].get(end, end)

    def left(self) -> State:
        """Values that are carried on."""
        schedule, after = self.schedule, State()
        for each, value in zip(schedule.carried, self.state, strict=False):
            stage = schedule.stage_of(each.argument)
            is_here = stage is not None and stage in self.known
            after.append(self.end(each.argument, stage) if is_here and stage is not None else value)
        old = dict(zip(schedule.forwarded, self.state[len(schedule.carried) :], strict=True))
        for sent in schedule.forwarded:
            if sent.lag > 1:
                before = next(f for f in old if f.value == sent.value and f.lag == sent.lag - 1)
                after.append(old[before])
            else:
                after.append(self.known.get(sent.stage, {}).get(sent.value))
        return after
