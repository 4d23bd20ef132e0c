"""A profile as data: what was launched, and sums of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from tri.profiling.units import amount, percent, rate, seconds
from tri_core.lazy_dataclasses import dataclass
from tri_core.notebooks import html_table

__all__ = ["COLUMNS", "KernelProfile", "LaunchRecord", "LineProfile", "Peaks", "Profile"]

#: of a table of kernels
COLUMNS = (
    "kernel",
    "target",
    "launches",
    "trials",
    "time",
    "each",
    "bytes",
    "B/s",
    "FLOPs",
    "FLOP/s",
    "roofline",
    "occupancy",
    "clock",
    "counts",
)


@dataclass(frozen=True, kw_only=True)
class LaunchRecord:
    """A launch: ``start`` in seconds since the profile began, by the host's clock; ``seconds`` that it took.

    ``seconds`` is None where there is no time: of a tuner's trial, of a simulated kernel, of a graph that was being recorded.
    ``scopes``: names of the program's scopes around it, outermost first.
    """

    start: float
    seconds: float | None
    grid: tuple[int, int, int]
    stream: int | None = None
    scopes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class LineProfile:
    """Bytes moved and floating-point operations of all launches of a kernel, by ``line`` (from 1) of ``file``.

    ``transactions``: sectors of global memory in the simulator, and ``ideal``, the fewest that could have moved as much; None elsewhere.
    """

    file: str
    line: int
    nbytes: float
    flops: float
    transactions: int | None = None
    ideal: int | None = None

    @property
    def counts(self) -> str:
        """Origin of the counts: bytes and FLOPs are an estimate, read from TTIR; sectors, where there are some, are the simulator's."""
        return "estimate" if self.transactions is None else "estimate, simulator"


@dataclass(frozen=True, kw_only=True)
class Peaks:
    """Peak rates of a kernel's device for its operands: bytes and floating-point operations a second; 0 where not known."""

    bytes_per_second: float = 0.0
    flops_per_second: float = 0.0

    def attainable(self, intensity: float) -> float:
        """The roof in FLOP/s over ``intensity``, FLOPs per byte; 0 where a rate is not known."""
        if not self.bytes_per_second or not self.flops_per_second:
            return 0.0
        return min(self.flops_per_second, intensity * self.bytes_per_second)


@dataclass(frozen=True, kw_only=True)
class KernelProfile:
    """One compiled version of a kernel: its launches, and the sums of what they did.

    ``trials``: launches by a tuner, which are in no other number.  ``clock``: ``device``, ``host`` or ``none``.  ``resources``: what
    the image takes (threads, registers, ...), ``verdict`` in words, ``occupancy`` a share of 1 where CTAs share something.  ``notes`` say
    why numbers are not exact, and what estimates assume.
    """

    name: str
    target: str
    hash: str
    clock: str
    trials: int
    launches: tuple[LaunchRecord, ...]
    nbytes: float
    flops: float
    lines: tuple[LineProfile, ...]
    peaks: Peaks
    resources: Mapping[str, int] = field(default_factory=dict)
    occupancy: float | None = None
    verdict: str = ""
    loops: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def seconds(self) -> float | None:
        """The time of all launches that have one; None without any."""
        known = [each.seconds for each in self.launches if each.seconds is not None]
        return sum(known) if known else None

    @property
    def counts(self) -> str:
        """Origin of the counts, as of the lines: the simulator's where it has some of any line."""
        return max((line.counts for line in self.lines), key=len, default="estimate")

    @property
    def intensity(self) -> float | None:
        """FLOPs per byte; None where nothing is moved."""
        return self.flops / self.nbytes if self.nbytes else None

    @property
    def roofline(self) -> float | None:
        """The larger share of a peak rate that was reached: 1 is the roof; None where time or peaks are not known.

        Above 1 caches serve what programs ask for several times.
        """
        seconds = self.seconds
        if not seconds:
            return None
        counted = sum(each.seconds is not None for each in self.launches) / len(self.launches)
        shares = [
            counted * done / seconds / peak
            for done, peak in (
                (self.nbytes, self.peaks.bytes_per_second),
                (self.flops, self.peaks.flops_per_second),
            )
            if peak
        ]
        return max(shares) if shares else None

    def cells(self) -> tuple[str, ...]:
        """A row of a table, under :data:`COLUMNS`."""
        time, count = self.seconds, len(self.launches)
        return (
            self.name,
            self.target,
            str(count),
            str(self.trials or ""),
            seconds(time),
            seconds(time / count if time is not None and count else None),
            amount(self.nbytes),
            rate(self.nbytes, time),
            amount(self.flops),
            rate(self.flops, time),
            percent(self.roofline),
            percent(self.occupancy),
            "" if time is None else self.clock,
            self.counts,
        )


@dataclass(frozen=True, kw_only=True)
class Profile:
    """The kernels of a program, the one that took longest first; ``seconds``: of the whole program, by the host's clock."""

    title: str
    seconds: float
    kernels: tuple[KernelProfile, ...]
    failure: str = ""

    def to_json(self) -> dict[str, Any]:
        """All of it, as JSON has it; ``version`` is that of this form."""
        kernels = [
            {
                **dataclasses.asdict(each),
                "seconds": each.seconds,
                "roofline": each.roofline,
                "counts": each.counts,
            }
            for each in self.kernels
        ]
        return {
            "version": 1,
            "title": self.title,
            "seconds": self.seconds,
            "failure": self.failure,
            "kernels": kernels,
        }

    def _repr_html_(self) -> str:
        """The table of kernels, for notebooks."""
        return html_table(COLUMNS, [kernel.cells() for kernel in self.kernels], self.title)
