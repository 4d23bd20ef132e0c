"""Timing of device work: medians over rounds, candidates interleaved in shuffled order.

Times are the device's own, through :meth:`tri_core.runtime.Runtime.elapsed`.  The cache flush of a round
is enqueued before it and not waited for: on an asynchronous device the launches of the round are enqueued
behind it, so a launch's cost on the host stays out of the measurement.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Protocol

from tri_core.lazy_dataclasses import dataclass

__all__ = ["Benchable", "ReturnMode", "Timing", "do_bench", "interleaved", "summarize"]

ReturnMode = Literal["min", "max", "mean", "median", "all"]


class Benchable(Protocol):
    """The part of a runtime that timing needs."""

    def elapsed(self, function: Callable[[], object]) -> float:
        """Seconds that the device spent on the work of ``function``."""
        ...

    def synchronize(self) -> None:
        """Wait for all work."""
        ...


@dataclass(frozen=True)
class Timing:
    """Measurements of one candidate, in seconds, in the order taken."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The median in seconds."""
        return statistics.median(self.seconds)

    @property
    def spread(self) -> float:
        """Half the distance between the quartiles over the median: 0.01 means about 1 %."""
        return (self.quantile(0.75) - self.quantile(0.25)) / 2 / self.median if self.median else 0.0

    def quantile(self, fraction: float) -> float:
        """The ``fraction`` quantile in seconds, linear between neighbours."""
        ordered = sorted(self.seconds)
        place = fraction * (len(ordered) - 1)
        low = int(place)
        high = min(low + 1, len(ordered) - 1)
        return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def _flush_of(
    runtime: Benchable, flush: Callable[[], object] | Literal["runtime"] | None
) -> Callable[[], object]:
    if flush == "runtime":
        flush = getattr(runtime, "flush_cache", None)
    return flush if flush is not None else lambda: None


def interleaved(
    candidates: Mapping[str, Callable[[], object]],
    runtime: Benchable,
    *,
    rounds: int = 50,
    warmup: int = 3,
    seed: int = 0,
    flush: Callable[[], object] | Literal["runtime"] | None = "runtime",
) -> dict[str, Timing]:
    """Time ``candidates`` against each other: every round runs all of them, in an order shuffled by ``seed``.

    Interleaving gives each candidate the same clocks and temperatures.  ``flush`` runs before each
    measurement (``"runtime"``: the runtime's own ``flush_cache``; None: none).
    """
    flushing = _flush_of(runtime, flush)
    for function in candidates.values():
        for _ in range(warmup):
            function()
    runtime.synchronize()
    shuffler, names = random.Random(seed), list(candidates)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(rounds):
        shuffler.shuffle(names)
        for name in names:
            flushing()
            seconds[name].append(runtime.elapsed(candidates[name]))
    return {name: Timing(tuple(seconds[name])) for name in candidates}


def do_bench(
    function: Callable[[], object],
    runtime: Benchable,
    *,
    warmup: float = 25.0,
    rep: float = 100.0,
    quantiles: Sequence[float] | None = None,
    return_mode: ReturnMode = "mean",
    flush: Callable[[], object] | Literal["runtime"] | None = "runtime",
) -> float | list[float]:
    """Milliseconds that the device spends on ``function()``.

    ``warmup`` and ``rep`` are milliseconds of device time to spend on warming up and on measuring (at
    least one run each).  With ``quantiles`` the list of those, with ``return_mode="all"`` every
    measurement, otherwise that statistic.
    """
    function()
    runtime.synchronize()
    flushing = _flush_of(runtime, flush)
    estimate = max(statistics.median(runtime.elapsed(function) for _ in range(5)) * 1e3, 1e-6)
    for _ in range(_runs(warmup, estimate)):
        function()
    times: list[float] = []
    for _ in range(_runs(rep, estimate)):
        flushing()
        times.append(runtime.elapsed(function) * 1e3)
    return summarize(times, quantiles, return_mode)


def _runs(budget: float, estimate: float) -> int:
    """Number of times that work of ``estimate`` ms fits ``budget`` ms; bounded, for an estimate near 0."""
    return max(1, min(int(budget / estimate), 10_000))


_SUMMARIES: dict[str, Callable[[Sequence[float]], float]] = {
    "min": min,
    "max": max,
    "mean": statistics.fmean,
    "median": statistics.median,
}


def summarize(
    times: Sequence[float], quantiles: Sequence[float] | None = None, return_mode: ReturnMode = "mean"
) -> float | list[float]:
    """The ``quantiles`` of ``times``, linear between neighbours; without any, ``times`` for ``"all"``, else that statistic.

    ValueError for another ``return_mode``, and for a quantile outside of 0 to 1.
    """
    if quantiles is not None:
        if not all(0 <= q <= 1 for q in quantiles):
            raise ValueError(f"quantiles are in the range [0, 1]; got {list(quantiles)}")
        timing = Timing(tuple(times))
        return [timing.quantile(q) for q in quantiles]
    if return_mode == "all":
        return list(times)
    if return_mode not in _SUMMARIES:
        raise ValueError(f"return_mode {return_mode!r}; one of {', '.join(_SUMMARIES)}, all is expected")
    return _SUMMARIES[return_mode](times)
