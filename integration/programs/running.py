"""Running cases on a target, in this process or in several, and judging what they leave."""

from __future__ import annotations

import logging
import multiprocessing
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import tri
from integration.changes import Change, changed
from integration.device_arrays import device_of, to_device, to_host
from integration.programs.program import Array, Case, Data
from integration.programs.table import PROGRAMS
from tri_core.compiler import CompiledKernel
from tri_core.errors import OutOfResources

__all__ = ["Outcome", "compiled", "error_of", "kernels", "launched", "outcomes", "run"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Outcome:
    """Result of a case: ``problem`` is empty if it was right, ``refused`` if it ran; ``seconds`` with the
    compile.
    """

    case: Case
    problem: str = ""
    refused: str = ""
    error: float = 0.0
    seconds: float = 0.0


def error_of(found: Sequence[Array], expected: Sequence[Array]) -> float:
    """The largest error, of the largest value of its output; NaN where nothing was written."""
    errors = [
        np.abs(f.astype(np.float64) - e).max() / np.abs(e).max() for f, e in zip(found, expected, strict=True)
    ]
    return float(max(errors, key=lambda e: np.inf if np.isnan(e) else e))


def _launch(kernel: Any, grid: tuple[int, ...]) -> Callable[..., object]:
    launch: Callable[..., object] = kernel[grid]
    return launch


def launched(case: Case, target: str) -> Sequence[Array]:
    """Outputs of ``case`` on ``target``; its data are the same each time."""
    return _launched(case, target, PROGRAMS[case.program].make(case, _random(case)))


def _launched(case: Case, target: str, data: Data) -> Sequence[Array]:
    """Outputs of the launch."""
    program, device = PROGRAMS[case.program], device_of(target)
    with changed(target, Change(without=case.without)), tri.target(target):
        if device is None:
            program.launch(data, case, _launch)
            return data.outputs
        given = Data(*([to_device(x, device) for x in part] for part in (data.inputs, data.outputs)))
        program.launch(given, case, _launch)
        return [to_host(x, like) for x, like in zip(given.outputs, data.outputs, strict=True)]


def run(case: Case, target: str) -> Outcome:
    """Run ``case`` on ``target``.

    A target may refuse what needs more shared memory than it has where the pass that would make it less is left out;
    every other error is a problem.
    """
    program = PROGRAMS[case.program]

    def judge() -> Outcome:
        data = program.make(case, _random(case))
        error = error_of(_launched(case, target, data), program.oracle(data, case))
        bound = program.bounds[case.dtype]
        wrong = "" if error <= bound else f"the error is {error:.2e}, more than {bound:.0e}"
        return Outcome(case, problem=wrong, error=error)

    return _outcome(case, judge)


def compiled(case: Case, target: str) -> Outcome:
    """Compile ``case`` for ``target``, which need not be there: only errors and refusals of the compile are seen."""

    def judge() -> Outcome:
        kernels(case, target)
        return Outcome(case)

    return _outcome(case, judge)


def kernels(case: Case, target: str) -> list[CompiledKernel]:
    """Compiled kernels of ``case`` for ``target``, which need not be there, in the order of their launches."""
    program, made = PROGRAMS[case.program], list[CompiledKernel]()

    def start(kernel: Any, grid: tuple[int, ...]) -> Callable[..., object]:
        return lambda *given, **options: made.append(kernel.warmup(*given, grid=grid, **options))

    with changed(target, Change(without=case.without)), tri.target(target):
        program.launch(program.make(case, _random(case)), case, start)
    return made


def _random(case: Case) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(str(case).encode()))


def _outcome(case: Case, judge: Callable[[], Outcome]) -> Outcome:
    """Verdict of ``judge`` on ``case``, or its error, and its duration."""
    start = time.perf_counter()
    try:
        outcome = judge()
    except OutOfResources as refusal:
        if case.without in ("fit-shared-memory", "subtile-epilogue") and refusal.resource == "shared":
            outcome = Outcome(case, refused=refusal.message)
        else:
            outcome = Outcome(case, problem=refusal.message)
    except Exception as failure:
        logger.exception("%s", case)
        outcome = Outcome(case, problem=f"{type(failure).__name__}: {str(failure)[:600]}")
    return replace(outcome, seconds=time.perf_counter() - start)


def outcomes(
    cases: Iterable[Case],
    target: str,
    jobs: int = 1,
    reported: Callable[[], None] = lambda: None,
    way: Callable[[Case, str], Outcome] = run,
) -> Iterator[Outcome]:
    """Outcomes of ``cases`` as they come, by ``way`` on ``jobs`` processes; ``reported`` is called for each."""
    if jobs == 1:
        for case in cases:
            yield way(case, target)
            reported()
        return
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        for future in as_completed([pool.submit(way, case, target) for case in cases]):
            yield future.result()
            reported()
