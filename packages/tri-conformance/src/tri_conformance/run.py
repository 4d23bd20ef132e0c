"""One run of the kit: its cases, results, and where the reports go."""

from __future__ import annotations

import time
from concurrent.futures import Future

from tri_conformance.case import Case
from tri_conformance.judge import Result, judge, unused
from tri_conformance.selection import Selection, cases
from tri_conformance.subject import Subject
from tri_conformance.workers import Workers
from tri_core.forks import cached_property

__all__ = ["Run"]


class Run:
    """The cases that ``selection`` picks for ``subject``, and what came of those judged so far.

    OptionError when it picks none.  With several ``jobs``, or a ``timeout`` (seconds for a case), cases run in processes of their own.
    """

    def __init__(
        self, subject: Subject, selection: Selection, *, jobs: int = 1, timeout: float | None = None
    ) -> None:
        self.subject = subject
        self.selection = selection
        #: what is run, and how many cases of the levels are not
        self.cases, self.left_out = cases(selection)
        self._workers = Workers(subject, jobs, timeout) if jobs > 1 or timeout else None
        self.results: list[Result] = []
        self.started = time.time()
        self.seconds = 0.0

    @property
    def unused(self) -> list[str]:
        """Declarations that match no case; [] unless all cases are run."""
        return unused(self.subject.profile, self.cases) if self.selection.is_whole else []

    @property
    def ok(self) -> bool:
        """True if every case has a verdict, none is a failure, and every declaration is used."""
        failed = any(result.verdict == "failed" for result in self.results)
        return not failed and len(self.results) == len(self.cases) and not self.unused

    def judge(self, case: Case) -> Result:
        """The verdict on ``case``, kept."""
        result = self._futures[case.id].result() if self._workers else judge(case, self.subject)
        self.results.append(result)
        return result

    @cached_property
    def _futures(self) -> dict[str, Future[Result]]:
        """Begins with all cases."""
        return self._workers.start(self.cases) if self._workers else {}

    def close(self) -> None:
        """End what still runs."""
        if self._workers:
            self._workers.close()

    def all(self) -> Run:
        """Judge every case; gives the run itself."""
        for case in self.cases:
            self.judge(case)
        self.close()
        self.seconds = time.time() - self.started
        return self
