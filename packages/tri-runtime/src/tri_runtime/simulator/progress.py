"""Check that threads terminate whatever the speed of each warp.

The simulator runs threads in one order, and those at the same place in step; hardware promises no order.  What they did
at barriers (:class:`Trace`) is therefore done again, in orders in which one warp is as late as can be: it goes on by one
act when no other warp can.  Who cannot come to the end then would wait forever on hardware.

Barriers let no thread go on sooner for another's being late, except that a barrier in memory tells a phase from the one
before by its parity alone, and counts what comes too early: these show when one warp lags as far as it may.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field

import numpy as np
import numpy.typing as npt

from tri_core.errors import SimulationError
from tri_core.lazy_dataclasses import dataclass
from tri_runtime.simulator.scene import Scene, numbers
from tri_runtime.simulator.synchronization import PhaseCount
from tri_runtime.simulator.trace import Act, Barrier, Trace

__all__ = ["check_progress"]

Mask = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.intp]

_REMEDY = (
    "let threads wait only for what others do without waiting for them, whatever the order in which warps run"
)


def check_progress(trace: Trace, scene: Scene) -> None:
    """SimulationError, check ``deadlock``, when in some order threads of ``trace`` would wait forever or come too early."""
    if trace.acts:
        parts = _Parts.of(trace)
        for slow in (None, *parts.slow_ones()):
            _Run(parts.cast(slow), scene).to_the_end()


@dataclass(frozen=True)
class _Parts:
    """Acts in which each thread has a part: those of its kind, ``acts[kinds[thread]]``; warps with the same
    ``alike`` have the same.
    """

    trace: Trace
    kinds: Numbers
    alike: Numbers
    #: by kind: the masks that have it, and the acts by number
    masks: Sequence[Numbers]
    acts: Sequence[Sequence[int]]

    @classmethod
    def of(cls, trace: Trace) -> _Parts:
        """Threads are of a kind that are in the same masks."""
        members, kinds = np.unique(np.stack(trace.masks), axis=1, return_inverse=True)
        kinds = kinds.reshape(-1)
        by_warp = np.pad(kinds, (0, -kinds.size % trace.lanes), constant_values=-1).reshape(-1, trace.lanes)
        alike = np.unique(by_warp, axis=0, return_inverse=True)[1].reshape(-1)
        acts = [[n for n, act in enumerate(trace.acts) if within[act.threads]] for within in members.T]
        return cls(trace, kinds, alike, [np.flatnonzero(within) for within in members.T], acts)

    def slow_ones(self) -> Iterator[int]:
        """Warps that may be late: of those that are alike, the first."""
        yield from np.unique(self.alike, return_index=True)[1].tolist()

    def cast(self, slow: int | None) -> _Cast:
        """Warps that are alike go together, but for ``slow``, which is one of its own."""
        warps = self.alike.copy()
        if slow is not None:
            warps[slow] = warps.max() + 1
        of_threads = warps[np.arange(self.kinds.size) // self.trace.lanes]
        pairs, counts = np.unique(np.stack([of_threads, self.kinds]), axis=1, return_counts=True)
        groups = [
            _Group(int(w), int(n), self.acts[k], (of_threads == w) & (self.kinds == k))
            for (w, k), n in zip(pairs.T, counts, strict=True)
        ]
        together: dict[tuple[int, int], tuple[int, ...]] = {}
        for number, (warp, kind) in enumerate(pairs.T):
            for mask in self.masks[kind]:
                key = int(warp), int(mask)
                together[key] = (*together.get(key, ()), number)
        return _Cast(self.trace, groups, together, None if slow is None else int(warps[slow]))


@dataclass(frozen=True)
class _Group:
    """``count`` threads (the mask ``threads``) of one or more warps in step, which do the same acts."""

    warp: int
    count: int
    acts: Sequence[int]
    threads: Mask


@dataclass(frozen=True)
class _Cast:
    """All ``groups``, and by (warp, mask of an act) those that do it together; the warp ``late`` is to be late."""

    trace: Trace
    groups: Sequence[_Group]
    together: dict[tuple[int, int], tuple[int, ...]]
    late: int | None

    def parts(self, number: int, warp: int) -> list[tuple[int, tuple[int, ...]]]:
        """The acts of the op of act ``number`` that lanes of ``warp`` do, and the groups that do each."""
        acts, found = self.trace.acts, []
        for n in range(acts[number].op, len(acts)):
            if acts[n].op != acts[number].op:
                break
            if (warp, acts[n].threads) in self.together:
                found.append((n, self.together[warp, acts[n].threads]))
        return found


@dataclass
class _BarrierState:
    """A barrier at which threads synchronise: how many have arrived since it was passed last, and how often it was passed."""

    arrived: int = 0
    times: int = 0
    #: by group: which time it came last
    last: dict[int, int] = field(default_factory=dict)


class _Run:
    """The acts of a cast in an order in which its late warp, or none, is late."""

    def __init__(self, cast: _Cast, scene: Scene) -> None:
        self._cast, self._scene = cast, scene
        self._late = [n for n, group in enumerate(cast.groups) if group.warp == cast.late]
        self._at = [0] * len(cast.groups)
        self._left = sum(group.count for group in cast.groups)
        self._states: dict[Barrier, _BarrierState] = {}
        self._phases: dict[Barrier, PhaseCount] = {}
        self._copied: set[int] = set()
        for group, each in enumerate(cast.groups):
            if not each.acts:
                self._leave(group)

    def to_the_end(self) -> None:
        """SimulationError when some do not come there."""
        groups = self._cast.groups
        others = [n for n in range(len(groups)) if n not in self._late]
        while any(self._as_far_as_it_goes(g) for g in others) or any(self._one_act(g) for g in self._late):
            pass
        if any(at < len(each.acts) for at, each in zip(self._at, groups, strict=True)):
            raise self._stuck()

    def _as_far_as_it_goes(self, group: int) -> bool:
        moved = False
        while self._one_act(group):
            moved = True
        return moved

    def _one_act(self, group: int) -> bool:
        """Do the next act of ``group``, with the other lanes of its warp that do it too; whether they could."""
        number = self._next(group)
        if number is None:
            return False
        parts = self._cast.parts(number, self._cast.groups[group].warp)
        # the first of them acts for all
        if group != parts[0][1][0] or any(self._next(g) != n for n, groups in parts for g in groups):
            return False
        for n, groups in parts:
            # only an act that is an op of its own may have to wait
            if not self._done(n, self._cast.trace.acts[n], groups):
                return False
            self._go_on(groups)
        return True

    def _go_on(self, groups: Sequence[int]) -> None:
        for group in groups:
            self._at[group] += 1
            if self._next(group) is None:
                self._leave(group)

    def _next(self, group: int) -> int | None:
        acts, at = self._cast.groups[group].acts, self._at[group]
        return acts[at] if at < len(acts) else None

    def _leave(self, group: int) -> None:
        """Its threads leave the kernel: barriers of all that are left do not wait for them."""
        self._left -= self._cast.groups[group].count
        for state in (m for barrier, m in self._states.items() if barrier.kind == "cluster"):
            self._hold(state, self._left)

    # --- acts ---------------------------------------------------------------------------------------------

    def _done(self, number: int, act: Act, groups: Sequence[int]) -> bool:
        """Do an act; False when it must wait."""
        if act.what == "join":
            self._join(act, groups)
            return True
        if act.what == "pass":
            state = self._states[act.barrier]
            return state.times > state.last[groups[0]]
        if act.what == "start":
            self._phases[act.barrier] = PhaseCount(act.number)
            return True
        phase = self._phases.get(act.barrier)
        return phase is not None and self._at_phase(number, act, phase, groups)

    def _join(self, act: Act, groups: Sequence[int]) -> None:
        state = self._states.setdefault(act.barrier, _BarrierState())
        if any(state.last.get(g) == state.times for g in groups):
            raise self._error(
                act, groups, f"{self._description(groups)} come to {act.barrier} again before it was passed"
            )
        state.arrived += self._threads(groups)
        state.last.update(dict.fromkeys(groups, state.times))
        self._hold(state, act.number or self._left)

    @staticmethod
    def _hold(state: _BarrierState, count: int) -> None:
        if 0 < state.arrived >= count:
            state.arrived, state.times = 0, state.times + 1

    def _at_phase(self, number: int, act: Act, phase: PhaseCount, groups: Sequence[int]) -> bool:
        if act.what == "wait":
            return phase.phase % 2 != act.number % 2
        if act.what == "end":
            del self._phases[act.barrier]
        elif act.what == "arrive":
            self._arrive(act, phase, groups)
        elif number not in self._copied:
            self._copied.add(number)
            phase.pending_bytes -= act.nbytes
            phase.goes_on()
        return True

    def _arrive(self, act: Act, phase: PhaseCount, groups: Sequence[int]) -> None:
        count = self._threads(groups)
        phase.arrived += count
        phase.pending_bytes += act.nbytes * count // act.number
        if phase.arrived > phase.count:
            message = (
                f"{phase.arrived} threads arrive at {act.barrier}, which is for {phase.count}, in one phase"
            )
            raise self._error(act, groups, message)
        phase.goes_on()

    def _threads(self, groups: Sequence[int]) -> int:
        return sum(self._cast.groups[g].count for g in groups)

    # --- errors -------------------------------------------------------------------------------------------

    def _error(self, act: Act, groups: Sequence[int], message: str) -> SimulationError:
        late = f" where {self._description(self._late)} are late" if self._late else ""
        self._scene.site = act.site
        return self._scene.error(
            "deadlock", f"deadlock{late}: {message}", thread=self._first(groups[0]), remedy=_REMEDY
        )

    def _stuck(self) -> SimulationError:
        acts = self._cast.trace.acts
        waiting: dict[int, list[int]] = {}
        for group in sorted(range(len(self._cast.groups)), key=self._first):
            number = self._next(group)
            if number is not None:
                waiting.setdefault(number, []).append(group)
        lines = [
            f"{self._description(groups)} wait for {self._what(acts[n])}" for n, groups in waiting.items()
        ]
        first, groups = next(iter(waiting.items()))
        return self._error(acts[first], groups, "; ".join(lines[:8]))

    def _first(self, group: int) -> int:
        """The first thread of ``group``."""
        return int(self._cast.groups[group].threads.argmax())

    def _description(self, groups: Sequence[int]) -> str:
        """The threads of ``groups``."""
        return numbers(np.logical_or.reduce([self._cast.groups[g].threads for g in groups]))

    def _what(self, act: Act) -> str:
        """Description of the barrier waited for, and its place."""
        text = str(act.barrier)
        if act.what == "pass":
            state = self._states[act.barrier]
            text += f", where {state.arrived} of {act.number or self._left} threads are"
        elif act.what == "wait" and act.barrier in self._phases:
            text += f" ({self._phases[act.barrier]})"
        return text + self._scene.describe(act.site)
