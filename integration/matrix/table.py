"""Results of the matrix: a table for terminals, JSON, and the reports of ``docs/conformance``."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from integration.matrix.plan import OLDEST, Pairing
from integration.matrix.runs import VERDICTS, Outcome

__all__ = ["CORE", "is_right", "listings", "problems", "table", "to_json", "write_reports"]

SCHEMA = 1
#: the package whose version heads a column
CORE = "tri-core"
_HEADS = ("target", "core", "choice", *VERDICTS, "not run", "time", "right")


def is_right(outcomes: Sequence[Outcome]) -> bool:
    """True if something was run, without a failure."""
    return any(o.right for o in outcomes) and all(o.right is not False for o in outcomes)


def _cells(outcome: Outcome) -> list[str]:
    job = outcome.job
    core = job.pairing.versions.get(CORE, "")
    if outcome.right is None:
        return [job.target, core, job.pairing.name, *("" for _ in VERDICTS), "all", "", "not tested"]
    counted = [str(outcome.counts.get(verdict, 0)) if outcome.counts else "" for verdict in VERDICTS]
    right = "yes" if outcome.right else "NO"
    return [
        job.target,
        core,
        job.pairing.name,
        *counted,
        _left_out(outcome),
        f"{outcome.seconds:.0f} s",
        right,
    ]


def _left_out(outcome: Outcome) -> str:
    job = outcome.job
    of_levels = f"all but {', '.join(job.levels)}" if job.levels else ""
    of_cases = f"{outcome.left_out}, 1 in {job.sample} was" if outcome.left_out else ""
    return "; ".join(filter(None, (of_levels, of_cases)))


def table(outcomes: Iterable[Outcome]) -> Table:
    """One line per target and choice of versions."""
    made = Table(title="Each backend alone from its wheel", title_justify="left")
    for head in _HEADS:
        made.add_column(head, justify="right" if head in (*VERDICTS, "time") else "left")
    for outcome in outcomes:
        style = {None: "yellow", False: "red", True: None}[outcome.right]
        made.add_row(*_cells(outcome), style=style)
    return made


def listings(pairings: Iterable[Pairing]) -> Iterator[str]:
    """The versions of each environment, a line each."""
    for pairing in pairings:
        versions = ", ".join(f"{name} {version}" for name, version in sorted(pairing.versions.items()))
        yield f"{pairing.row.package}, {pairing.name}: {versions or f'not tested: {pairing.untested}'}"


def problems(outcomes: Iterable[Outcome], most: int = 20) -> Iterator[str]:
    """Failures, and reasons that something was not tested; at most ``most`` cases of each run."""
    for outcome in outcomes:
        where = f"{outcome.job.target}, {outcome.job.pairing.name}"
        if outcome.reason:
            yield f"{where}: {outcome.reason}"
        for line in outcome.failures[:most]:
            yield f"{where}: {line[:400]}"
        if len(outcome.failures) > most:
            yield f"{where}: and {len(outcome.failures) - most} more"


def to_json(outcomes: Sequence[Outcome]) -> str:
    """Everything as JSON, schema 1."""
    said = {"schema": SCHEMA, "ok": is_right(outcomes), "runs": [_record(o) for o in outcomes]}
    return json.dumps(said, indent=1, ensure_ascii=False) + "\n"


def _record(outcome: Outcome) -> dict[str, Any]:
    job = outcome.job
    return {
        "target": job.target,
        "package": job.pairing.row.package,
        "choice": job.pairing.name,
        "versions": job.pairing.versions,
        "sample": job.sample,
        "levels": list(job.levels),
        "right": outcome.right,
        "counts": dict(outcome.counts),
        "left_out": outcome.left_out,
        "seconds": round(outcome.seconds, 1),
        "reason": outcome.reason,
        "failures": list(outcome.failures),
    }


def _linked(outcome: Outcome) -> list[str]:
    target, *cells = _cells(outcome)
    if outcome.job.pairing.name == OLDEST or outcome.right is None:
        return [f"`{target}`", *cells]
    return [f"[`{target}`]({target.replace(':', '-')}.md)", *cells]


def to_markdown(outcomes: Sequence[Outcome], pairings: Iterable[Pairing]) -> str:
    """The table, and the versions behind it, for readers."""
    lines = ["# Each backend alone, with the oldest and the newest core", ""]
    lines += [f"| {' | '.join(_HEADS)} |", f"| {' | '.join('---' for _ in _HEADS)} |"]
    lines += [f"| {' | '.join(_linked(outcome))} |" for outcome in outcomes]
    lines += ["", *(f"* {line}" for line in listings(pairings)), ""]
    lines += ["Made by `nox -s matrix`: [releases and the matrix](../design/releases.md).", ""]
    return "\n".join(lines)


def write_reports(outcomes: Sequence[Outcome], pairings: Iterable[Pairing], runs: Path, into: Path) -> None:
    """The kit's reports of the newest versions, from the folder ``runs``, and the table, as Markdown in ``into``."""
    into.mkdir(parents=True, exist_ok=True)
    for outcome in outcomes:
        report = runs / f"{outcome.job.slug}.md"
        if outcome.job.pairing.name != OLDEST and report.is_file():
            shutil.copyfile(report, into / f"{outcome.job.target.replace(':', '-')}.md")
    (into / "matrix.md").write_text(to_markdown(outcomes, pairings), encoding="utf-8")
