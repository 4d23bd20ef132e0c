"""Tuning, checking and timing of one case, all candidates taking turns."""

from __future__ import annotations

import functools
import logging
import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TypeVar

import torch

from integration.bench_gpu.case import Case, Config, load

__all__ = ["Measured", "event_seconds", "host_microseconds", "launch_microseconds", "measure", "warm"]

logger = logging.getLogger(__name__)

#: clocks for which the device waits before a measured call: 1 ms, longer than any host takes to make its descriptors
_WAIT = 2_000_000


@dataclass
class Measured:
    """One candidate: seconds per round, its configuration, the largest error relative to the largest value."""

    seconds: list[float] = field(default_factory=list)
    config: Config | None = None
    error: float = float("nan")
    #: seconds until a call returned to the host
    host: float = float("nan")
    failures: list[str] = field(default_factory=list)

    @property
    def median(self) -> float:
        """The median in seconds; NaN where nothing ran."""
        return statistics.median(self.seconds) if self.seconds else float("nan")


def event_seconds(function: Callable[[], object], flush: torch.Tensor) -> float:
    """Seconds of one call on the device, the caches flushed before; the wait after that hides what the host does."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    flush.zero_()
    torch.cuda._sleep(_WAIT)
    begin.record()
    function()
    end.record()
    end.synchronize()
    return float(begin.elapsed_time(end)) / 1e3


def host_seconds(function: Callable[[], object], calls: int = 20) -> float:
    """Seconds of the host for one call, the median; nothing is queued before it."""
    found = []
    for _ in range(calls):
        torch.cuda.synchronize()
        start = time.perf_counter()
        function()
        found.append(time.perf_counter() - start)
    return statistics.median(found)


def _poison(outputs: Sequence[torch.Tensor]) -> None:
    for out in outputs:
        out.fill_(float("nan") if out.dtype.is_floating_point else 113)


def _error(case: Case, expected: Sequence[torch.Tensor]) -> float:
    """The largest error relative to the largest value; NaN where a kernel did not write."""
    pairs = zip(case.outputs, expected, strict=True)
    return max(float((o.double() - e).abs().max() / e.abs().max()) for o, e in pairs)


def configurations(case: Case, compiler: str) -> list[Config]:
    """Those of the case; ours, whose schedule is chosen by cost, also with each schedule that the case allows as options.

    In chains of dots, with the second one in flight beside the next iteration's first and without, and with tiles from registers.
    """
    configs = list(case.configs)
    specialized = [{**c, "warp_specialize": True} for c in case.configs]
    if compiler == "tri" and case.specialized:
        configs += [{**c, "warp_specialize": False} for c in case.configs]
        configs += specialized
        configs += [{**c, "persistent": True} for c in specialized] if case.persistent else []
    if compiler == "tri" and case.chained:
        configs += [{**c, "pipeline_chained_dots": True} for c in case.configs]
        configs += [{**c, "warp_specialize": True, "pipeline_chained_dots": False} for c in case.configs]
        configs += (
            [{**c, "persistent": True, "tma_stores": False} for c in specialized] if case.persistent else []
        )
    return configs


def _working(
    case: Case, compiler: str, module: ModuleType, expected: Sequence[torch.Tensor], made: Measured
) -> list[tuple[Config, float]]:
    """The configurations that run and are right, with their errors."""
    found = []
    for config in configurations(case, compiler):
        _poison(case.outputs)
        try:
            if case.prepare is not None:
                case.prepare(module, config)
            case.run(module, config)
            torch.cuda.synchronize()
        except Exception as failure:
            made.failures.append(f"{dict(config)}: {type(failure).__name__}: {str(failure)[-160:]!r}")
            continue
        error = _error(case, expected)
        if error <= case.bound:
            found.append((config, error))
        else:
            made.failures.append(f"{dict(config)}: wrong, error {error:.2e}")
    return found


_Key = TypeVar("_Key")
#: a module, its configuration and the error that it leaves
_Candidate = tuple[ModuleType, Config, float]


def _in_turns(
    candidates: Mapping[_Key, Callable[[], object]],
    rounds: int,
    clock: Callable[[Callable[[], object]], float],
    seed: int = 0,
) -> dict[_Key, list[float]]:
    """Times by ``clock`` of each candidate, once a round, the rounds shuffled."""
    order, shuffler = list(candidates), random.Random(seed)
    times: dict[_Key, list[float]] = {key: [] for key in order}
    for _ in range(rounds):
        shuffler.shuffle(order)
        for key in order:
            times[key].append(clock(candidates[key]))
    return times


def _best(
    case: Case, found: Mapping[str, list[_Candidate]], flush: torch.Tensor, rounds: int = 7
) -> dict[str, _Candidate]:
    """The fastest configuration of each compiler; all of them take turns, for a card throttles more or less."""
    runs = {
        (name, number): functools.partial(case.run, module, config)
        for name, those in found.items()
        for number, (module, config, _) in enumerate(those)
    }
    times = _in_turns(runs, rounds, functools.partial(event_seconds, flush=flush), seed=1)
    medians = {key: statistics.median(seconds[1:]) for key, seconds in times.items()}
    # the last one of a compiler stays
    return {
        name: found[name][number] for name, number in sorted(medians, key=medians.__getitem__, reverse=True)
    }


def measure(
    case: Case, compilers: Sequence[str], folder: Path, rounds: int, flush: torch.Tensor
) -> dict[str, Measured]:
    """Each compiler with its own best configuration of the same list, and the library, in shuffled rounds."""
    expected = case.oracle()
    made = {name: Measured() for name in (*compilers, "library")}
    candidates: dict[str, Callable[[], object]] = {}
    found = {}
    for compiler in compilers:
        module = load(case.module, compiler, folder)
        working = _working(case, compiler, module, expected, made[compiler])
        found[compiler] = [(module, config, error) for config, error in working]
    for compiler, (module, config, error) in _best(case, found, flush).items():
        made[compiler].config, made[compiler].error = config, error
        candidates[compiler] = functools.partial(case.run, module, config)
    if case.library is not None:
        candidates["library"] = case.library
    del expected
    for name, function in candidates.items():
        for _ in range(3):
            function()
        made[name].host = host_seconds(function)
    for name, seconds in _in_turns(candidates, rounds, functools.partial(event_seconds, flush=flush)).items():
        made[name].seconds = seconds
    return made


def warm(case: Case, compilers: Sequence[str], folder: Path) -> None:
    """Compile all configurations into the compilers' caches."""
    for compiler in compilers:
        module = load(case.module, compiler, folder)
        for config in configurations(case, compiler):
            try:
                if case.prepare is not None:
                    case.prepare(module, config)
                case.run(module, config)
            except Exception as failure:
                logger.info("%s, %s: %s", case.name, compiler, failure)
    torch.cuda.synchronize()


