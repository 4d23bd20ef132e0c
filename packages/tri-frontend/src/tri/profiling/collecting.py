"""Recording launches: every kernel that is loaded inside a ``profile`` block has something around its launcher."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import TYPE_CHECKING, Any

from tri.launch.observers import AROUND, clocked
from tri.launch.reported import is_trial
from tri.profiling import scopes
from tri.profiling.counts import Amounts, work_of
from tri.profiling.records import KernelProfile, LaunchRecord, LineProfile, Peaks, Profile
from tri_core import forks
from tri_core.errors import TriError
from tri_core.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from tri_core.compiler import CompiledKernel
    from tri_core.runtime import Launch, Runtime
    from tri_runtime.simulator.report import Line, Report

__all__ = ["Recorder", "profile"]

#: MLIR's names of element types by which peaks are known, and Triton's
_TYPES = {"f16": "fp16", "bf16": "bf16", "f32": "tf32", "f8E4M3FN": "fp8e4nv", "f8E5M2": "fp8e5"}
Seconds = Callable[[], "float | None"]


@dataclass
class _Launches:
    """Those of one compiled kernel so far."""

    kernel: CompiledKernel
    owner: Runtime
    done: list[tuple[float, Seconds | None, tuple[int, int, int], int | None, tuple[str, ...]]] = field(
        default_factory=list
    )
    trials: int = 0
    amounts: dict[tuple[str, int], Amounts] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)


class Recorder:
    """Launches since ``begin``; :meth:`finished` makes the profile of them."""

    def __init__(self, title: str, report: Report | None = None) -> None:
        self.title = title
        self.report = report
        self.begin = time.perf_counter()
        self.is_on = True
        self._lock = forks.Lock()
        self._kernels: dict[str, _Launches] = {}

    def around(self, launch: Launch, kernel: CompiledKernel, owner: Runtime) -> Launch:
        """``launch``, recorded."""
        simulated = kernel.metadata.target.simulated

        def recorded(grid: tuple[int, int, int], stream: int | None, args: Sequence[Any]) -> None:
            if not self.is_on:
                launch(grid, stream, args)
                return
            start = time.perf_counter() - self.begin
            trial = is_trial()
            seconds: Seconds | None = None
            if trial or simulated:  # who tunes has a clock running, and the time of a simulation says nothing
                launch(grid, stream, args)
            else:
                seconds = clocked(owner, stream, lambda: launch(grid, stream, args))
            self._add(kernel, owner, trial, (start, seconds, grid, stream, scopes.path()), args)

        return recorded

    def _add(
        self,
        kernel: CompiledKernel,
        owner: Runtime,
        trial: bool,
        record: tuple[float, Seconds | None, tuple[int, int, int], int | None, tuple[str, ...]],
        args: Sequence[Any],
    ) -> None:
        with self._lock:
            key = f"{kernel.metadata.target} {kernel.metadata.hash}"
            found = self._kernels.setdefault(key, _Launches(kernel, owner))
            if trial:
                found.trials += 1
                return
            found.done.append(record)
            work = work_of(kernel)
            for line, amounts in work.of_launch(record[2], args).items():
                found.amounts.setdefault(line, Amounts()).add(amounts, 1)
            found.notes.update(work.reasons)

    def finished(self) -> Profile:
        """Stop recording, wait for the devices, and sum up."""
        self.is_on = False
        found = list(self._kernels.values())
        names = [each.kernel.name for each in found]
        made = []
        for each in found:
            # the simulator tells kernels apart by their names
            alone = names.count(each.kernel.name) == 1 and not each.trials
            if not alone and each.kernel.metadata.target.simulated:
                each.notes[
                    "sectors are left out: a tuner's trials, or other versions, have a part in them"
                ] = None
            made.append(_kernel_profile(each, self.report if alone else None))
        made.sort(key=lambda each: (-(each.seconds or 0.0), -each.nbytes, each.name))
        return Profile(title=self.title, seconds=time.perf_counter() - self.begin, kernels=tuple(made))


@contextmanager
def profile(title: str = "") -> Iterator[Recorder]:
    """Record the launches inside the ``with`` block of kernels that are loaded there::

        with tri.profiling.profile() as recorder:
            work()
        print(recorder.finished().to_json())

    A kernel that was launched before the block is not seen.  Kernels that run as Python (``TRI_INTERPRET``) launch nothing.
    """
    from tri_runtime.simulator.report import simulation

    with simulation() as report:
        recorder = Recorder(title, report)
        AROUND.append(recorder.around)
        try:
            yield recorder
        finally:
            AROUND.remove(recorder.around)


def _kernel_profile(found: _Launches, report: Report | None) -> KernelProfile:
    kernel = found.kernel
    resources = kernel.resources
    estimates = kernel.loop_estimates
    work = work_of(kernel)
    amounts = found.amounts.values()
    launches = tuple(
        LaunchRecord(
            start=start,
            seconds=None if seconds is None else seconds(),
            grid=grid,
            stream=stream,
            scopes=names,
        )
        for start, seconds, grid, stream, names in found.done
    )
    is_timed = any(each.seconds is not None for each in launches)
    return KernelProfile(
        name=kernel.name,
        target=str(kernel.metadata.target),
        hash=kernel.metadata.hash,
        clock=("device" if hasattr(found.owner, "timer") else "host") if is_timed else "none",
        trials=found.trials,
        launches=launches,
        nbytes=sum(each.nbytes for each in amounts),
        flops=sum(each.flops for each in amounts),
        lines=tuple(_lines(found, report)),
        peaks=_peaks(found.owner, work.operands) if is_timed else Peaks(),
        resources={"threads": resources.threads, "shared": resources.shared, **kernel.metadata.resources},
        occupancy=None if resources.occupancy is None else resources.occupancy.share,
        verdict=str(resources.verdict),
        loops=tuple(f"{loop.name}: {loop}" for loop in estimates.loops),
        notes=(*found.notes, *(estimates.assumptions if estimates.loops else ())),
    )


def _lines(found: _Launches, report: Report | None) -> Iterator[LineProfile]:
    simulated: dict[tuple[str, int], list[Line]] = {}
    for line in report.lines.values() if report is not None else ():
        if line.kernel == found.kernel.name and line.location is not None and line.memory == "global":
            simulated.setdefault((line.location.file, line.location.line), []).append(line)
    for file, number in sorted({*found.amounts, *simulated}):
        amounts = found.amounts.get((file, number), Amounts())
        seen = simulated.get((file, number))
        yield LineProfile(
            file=file,
            line=number,
            nbytes=amounts.nbytes,
            flops=amounts.flops,
            transactions=sum(each.transactions for each in seen) if seen else None,
            ideal=sum(each.ideal for each in seen) if seen else None,
        )


def _peaks(owner: Runtime, operands: str) -> Peaks:
    """Peaks of the current device of ``owner``, for dots of ``operands`` (MLIR's name; none: float32 without matrix instructions)."""
    from tri_core.plugins import manager

    try:
        rates = manager().performance(owner.current_device())
    except TriError:
        return Peaks()
    name = _TYPES.get(operands, "")
    per_clock = rates.matrix_flops.get(name) or rates.simd_flops.get("fp32", 0.0)
    return Peaks(bytes_per_second=rates.memory_gbps * 1e9, flops_per_second=per_clock * rates.clock_mhz * 1e6)
