"""Device time of kernels by name, and memory that holds no earlier result."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Collection
from typing import Any

import torch

__all__ = ["WHOLE", "by_kernel", "freed", "median", "poison"]

#: what stands for a call's kernels where nothing tells them apart
WHOLE = "(whole)"
_WAIT = 2_000_000
#: bytes of a block that is freed with every bit set: large results come from it, small ones from the small blocks
_LARGE, _SMALL, _SMALLS = 1 << 31, 1 << 19, 64


def freed(device: str) -> None:
    """Give back what nobody holds."""
    gc.collect()
    if device != "cpu":
        torch.cuda.empty_cache()


def poison(device: str) -> None:
    """Fill the memory that comes next with bytes of 255: NaN as any float, -1 as any integer."""
    freed(device)
    if device == "cpu":
        return
    blocks = [torch.full((n,), 255, dtype=torch.uint8, device=device) for n in (_LARGE, *[_SMALL] * _SMALLS)]
    torch.cuda.synchronize()
    del blocks


def by_kernel(
    run: Callable[[], object], names: Collection[str], device: str, repeats: int = 3
) -> dict[str, list[float]]:
    """Microseconds of the kernels called ``names`` in ``run``, summed for each name, once a repeat.

    Of a processor, or where the profiler sees nothing, :data:`WHOLE` is the whole call's.
    """
    if device == "cpu":
        return {WHOLE: [_host(run) for _ in range(repeats)]}
    found: dict[str, list[float]] = {}
    for _ in range(repeats):
        seen = _profiled(run)
        for name in sorted({n for n, _ in seen if n in names}):
            found.setdefault(name, []).append(sum(us for n, us in seen if n == name))
        if not seen:
            found.setdefault(WHOLE, []).append(_events(run))
    return found


def _host(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return (time.perf_counter() - start) * 1e6


def _profiled(run: Callable[[], object]) -> list[tuple[str, float]]:
    """(name, microseconds) of everything that ran on the device."""
    from torch.profiler import ProfilerActivity, profile

    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA], acc_events=True) as profiler:
        run()
        torch.cuda.synchronize()
    raw: Any = getattr(profiler.profiler, "kineto_results", None)
    if raw is None:
        return []
    cuda = torch.autograd.DeviceType.CUDA
    return [(e.name(), e.duration_ns() / 1e3) for e in raw.events() if e.device_type() == cuda]


def _events(run: Callable[[], object]) -> float:
    """Microseconds of everything that ``run`` puts on the device, which waits meanwhile."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    torch.cuda._sleep(_WAIT)
    begin.record()
    run()
    end.record()
    end.synchronize()
    return float(begin.elapsed_time(end)) * 1e3


def median(times: Collection[float]) -> float:
    """The median, NaN of none."""
    return statistics.median(times) if times else float("nan")