#: launches that are enqueued before a wait: fewer than the driver's queue holds, so that none waits for the device
_ENQUEUED = 500


def _launches(compiler: str, folder: Path) -> dict[str, Callable[[], object]]:
    """Launches of tiny kernels: of few arguments, and of those that a dot has."""
    x, y, out = (torch.ones(1024, device="cuda") for _ in range(3))
    a, b, c = (torch.ones((64, 64), device="cuda", dtype=torch.float16) for _ in range(3))
    add = load("vector_add", compiler, folder).vector_add
    matmul = load("matmul", compiler, folder).matmul
    block = {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 64, "GROUP_M": 8, "num_warps": 4}
    numbers = 64, 64, 64, *a.stride(), *b.stride(), *c.stride()
    return {
        "vector add (3 pointers, 1 int)": lambda: add[(1,)](x, y, out, 1024, BLOCK=1024),
        "matmul (3 pointers, 9 ints)": lambda: matmul[(1,)](a, b, c, *numbers, **block),
    }


def host_microseconds(function: Callable[[], object], launches: int = _ENQUEUED) -> float:
    """Host time of one of ``launches`` calls that are enqueued one after the other."""
    start = time.perf_counter()
    for _ in range(launches):
        function()
    seconds = time.perf_counter() - start
    torch.cuda.synchronize()
    return seconds / launches * 1e6


def launch_microseconds(
    compilers: Sequence[str], folder: Path, rounds: int = 15
) -> dict[str, dict[str, float]]:
    """Host time per launch: by kernel, the median of each compiler over shuffled rounds."""
    candidates = {(k, c): f for c in compilers for k, f in _launches(c, folder).items()}
    for function in candidates.values():
        host_microseconds(function)
    times = _in_turns(candidates, rounds, host_microseconds)
    made: dict[str, dict[str, float]] = {}
    for (kernel, compiler), found in times.items():
        made.setdefault(kernel, {})[compiler] = statistics.median(found)
    return made
