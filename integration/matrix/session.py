"""A run of the whole matrix: environments, then devices, then the kit, several at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path

from rich.console import Console

from integration.matrix.environments import Environment, Installer, Wheelhouse
from integration.matrix.plan import OLDEST, Pairing, Plan, prepare
from integration.matrix.rows import LEVELS_OF_OLDEST, Row
from integration.matrix.runs import Job, Outcome, run
from tri_core.errors import TriError

__all__ = ["Session", "Wanted"]


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Part of the matrix to run: ``target`` a glob, ``pairing`` a choice (None: both), ``sample`` one in N
    cases of each feature (None: as the rows say), ``full`` every case, ``jobs`` runs at a time.
    """

    target: str = "*"
    pairing: str | None = None
    sample: int | None = None
    full: bool = False
    jobs: int = 2

    def has(self, pairing: Pairing) -> bool:
        """True if the choice of versions is selected; one that is both is the newest."""
        return self.pairing is None or pairing.name.partition(" ")[0] == self.pairing

    def jobs_of(self, pairing: Pairing, devices: Sequence[str]) -> Iterator[Job]:
        """The runs of one environment that found ``devices``."""
        shares = {**dict.fromkeys(devices, pairing.row.device_sample), **pairing.row.targets}
        for target, share in shares.items():
            if fnmatchcase(target, self.target):
                levels = LEVELS_OF_OLDEST if pairing.name == OLDEST and not self.full else ()
                sample = 1 if self.full else self.sample or share
                yield Job(target=target, pairing=pairing, sample=sample, levels=levels)


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A choice of versions with its environment and the runs to do there; what is ``decided`` needs none."""

    pairing: Pairing
    environment: Environment | None = None
    jobs: tuple[Job, ...] = ()
    decided: tuple[Outcome, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Session:
    """``wanted`` of ``plan``, with files in ``work`` and progress on ``console``."""

    plan: Plan
    wanted: Wanted
    work: Path
    console: Console
    installer: Installer = field(default_factory=Installer)

    @property
    def runs(self) -> Path:
        """The folder of the kit's results and output."""
        return self.work / "runs"

    @property
    def environments(self) -> Path:
        """The folder of the environments."""
        return self.work / "environments"

    @cached_property
    def wheelhouse(self) -> Wheelhouse:
        """The wheels."""
        return Wheelhouse(self.work / "wheels", self.plan.top)

    def pairings(self, rows: Iterable[Row]) -> list[Pairing]:
        """The choices of versions that are wanted."""
        return [p for row in rows for p in self.plan.pairings(row) if self.wanted.has(p)]

    def run(self, rows: Iterable[Row]) -> list[Outcome]:
        """Everything, target after target as in ``rows``; what cannot be run is an outcome, too."""
        self.runs.mkdir(parents=True, exist_ok=True)
        with ThreadPoolExecutor(self.wanted.jobs) as pool:
            ready = list(pool.map(self._prepare, self.pairings(rows)))
            running = [(p, [pool.submit(self._run, job, p) for job in p.jobs]) for p in ready]
            outcomes = [o for p, started in running for o in (*p.decided, *(f.result() for f in started))]
        targets = list(dict.fromkeys(outcome.job.target for outcome in outcomes))
        return sorted(outcomes, key=lambda outcome: targets.index(outcome.job.target))

    def _prepare(self, pairing: Pairing) -> Prepared:
        if pairing.untested:
            jobs = self.wanted.jobs_of(pairing, ())
            untested = (Outcome(job=job, right=None, reason=pairing.untested) for job in jobs)
            return Prepared(pairing=pairing, decided=tuple(untested))
        row = pairing.row
        try:
            environment = prepare(pairing, self.wheelhouse, self.installer, self.environments)
            devices = environment.devices(row.package)
        except TriError as error:
            return Prepared(pairing=pairing, decided=(_wrong(pairing, str(error)),))
        absent = row.owed and not devices
        self.console.print(
            f"{pairing.folder}: alone; devices: {', '.join(devices) or 'none'}", highlight=False
        )
        return Prepared(
            pairing=pairing,
            environment=environment,
            jobs=tuple(self.wanted.jobs_of(pairing, devices)),
            decided=(_wrong(pairing, "it finds no device, and every machine owes it one"),) if absent else (),
        )

    def _run(self, job: Job, prepared: Prepared) -> Outcome:
        assert prepared.environment is not None
        outcome = run(job, prepared.environment, self.runs)
        said = "right" if outcome.right else "WRONG"
        self.console.print(
            f"{job.target}, {job.pairing.name}: {said}, {outcome.seconds:.0f} s", highlight=False
        )
        return outcome


def _wrong(pairing: Pairing, reason: str) -> Outcome:
    """An environment that cannot be used."""
    return Outcome(job=Job(target=pairing.row.package, pairing=pairing, sample=1), right=False, reason=reason)
