"""Programs that wait for others: these begin beside them, in threads of their own, and one runs at a time.

A program hands over when it has asked for words again and again while memory stayed as it is.  A launch in which
nobody waits runs in the launch's thread alone.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextvars import copy_context
from dataclasses import field

import numpy as np

from tri.interpreter.errors import KernelDeadlock
from tri.interpreter.location import here, instruction, variables
from tri.interpreter.program import RunningProgram
from tri_core import forks
from tri_core.errors import SourceLocation
from tri_core.lazy_dataclasses import dataclass

__all__ = ["Turns"]

logger = logging.getLogger(__name__)

Place = tuple[int, int, int]

#: requests for words that do not change, after which another program runs; of each program, after which none can go on
_PATIENCE = 64
_MOST = 512
#: requests after which a program that does not repeat itself is taken for one that waits: it counts, and never stops
_MOST_RETRIES = 1 << 20
#: plain loads of one word by one instruction after which a program is looked at: whether it only repeats itself
_REPEATED = 4096
#: instructions and words that are counted at a time
_COUNTED = 64
#: programs that a message names
_NAMED = 8


class _GivenUp(BaseException):
    """Another program has ended the launch with an error."""


@dataclass(eq=False)
class _Repeated:
    """Number of executions of a load with memory unchanged, and the variables at the last check."""

    count: int = 0
    variables: tuple[object, ...] = ()


@dataclass(eq=False)
class _Program:
    """A program that has ``asked`` so often for ``what``, in ``line``, since memory had changed ``changes`` times.

    ``repeats``: whether it was ``seen`` with the same variables before.
    """

    place: Place
    changes: int
    asked: int = 0
    line: SourceLocation | None = None
    what: str = ""
    repeats: bool = False
    seen: dict[object, tuple[object, ...]] = field(default_factory=dict)
    turn: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    @property
    def waits(self) -> bool:
        """True if the program cannot continue while memory is unchanged."""
        return self.asked >= (_MOST if self.repeats else _MOST_RETRIES)


class Turns:
    """Runs ``run(place)`` for each of ``places``; ``enter(place)`` comes before it begins or goes on."""

    def __init__(
        self,
        machine: RunningProgram,
        places: Iterator[Place],
        run: Callable[[], None],
        enter: Callable[[Place], None],
    ) -> None:
        self._machine, self._places, self._run, self._enter = machine, places, run, enter
        self._waiting: list[_Program] = []
        self._present: _Program | None = None
        self._threads: list[threading.Thread] = []
        self._error: BaseException | None = None
        self._ended = threading.Semaphore(0)
        #: how often memory has changed
        self.changes = 0
        self._loads: dict[object, _Repeated] = {}
        self._loads_since = 0

    def run_all(self) -> None:
        """Run every program to its end; KernelDeadlock when none can go on."""
        try:
            self._work(next(self._places, None))
            if self._waiting:
                self._waiting.pop(0).turn.release()
                self._ended.acquire()
        except BaseException as error:
            self._give_up(error)
        for thread in self._threads:
            thread.join()
        if self._error is not None:
            raise self._error

    def ask(self, what: Callable[[], str]) -> None:
        """The running program asks for words that others may change; ``what`` names them."""
        present = self._present
        if present is None:
            return
        if present.changes != self.changes:
            present.asked, present.changes = 0, self.changes
            present.seen, present.repeats = {}, False
        present.asked += 1
        if present.asked % _PATIENCE == 0:
            present.line, present.what = here(), what()
            present.repeats = self._is_repeated(present)
            self._hand_over(present)

    @staticmethod
    def _is_repeated(present: _Program) -> bool:
        """True if all variables that control the running program are as they were at its last poll by this
        instruction.
        """
        now, place = variables(), instruction()
        before = present.seen.get(place, ())
        if len(present.seen) > _COUNTED:
            present.seen.clear()
        present.seen[place] = now
        return _are_same(before, now)

    def ask_weakly(self, address: int, what: Callable[[], str]) -> None:
        """The running program loads the word at ``address``: it waits where all by which it decides stays as it is."""
        if self._loads_since != self.changes or len(self._loads) > _COUNTED:
            self._loads, self._loads_since = {}, self.changes
        repeated = self._loads.setdefault((self._present, instruction(), address), _Repeated())
        repeated.count += 1
        if repeated.count < _REPEATED or repeated.count % _PATIENCE:
            return
        before, repeated.variables = repeated.variables, variables()
        if _are_same(before, repeated.variables):
            for _ in range(_PATIENCE):
                self.ask(lambda: f"{what()}, by plain loads")
        elif repeated.count >= _MOST_RETRIES and self._present is not None:
            # it may be at work, so that no number of loads is a deadlock; what it may wait for gets its turn
            if repeated.count == _MOST_RETRIES:
                self._warn(self._present, what(), repeated.count)
            self._hand_over(self._present)

    def _warn(self, present: _Program, what: str, count: int) -> None:
        """Log that a program may be waiting for ever."""
        logger.warning(
            "program %s has loaded %s %d times%s while no memory changed: if it waits there, it may never end; wait by volatile "
            "loads or atomics",
            present.place,
            what,
            count,
            _at(here()),
        )

    def _work(self, place: Place | None) -> None:
        """Run the program ``place``, and those that nobody has begun."""
        while place is not None:
            self._present = _Program(place, self.changes)
            self._enter(place)
            self._run()
            self.changes += 1  # an end is something that happens
            place = next(self._places, None)

    def _beside(self, place: Place) -> None:
        """:meth:`_work` in a thread of its own; then others go on."""
        try:
            with np.errstate(all="ignore"):
                self._work(place)
        except BaseException as error:
            self._give_up(error)
            return
        (self._waiting.pop(0).turn if self._waiting else self._ended).release()

    def _hand_over(self, present: _Program) -> None:
        """Others run until it is the turn of ``present`` again."""
        self._waiting.append(present)
        follower = next((p for p in self._waiting if p.changes != self.changes), None)
        if follower is None and (place := next(self._places, None)) is not None:
            if not self._threads:
                forks.in_child(self._alone)
            context = copy_context()
            thread = threading.Thread(target=context.run, args=(self._beside, place), daemon=True)
            self._threads.append(thread)
            thread.start()
        else:
            if follower is None and all(p.waits for p in self._waiting):
                raise self._deadlock()
            follower = follower or self._waiting[0]
            self._waiting.remove(follower)
            follower.turn.release()
        present.turn.acquire()
        if self._error is not None:
            raise _GivenUp
        self._present = present
        self._enter(present.place)

    def _alone(self) -> None:
        """In a child that the running program has forked there is no other: the threads of those are the parent's."""
        self._waiting.clear()
        self._threads.clear()

    def _give_up(self, error: BaseException) -> None:
        """End all programs because of ``error``, the first."""
        if self._error is None and not isinstance(error, _GivenUp):
            self._error = error
        waiting, self._waiting = self._waiting, []
        for program in waiting:
            program.turn.release()
        self._ended.release()

    def _deadlock(self) -> KernelDeadlock:
        """Error with each waiting program and what it waits for."""
        lines = [
            f"program {p.place} waits{_at(p.line)} for {p.what}, asked {p.asked} times"
            for p in self._waiting[:_NAMED]
        ]
        if len(self._waiting) > _NAMED:
            lines.append(f"and {len(self._waiting) - _NAMED} more")
        return self._machine.kernel_error(
            f"deadlock: what all programs wait for never comes; {'; '.join(lines)}",
            KernelDeadlock,
            remedy="signal what the loop waits for, or have it end; wait by volatile loads or atomics",
        )


def _at(place: SourceLocation | None) -> str:
    return "" if place is None else f" at {place.file}:{place.line}:{place.column + 1}"


def _are_same(before: Sequence[object], now: Sequence[object]) -> bool:
    """True if variables are the same objects, or values of the same bits."""
    return len(before) == len(now) > 0 and all(
        a is b or _bits(a) == _bits(b) is not None for a, b in zip(before, now, strict=True)
    )


def _bits(value: object) -> object:
    """The value of a number, the bytes of a kernel's value; None for others."""
    if isinstance(value, bool | int | float | str):
        return value
    data = getattr(getattr(value, "handle", None), "data", None)
    return (data.dtype.str, data.shape, data.tobytes()) if isinstance(data, np.ndarray) else None
