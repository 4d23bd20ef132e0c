"""Scheduling of programs: one after the other, or as a schedule says; and detection of deadlock."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence

from tri_core.errors import SimulationError, TriError
from tri_core.lazy_dataclasses import dataclass
from tri_runtime.simulator.cluster import Cluster
from tri_runtime.simulator.cta import CTA
from tri_runtime.simulator.memory import Memory
from tri_runtime.simulator.polls import Poll
from tri_runtime.simulator.schedule import Schedule

__all__ = ["Place", "Running", "run_programs"]

Place = tuple[int, int, int]

#: time slices after which another program starts in any case
_MOST_SLICES = 1024
#: basic blocks, and accesses that ask for a word, after which a program that a schedule runs lets others run
_PATIENCE = 64
#: accesses that ask for a word, loads that give old bytes, and basic blocks, without any change of memory, of which one
#: must be after which a program that only repeats itself waits forever: its warps have all had turns
_POLLS = 2048
_OLD_LOADS = 256
_BLOCKS = 1 << 13
#: time slices in a row in which it repeats itself
_REPEATS = 8
#: accesses that ask, and basic blocks, after which one that does not repeat itself is taken for one that waits
_MOST_POLLS = 1 << 17
_MOST_BLOCKS = 1 << 22
#: programs that a message names
_NAMED = 8


@dataclass(eq=False)
class Running:
    """A program between time slices, the last ``repeats`` of which only brought it where it was before.

    ``since``: its steps when memory last changed.
    """

    cta: CTA | Cluster[CTA]
    execution: Iterator[None]
    repeats: int = 0
    since: int = 0

    @property
    def members(self) -> Sequence[CTA]:
        """The CTAs that run it."""
        return self.cta.members if isinstance(self.cta, Cluster) else [self.cta]

    @property
    def steps(self) -> int:
        """Basic blocks that it has run."""
        return sum(cta.steps for cta in self.members)

    def polls(self, memory: Memory) -> list[tuple[CTA, Poll]]:
        """Polls of its CTAs since memory has changed."""
        found = [(cta, memory.polls.last(cta, memory.changes)) for cta in self.members]
        return [(cta, poll) for cta, poll in found if poll is not None]

    def asks(self, memory: Memory) -> int:
        """Number of polls."""
        return max((poll.count for _, poll in self.polls(memory)), default=0)

    def old_loads(self, memory: Memory) -> int:
        """Number of loads whose locations others have changed since."""
        return 0 if memory.weak is None else max(memory.weak.old_loads(cta) for cta in self.members)


def run_programs(places: Iterator[Place], start: Callable[[Place], Running], memory: Memory) -> None:
    """Run the programs of ``places``; SimulationError when none can go on."""
    if memory.schedule is not None:
        _run_scheduled(places, start, memory, memory.schedule)
    else:
        _run_in_order(places, start, memory)


def _run_in_order(places: Iterator[Place], start: Callable[[Place], Running], memory: Memory) -> None:
    """Run the programs of ``places`` one after the other.

    One that runs for a time slice without changing global memory may wait for another: then the next starts beside it.
    When none is left to start, and all come back to where they were with nothing changed, they are stuck; also when all
    have asked many times for words that do not change.
    """
    running: deque[Running] = deque()
    idle = stuck = slices = 0
    while True:
        if idle >= len(running) or slices > _MOST_SLICES:
            place = next(places, None)
            if place is not None:
                running.appendleft(start(place))
                idle = stuck = slices = 0
            elif not running:
                return
            elif stuck > len(running) or (idle >= len(running) and _wait_long(running, memory)):
                if memory.weak is None or not memory.weak.settle():
                    raise _stuck(memory, running)
                idle = stuck = slices = 0
        slices += 1
        finished, changed, same = _time_slice(running[0], memory)
        if finished:
            running.popleft()
        else:
            running.rotate(-1)
        idle = 0 if finished or changed else idle + 1
        stuck = stuck + 1 if same and not changed and not finished else 0


def _run_scheduled(
    places: Iterator[Place], start: Callable[[Place], Running], memory: Memory, schedule: Schedule
) -> None:
    """Run the programs of ``places`` as ``schedule`` says.

    One that runs long, or asks often, without any change of memory lets others run, until something changes.
    """
    running: list[Running] = []
    window = schedule.window
    while True:
        while len(running) < window and (place := next(places, None)) is not None:
            running.insert(schedule.random.randint(0, len(running)), start(place))
        if not running:
            return
        ready = [p for p in running if p.steps - p.since < _PATIENCE and p.asks(memory) < _PATIENCE]
        if not ready:
            if memory.weak is not None and memory.weak.settle():
                _changed(running)
                continue
            if (place := next(places, None)) is not None:
                running.append(start(place))
                window += 1
                continue
            if _wait_forever(running, memory):
                raise _stuck(memory, running)
            # none that goes on only when others do not may keep these from it
            ready = [min(running, key=lambda p: p.steps - p.since)]
            waits = True
        else:
            waits = False
        program = schedule.choose(ready)
        before = memory.changes
        finished, _, _ = _time_slice(program, memory, compares=waits)
        if finished:
            running.remove(program)
        if finished or memory.changes != before:
            _changed(running)


def _changed(running: Sequence[Running]) -> None:
    """Memory is another one: all may go on."""
    for program in running:
        program.since, program.repeats = program.steps, 0


def _time_slice(program: Running, memory: Memory, *, compares: bool = True) -> tuple[bool, bool, bool]:
    """One time slice: whether the program finished, changed memory, and is where it was before."""
    scene, before = memory.scene, memory.changes
    scene.program = program.cta.program_id
    try:
        finished = next(program.execution, Running) is Running
    except TriError as error:
        error.location = error.location or scene.place()
        raise
    changed = memory.changes != before
    same = compares and not finished and program.cta.repeats(memory.changes)
    program.repeats = program.repeats + 1 if same else 0
    if finished or changed:
        program.since = program.steps
    return finished, changed, same


def _wait_forever(running: Sequence[Running], memory: Memory) -> bool:
    """True if each program repeats itself, and has polled or run so long, with memory unchanged, that it
    never terminates.
    """
    return all(
        p.repeats >= _REPEATS
        and (
            p.asks(memory) >= _POLLS
            or p.old_loads(memory) >= _OLD_LOADS
            or p.steps - p.since >= _BLOCKS * len(p.members)
        )
        for p in running
    ) or _wait_long(running, memory)


def _wait_long(running: Sequence[Running] | deque[Running], memory: Memory) -> bool:
    """True if each program has polled or run longer, with memory unchanged, than any that terminates."""
    return all(p.asks(memory) >= _MOST_POLLS or p.steps - p.since >= _MOST_BLOCKS for p in running)


def _stuck(memory: Memory, running: Sequence[Running] | deque[Running]) -> SimulationError:
    """Error with each waiting program and what it waits for."""
    scene = memory.scene
    lines: list[str] = []
    stale = False
    ordered = sorted(running, key=lambda p: p.cta.program_id[::-1])
    for program in ordered[:_NAMED]:
        scene.program = program.cta.program_id
        polls = program.polls(memory)
        if polls:
            _, poll = polls[0]
            scene.site = poll.site if not lines else scene.site
            lines.append(
                f"program {program.cta.program_id} waits{scene.describe(poll.site)} for {memory.describe(poll.address)}: "
                f"{memory.shown(poll.address, poll.nbytes)} there for {poll.count} accesses"
            )
            continue
        late = program.old_loads(memory) > 0
        stale = stale or late
        cached = ": its plain loads give what is in its cache, and others have stored since" * late
        load = next(
            filter(None, (memory.polls.last_load(cta, memory.changes) for cta in program.members)), None
        )
        if load is None:
            lines.append(f"program {program.cta.program_id} loops{cached}")
            continue
        scene.site = load.site if not lines else scene.site
        lines.append(
            f"program {program.cta.program_id} loops and loads{scene.describe(load.site)} "
            f"{memory.describe(load.address)}: {memory.shown(load.address, load.nbytes)} there{cached}"
        )
    if len(ordered) > _NAMED:
        lines.append(f"and {len(ordered) - _NAMED} more")
    scene.program = ordered[0].cta.program_id
    count = len(ordered)
    programs = "one program loops" if count == 1 else f"{count} programs loop"
    return scene.error(
        "weak-wait" if stale else "deadlock",
        f"deadlock: {programs} without storing anything: what they wait for never comes; {'; '.join(lines)}",
        remedy="wait by volatile loads or atomics (tl.atomic_add(p, 0, sem='acquire'))"
        if stale
        else "signal what the loop waits for, or have it end",
    )
