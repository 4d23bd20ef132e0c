"""Processes that judge cases: several at once, each with a limit of time, and a case that kills its own is a failure."""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing.connection import Connection
from typing import Any

from tri_conformance.case import Case
from tri_conformance.judge import Result, judge, weighed
from tri_conformance.levels import LEVELS
from tri_conformance.subject import Subject
from tri_core import knobs

__all__ = ["CaseDied", "Workers", "tool_limits"]

#: started anew: a fork would share the driver's state of the parent
_CONTEXT = multiprocessing.get_context("spawn")
#: for the first case of a process, which imports everything
_START_SECONDS = 120.0
#: of a case's time, what each tool in it may take, LLVM and then an assembler: their own limits come first, and are the answer;
#: half of the time is left for what runs in the process itself
_TOOL_SHARE = 0.25


class CaseDied(Exception):
    """The process that ran a case ended, or was ended for taking too long."""


def tool_limits(timeout: float | None) -> dict[str, float]:
    """By knob (``..._TIMEOUT``) the seconds that a tool may take in a case of ``timeout`` seconds (None: no limit)."""
    given = {name: float(knobs.get(name)) for name in knobs.known() if name.endswith("_TIMEOUT")}
    return {name: s if timeout is None else min(s, _TOOL_SHARE * timeout) for name, s in given.items()}


def _serve(pipe: Connection, subject: Subject, timeout: float | None) -> None:
    """Judge the cases whose ids come through ``pipe`` until None comes."""
    subject = Subject(subject.name, subject.given)  # with nothing that another process found out
    known: dict[str, dict[str, Case]] = {}
    with knobs.scope(**tool_limits(timeout)):
        while (asked := pipe.recv()) is not None:
            level, identity = asked
            if level not in known:
                known[level] = {case.id: case for case in LEVELS[level]()}
            made = judge(known[level][identity], subject)
            pipe.send((made.verdict, made.detail, made.seconds))


class _Worker:
    """One process, started with the first case and again after each that it did not survive."""

    def __init__(self, subject: Subject, timeout: float | None) -> None:
        self._subject = subject
        self._timeout = timeout
        self._process: Any = None
        self._pipe: Any = None

    def ask(self, case: Case) -> tuple[Any, str, float]:
        """Verdict, detail and seconds; CaseDied when there is no answer."""
        fresh = self._process is None
        if fresh:
            self._start()
        self._pipe.send((case.level, case.id))
        limit = None if self._timeout is None else self._timeout + (_START_SECONDS if fresh else 0)
        try:
            if not self._pipe.poll(limit):
                raise CaseDied(f"no answer after {limit:g} s")
            answer: tuple[Any, str, float] = self._pipe.recv()
        except (EOFError, ConnectionError):
            self._process.join()
            code = self._process.exitcode
            self.stop()
            raise CaseDied(f"the process that ran it ended with exit code {code}") from None
        except CaseDied:
            self.stop()
            raise
        return answer

    def _start(self) -> None:
        self._pipe, theirs = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(
            target=_serve, args=(theirs, self._subject, self._timeout), daemon=True
        )
        self._process.start()
        theirs.close()  # so that the end of the process is the end of the pipe

    def stop(self) -> None:
        """End the process, whatever it does."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._pipe.close()
            self._process = None


class Workers:
    """``count`` processes that judge cases of one target; ``timeout`` in seconds for each case (None: no limit)."""

    def __init__(self, subject: Subject, count: int, timeout: float | None = None) -> None:
        self._subject = subject
        self._timeout = timeout
        self._own = threading.local()
        self._all: list[_Worker] = []
        self._threads = ThreadPoolExecutor(count, "tri-conformance")

    def start(self, cases: Iterable[Case]) -> dict[str, Future[Result]]:
        """The results to come, by the ids of ``cases``."""
        return {case.id: self._threads.submit(self._judge, case) for case in cases}

    def _judge(self, case: Case) -> Result:
        if not hasattr(self._own, "worker"):
            self._own.worker = _Worker(self._subject, self._timeout)
            self._all.append(self._own.worker)
        start = time.perf_counter()
        try:
            verdict, detail, seconds = self._own.worker.ask(case)
        except CaseDied as died:
            return weighed(case, self._subject.profile, died, time.perf_counter() - start)
        return Result(case=case, verdict=verdict, detail=detail, seconds=seconds)

    def close(self) -> None:
        """End the processes; cases that have not begun are not run."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for worker in self._all:
            worker.stop()
