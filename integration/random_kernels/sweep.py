"""A sweep: batches of kernels, each drawn from a seed of its own, checked by processes that survive what they check."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings

from integration.random_kernels.failures import DISAGREEMENT, Failure, FailureFound
from integration.random_kernels.program import RandomKernel
from integration.random_kernels.runner import Answer, Runner
from integration.random_kernels.running import difference, run
from integration.random_kernels.strategy import random_kernels
from integration.random_kernels.triton_interpreter import NAME as TRITON
from integration.random_kernels.triton_interpreter import TritonError, TritonInterpreter, excused

__all__ = ["BATCH", "Batch", "Result", "check_batch"]

#: kernels that are drawn from one seed
BATCH = 50
#: seconds for the shrinking of one failure
_SHRINKING = 120.0


@dataclass(frozen=True)
class Batch:
    """``count`` kernels drawn from ``seed``; ``known`` failures and what they explain are counted, not reported."""

    number: int
    count: int
    seed: int
    targets: tuple[str, ...]
    triton_python: str = ""
    limit: float = 120.0
    known: tuple[Failure, ...] = ()


@dataclass
class Result:
    """Of a batch: refusals by target and reason, new failures, and how many kernels failed in a known way."""

    number: int
    count: int
    refused: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)
    explained: Counter[str] = field(default_factory=Counter)
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))


@cache
def _runner() -> Runner:
    return Runner()


@cache
def _triton(python: str) -> TritonInterpreter:
    return TritonInterpreter(python)


def _ask(batch: Batch, kernel: RandomKernel, target: str) -> Answer:
    if target != TRITON:
        return _runner().run(kernel, target)
    if reason := excused(kernel):
        return Answer(None, "Excused", reason, refused=True)
    try:
        return Answer(_triton(batch.triton_python).run(kernel))
    except TritonError as error:
        return Answer(None, type(error).__name__, str(error))


@dataclass
class _Search:
    """One run of hypothesis: until a failure, and then the shrinking of it."""

    batch: Batch
    result: Result
    checked: int = 0
    found: Failure | None = None
    began: float = 0.0
    failed: dict[str, Failure] = field(default_factory=dict)

    def check(self, kernel: RandomKernel) -> None:
        if self.found is not None:
            self._shrink(kernel, self.found)
            return
        self.checked += 1
        for failure in self._failures(kernel, self.batch.targets):
            known = next((f for f in (*self.batch.known, *self.result.failures) if f.explains(failure)), None)
            if known is None:
                self.found, self.began = failure, time.monotonic()
                self._fail(failure)
            else:
                self.result.explained[known.name] += 1
        _runner().end_of_kernel()

    def _fail(self, failure: Failure) -> None:
        self.failed[failure.kernel.source] = failure
        raise FailureFound(failure)

    def _shrink(self, kernel: RandomKernel, found: Failure) -> None:
        """Fail again in the same way; after a while only for kernels that did."""
        if kernel.source in self.failed:
            self._fail(self.failed[kernel.source])
        if time.monotonic() - self.began > _SHRINKING:
            return
        for failure in self._failures(kernel, (found.target,)):
            if failure.kind == found.kind and (
                found.kind == DISAGREEMENT or failure.message == found.message
            ):
                self._fail(failure)

    def _failures(self, kernel: RandomKernel, targets: Sequence[str]) -> list[Failure]:
        expected = run(kernel, "numpy")
        failures = []
        for target in targets:
            if target == "numpy":
                continue
            before = time.monotonic()
            answer = _ask(self.batch, kernel, target)
            self.result.seconds[target] += time.monotonic() - before
            if answer.outputs is not None:
                if text := difference(kernel, ("numpy", target), expected, answer.outputs):
                    failures.append(Failure(target, DISAGREEMENT, text, kernel))
            elif not answer.refused:
                failures.append(Failure(target, answer.kind, answer.text, kernel))
            elif self.found is None:
                self.result.refused[f"{target}: {answer.text.splitlines()[0]}"] += 1
        return failures


def check_batch(batch: Batch) -> Result:
    """Check all kernels of a batch; each failure is shrunk, and the batch goes on with other kernels."""
    result = Result(batch.number, 0)
    attempt = 0
    while result.count < batch.count:
        search = _Search(batch, result)
        entropy = np.random.SeedSequence([batch.seed, batch.number, attempt]).generate_state(1)
        failure = _searched(search, batch.count - result.count, int(entropy[0]))
        result.count += search.checked
        attempt += 1
        if failure is not None:
            result.failures.append(failure)
        elif not search.checked:
            break
    return result


def _searched(search: _Search, count: int, first: int) -> Failure | None:
    @seed(first)
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
    @given(random_kernels())
    def agree(kernel: RandomKernel) -> None:
        search.check(kernel)

    try:
        agree()
    except FailureFound as found:
        return found.failure
    return None
