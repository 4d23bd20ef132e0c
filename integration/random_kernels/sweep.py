"""A sweep: batches of kernels, checked by processes that survive what they check."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from integration.random_kernels.failures import DISAGREEMENT, Failure
from integration.random_kernels.family import KERNELS, Family, Kernel
from integration.random_kernels.program import RandomKernel
from integration.random_kernels.runner import Answer, Runner
from integration.random_kernels.triton_interpreter import NAME as TRITON
from integration.random_kernels.triton_interpreter import TritonError, TritonInterpreter, excused

__all__ = ["BATCH", "Batch", "Result", "check_batch"]

#: kernels that one process checks before it says what they came to
BATCH = 20
#: seconds for the shrinking of one failure
_SHRINKING = 120.0


@dataclass(frozen=True)
class Batch:
    """The kernels ``first`` to ``last`` (excluded) of ``seed``; ``known`` failures and what they explain are counted alone;
    ``schedules``: in so many orders more where a target is simulated."""

    number: int
    first: int
    last: int
    seed: int
    targets: tuple[str, ...]
    triton_python: str = ""
    limit: float = 120.0
    known: tuple[Failure, ...] = ()
    family: Family = KERNELS
    schedules: int = 0


@dataclass
class Result:
    """Of a batch: refusals by target and reason, new failures, and how many kernels failed in a known way."""

    number: int
    count: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)
    explained: Counter[str] = field(default_factory=Counter)
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))


@cache
def _runner(family: Family, limit: float) -> Runner:
    return Runner(family.run, limit)


@cache
def _triton(python: str) -> TritonInterpreter:
    return TritonInterpreter(python)


def _ask(batch: Batch, kernel: Kernel, target: str) -> Answer:
    if target != TRITON:
        return _runner(batch.family, batch.limit).run(kernel, target, batch.schedules)
    assert isinstance(kernel, RandomKernel)
    if reason := excused(kernel):
        return Answer(None, "Excused", reason, refused=True)
    try:
        return Answer(_triton(batch.triton_python).run(kernel))
    except TritonError as error:
        return Answer(None, type(error).__name__, str(error))


def _failures(batch: Batch, kernel: Kernel, targets: Sequence[str], result: Result | None) -> list[Failure]:
    """Failures of ``targets``; refusals and times go to ``result``."""
    expected = batch.family.run(kernel, "numpy")
    failures = []
    for target in targets:
        before = time.monotonic()
        answer = _ask(batch, kernel, target)
        if result is not None:
            result.seconds[target] += time.monotonic() - before
        if answer.outputs is not None:
            if text := batch.family.difference(kernel, ("numpy", target), expected, answer.outputs):
                failures.append(Failure(target, DISAGREEMENT, text, kernel))
        elif not answer.refused:
            failures.append(Failure(target, answer.kind, answer.text, kernel))
        elif result is not None:
            result.refused[f"{target}: {answer.text.splitlines()[0]}"] += 1
    return failures


def _shrunk(batch: Batch, found: Failure) -> Failure:
    """The failure with a smaller kernel: of the same target, an error with the same message; what hung stays as it is."""
    if found.kind == "Hung":
        return found
    last, end = found, time.monotonic() + _SHRINKING

    def fails(kernel: Kernel) -> bool:
        nonlocal last
        if time.monotonic() > end:
            return False
        same = [f for f in _failures(batch, kernel, (found.target,), None) if found.same_kind(f)]
        last = same[0] if same else last
        return bool(same)

    batch.family.shrunk(found.kernel, fails)
    return last


def check_batch(batch: Batch) -> Result:
    """Check all kernels of a batch; each new failure is shrunk."""
    result = Result(batch.number)
    targets = [target for target in batch.targets if target != "numpy"]
    for number in range(batch.first, batch.last):
        kernel = batch.family.seeded(batch.seed, number)
        result.count += 1
        for failure in _failures(batch, kernel, targets, result):
            known = next((f for f in (*batch.known, *result.failures) if f.explains(failure)), None)
            if known is None:
                result.failures.append(_shrunk(batch, failure))
            else:
                result.explained[known.name] += 1
        _runner(batch.family, batch.limit).end_of_kernel()
    return result
