"""Wavefronts of one SIMD issue a loop's instructions in order; units that they share take what they take.

What is assumed, beside the rates of :mod:`tri_backend_amd.cycles.chips`:

- the four SIMDs do the same at the same time, so each has a quarter of LDS and of the first-level cache;
- an instruction waits for the one before it, its unit, and nothing else: operands are there, but for what waits say;
- an MFMA holds back the next instruction of its wavefront by a slot and one for every 16 bytes of its wider operand
  (llvm/llvm-project pull request 233721), the next MFMA until its passes are over, packed arithmetic of f32 two slots longer, three with 16 bytes;
- an access of LDS is served in order, at the rate of its bytes, times its conflicts; a full queue holds back the next one; a write's data take its
  conflicts' times as long to issue, too;
- loads come back in order; a pass's bytes take the time in which so many can be under way
  (T docs/tcp_bound_tile_model.md: bytes x trip / bytes under way).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from tri_backend_amd.cycles.chips import Chip
from tri_backend_amd.cycles.steps import Kind, Step
from tri_core.lazy_dataclasses import dataclass

__all__ = ["Estimate", "estimate"]

#: lanes of a wavefront
_LANES = 64
#: passes that are run: the last is counted, when what the first ones leave behind is under way
_PASSES = 4
_BYTES_A_SLOT = 16
#: slots from an MFMA's last pass to packed arithmetic of f32
_PACKED = 2


@dataclass(frozen=True)
class Estimate:
    """``cycles`` of a pass; ``matrix``: those in which the matrix unit works, for all wavefronts of a SIMD.

    ``spent``: cycles of the wavefront that begins the pass last, from where an instruction could issue to where the next could, by kinds.
    """

    cycles: float
    matrix: int
    spent: Mapping[Kind, float] = field(default_factory=dict)

    @property
    def efficiency(self) -> float:
        """The part of the time in which the matrix unit works."""
        return self.matrix / self.cycles if self.cycles else 0.0


@dataclass
class _Wave:
    """One wavefront: where it is, when it may issue, and when its accesses are done."""

    place: int
    end: int
    ready: float = 0.0
    waits_since: float | None = None
    loads: list[float] = field(default_factory=list)
    accesses: list[float] = field(default_factory=list)
    begun: list[float] = field(default_factory=list)
    spent: dict[Kind, float] = field(default_factory=dict)

    def spend(self, kind: Kind, since: float) -> None:
        """Count the time ``since`` then for an instruction of this kind."""
        self.spent[kind] = self.spent.get(kind, 0.0) + self.ready - since


@dataclass
class _Units:
    """Shared units of a SIMD's wavefronts, by the time when each is free."""

    matrix: float = 0.0
    packed: float = 0.0
    lds: float = 0.0
    cache: float = 0.0
    queued: list[float] = field(default_factory=list)
    fetched: list[float] = field(default_factory=list)


def estimate(steps: Sequence[Step], chip: Chip, waves: int = 1, ahead: int = 0) -> Estimate:
    """Cycles of a pass over ``steps`` by ``waves`` wavefronts of each SIMD, of one work group.

    ``ahead``: how many steps a wavefront is ahead of the one before it, as ping-pong scheduling has it.
    """
    if not steps:
        return Estimate(0.0, 0)
    units, fleet = (
        _Units(),
        [_Wave(number * ahead, number * ahead + len(steps) * _PASSES) for number in range(waves)],
    )
    while True:
        running = [wave for wave in fleet if wave.place < wave.end and wave.waits_since is None]
        if not running:
            if not _pass_barrier(fleet, chip):
                break
            continue
        wave = min(running, key=lambda each: each.ready)
        if (wave.end - wave.place) % len(steps) == 0:
            wave.begun.append(wave.ready)
            wave.spent = {}
        step, since = steps[wave.place % len(steps)], wave.ready
        _issue(step, wave, units, chip)
        wave.spend(step.kind, since)
        wave.place += 1
    last = max(wave.ready for wave in fleet)
    latest = max(fleet, key=lambda wave: wave.begun[-1])
    cycles = last - latest.begun[-1]
    matrix = waves * chip.slot * sum(step.passes for step in steps)
    moved = sum(_bytes(step) for step in steps if step.kind is Kind.LOAD) * waves * chip.simds
    return Estimate(max(cycles, float(matrix), moved * chip.trip / chip.under_way), matrix, latest.spent)


def _pass_barrier(fleet: Sequence[_Wave], chip: Chip) -> bool:
    """Let all go who wait at a barrier; False where nobody does."""
    waiting = [wave for wave in fleet if wave.waits_since is not None]
    if not waiting:
        return False
    end = max(wave.waits_since or 0.0 for wave in waiting) + chip.barrier
    for wave in waiting:
        since, wave.ready, wave.waits_since = wave.ready, end, None
        wave.spend(Kind.BARRIER, since)
    return True


def _issue(step: Step, wave: _Wave, units: _Units, chip: Chip) -> None:
    """Issue ``step`` as soon as it can be, and say when the wavefront may go on."""
    start = wave.ready
    match step.kind:
        case Kind.MATRIX:
            start = max(start, units.matrix)
            units.matrix = start + chip.slot * step.passes
            units.packed = units.matrix + chip.slot * (_PACKED + (step.source >= _BYTES_A_SLOT))
            wave.ready = start + chip.slot * (1 + step.source // _BYTES_A_SLOT)
        case Kind.PACKED:
            wave.ready = max(start, units.packed) + chip.slot
        case Kind.READ | Kind.WRITE:
            wave.ready = _access(step, start, wave, units, chip)
        case Kind.LOAD:
            wave.ready = _load(step, start, wave, units, chip)
        case Kind.WAIT:
            found = [*_beyond(wave.loads, step.loads), *_beyond(wave.accesses, step.accesses)]
            wave.ready = max(start + chip.slot, *found) if found else start + chip.slot
        case Kind.BARRIER:
            wave.waits_since = start
        case Kind.TRANSCENDENTAL:
            wave.ready = start + 2 * chip.slot
        case _:
            wave.ready = start + chip.slot * step.times


def _access(step: Step, start: float, wave: _Wave, units: _Units, chip: Chip) -> float:
    """An access of LDS."""
    room = max(chip.queue // 2, 1)
    if len(units.queued) >= room:
        start = max(start, units.queued[-room])
    service = _bytes(step) * chip.simds / chip.lds_bytes * step.ways
    units.lds = max(units.lds, start) + service
    units.queued.append(units.lds)
    wave.accesses.append(max(units.lds, start + chip.latency))
    return start + chip.slot * (1 + (step.ways * (chip.write - 1) if step.kind is Kind.WRITE else 0))


def _load(step: Step, start: float, wave: _Wave, units: _Units, chip: Chip) -> float:
    """A load from global memory."""
    room = max(chip.loads // chip.simds, 1)
    if len(units.fetched) >= room:
        start = max(start, units.fetched[-room])
    service = chip.cache * chip.simds * (1.0 if step.bits > 32 else 0.25)
    units.cache = max(units.cache, start) + service
    units.fetched.append(units.cache)
    wave.loads.append(units.cache - service + chip.trip)
    return start + chip.slot


def _beyond(done: Sequence[float], under_way: int) -> Sequence[float]:
    """Completion times of those that must be done when at most ``under_way`` are in flight."""
    if under_way < 0:
        return ()
    return done[: len(done) - under_way][-1:]


def _bytes(step: Step) -> int:
    """Of an access of a wavefront."""
    return _LANES * step.bits // 8
