"""Number of stages for the loads of a pipelined loop: a choice by the CTAs that share a compute unit.

A load that runs ``stages - 1`` iterations ahead needs as many buffers as there are copies under way, and one that is being read.  Three
things change that by one:

- Dots may stay under way into the next iteration where the buffers that they read have one more stage (*late*).
- What is read to registers where an iteration begins leaves its buffer free for the copy of the same iteration (*tight*), at the
  price of a barrier between the two.
- Late dots need no further stage where the copies of an iteration are issued once its dots are started and those of the iteration before
  have ended (*deferred*), at the price of a barrier as well.

Of these the loop gets the form with most iterations under way on a compute unit: those of copies that a CTA is ahead by, times the CTAs that
run beside each other, less for deferred ones, whose copies have less of an iteration to come.  CTAs are given up for a quarter more alone:
they hide each other's first and last iterations, too (deferred ones were weighed with their CTAs).  Among equals a late form is better than an early one, more stages than fewer, and a
form without the barrier than one with it.  Where a kernel goes through tiles itself, its grid has
a CTA for each compute unit (:mod:`tri_gpu_dialect.analysis.persistence`).

Registers of machine code are not known here: those of the loop's accumulators are a lower bound (:mod:`tri_gpu_dialect.analysis.pressure`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from tri_core.api import Target
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_core.occupancy import occupancy
from tri_core.target import ComputeUnit
from tri_gpu_dialect.analysis.liveness import Buffer, Lives
from tri_gpu_dialect.analysis.persistence import is_in_loop_over_tiles
from tri_gpu_dialect.analysis.pressure import accumulator_registers
from tri_gpu_dialect.transforms.memory.placement import ALIGNMENT, Need, extent, place

__all__ = ["Ring", "Rings", "Room", "choose"]

#: what copies hide that are issued behind an iteration's dots, of those at its beginning: by eight matmuls of bf16 on an H100
_DEFERRED = 0.6
#: what fewer CTAs must have under way, of what more have: none of the measured matmuls lies between 1 and this
_FEWER_CTAS = 1.25
#: rings have no op yet
_NOBODY: Any = None


@dataclass(frozen=True)
class Ring:
    """The buffers of a load, each of ``bytes``.

    ``in_place``: dots on their own read them there; ``at_once``: they are read to registers where an iteration begins.
    """

    bytes: int
    in_place: bool = False
    at_once: bool = False


@dataclass(frozen=True)
class Rings:
    """The rings of a loop whose copies are issued ``stages - 1`` iterations ahead; see the module for the rest.

    ``is_deferred``: of late ones, and as tight as they can be.
    """

    rings: tuple[Ring, ...]
    stages: int
    is_late: bool = False
    is_tight: bool = False
    is_deferred: bool = False

    def depth(self, number: int) -> int:
        """The stages of ring ``number``."""
        ring = self.rings[number]
        held = self.is_late and ring.in_place and not self.is_deferred
        return self.stages + held - ((self.is_tight or self.is_deferred) and ring.at_once)

    @property
    def bytes(self) -> tuple[int, ...]:
        """Bytes of each ring."""
        return tuple(ring.bytes * self.depth(i) for i, ring in enumerate(self.rings))

    @property
    def buffers(self) -> int:
        """The buffers of the loads that have most."""
        return self.stages + (self.is_late and not self.is_deferred)


@dataclass(frozen=True)
class Room:
    """Shared memory beside the rings of a loop: ``others``, of which those count that are live while op
    numbers ``span`` run.

    ``limit``: bytes of shared memory that a CTA may have (None: not known); ``scratch``: what conversions in the loop may need
    twice; ``unit``, ``warps`` and ``registers``: what CTAs share, a CTA's warps, registers of a thread at least; ``is_alone``: the grid
    has one CTA for each unit.
    """

    others: tuple[Need, ...]
    span: tuple[int, int]
    scratch: int = 0
    limit: int | None = None
    unit: ComputeUnit | None = None
    warps: int = 1
    registers: int = 0
    is_alone: bool = False

    @classmethod
    def around(
        cls,
        loop: ir.Operation,
        found: Lives,
        replaced: Collection[ir.Value],
        target: Target | None,
        warps: int,
    ) -> Room:
        """The room for the rings of ``loop``, which take the place of what makes the values ``replaced``.

        ``found``: the lives in its function before any loop got rings: no two loops have theirs at the same time.
        """
        left = [b for b in found.buffers if not (b.op.results and b.op.results[0] in replaced)]
        start, end = found.loops[loop]
        inside = [b.scratch_bytes for b in left if b.is_scratch and start <= b.start <= end]
        spec = None if target is None else target.spec
        return cls(
            others=tuple(Need.of(b) for b in left),
            span=found.loops[loop],
            scratch=max(inside, default=0),
            limit=None if spec is None else spec.limits.get("shared"),
            unit=None if spec is None else spec.unit,
            warps=warps,
            registers=accumulator_registers(loop),
            is_alone=is_in_loop_over_tiles(loop),
        )

    def bytes(self, rings: Rings) -> int:
        """Shared memory of the kernel with ``rings``."""
        start, end = self.span
        own = [Need(Buffer(_NOBODY, start, end), size, ALIGNMENT) for size in rings.bytes]
        return extent(place([*self.others, *own]))

    @property
    def free(self) -> int:
        """Bytes that rings may take."""
        start, end = self.span
        beside = [n for n in self.others if n.buffer.start <= end and start <= n.buffer.end]
        return max((self.limit or 0) - extent(place(beside)) - self.scratch, 0)

    def fits(self, rings: Rings) -> bool:
        """True if a CTA has room for ``rings``."""
        return self.limit is None or self.bytes(rings) + self.scratch <= self.limit

    def ctas(self, rings: Rings) -> int:
        """CTAs that a compute unit has beside each other; 1 where nothing is known of it."""
        if self.unit is None or self.is_alone:
            return 1
        return occupancy(
            self.unit, warps=self.warps, registers=self.registers, shared=self.bytes(rings)
        ).blocks

    def under_way(self, rings: Rings) -> float:
        """Iterations whose copies are under way on a compute unit."""
        return self.ctas(rings) * (rings.stages - 1) * (_DEFERRED if rings.is_deferred else 1)


def choose(wanted: Rings, room: Room, *, late_anyway: bool = False) -> Rings | None:
    """The rings of a loop for which ``wanted`` was asked, as late and as deferred as it may be; None where no two stages fit.

    ``late_anyway``: dots stay under way wherever that fits, whatever it costs.
    """
    asked = [r for r in _forms(wanted, wanted.stages + wanted.is_late, wanted.stages) if room.fits(r)]
    if late_anyway:
        asked = [r for r in asked if r.is_late] or asked
    if asked:
        return _best(asked, room)
    return next((r for r in _forms(wanted, wanted.stages - 1, 2) if room.fits(r)), None)


def _best(forms: Sequence[Rings], room: Room) -> Rings:
    """The form with most under way; one with fewer CTAs where it has clearly more, the first of equals."""
    # the sort keeps the order of forms with as many CTAs
    best, *others = sorted(forms, key=room.ctas, reverse=True)
    for form in others:
        gives_up = room.ctas(form) < room.ctas(best) and not best.is_deferred
        if room.under_way(form) > room.under_way(best) * (_FEWER_CTAS if gives_up else 1):
            best = form
    return best


def _forms(wanted: Rings, most: int, fewest: int) -> Iterator[Rings]:
    """The forms of ``wanted`` with at most ``most`` and at least ``fewest`` buffers, better ones first."""
    tight = (False, True) if any(ring.at_once for ring in wanted.rings) else (False,)
    for buffers in range(most, fewest - 1, -1):
        # with two stages nothing can be under way in one while the other is filled
        is_late = wanted.is_late and buffers > 2
        for is_tight in tight:
            yield Rings(wanted.rings, buffers - is_late, is_late, is_tight)
        if is_late and wanted.is_deferred and buffers <= wanted.stages:
            yield Rings(wanted.rings, buffers, is_late=True, is_deferred=True)
