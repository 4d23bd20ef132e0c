"""Results as JSON (schema 1, described in the README) and as Markdown."""

from __future__ import annotations

import datetime as dt
import importlib.metadata
import io
import json
import platform
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from rich.console import Console
from rich.table import Table

from tri_conformance.judge import Result, Verdict
from tri_conformance.levels import LEVELS
from tri_conformance.run import Run

__all__ = ["SCHEMA", "counts", "table", "to_dict", "to_json", "to_markdown", "write"]

SCHEMA = 1
VERDICTS: tuple[str, ...] = get_args(Verdict)


def counts(run: Run) -> dict[str, dict[str, int]]:
    """Verdicts per level, in the order of the levels."""
    found = {
        level: dict.fromkeys(VERDICTS, 0) for level in LEVELS if any(c.level == level for c in run.cases)
    }
    for result in run.results:
        found[result.case.level][result.verdict] += 1
    return found


def _versions() -> dict[str, str]:
    found = {
        d.metadata["Name"]: d.version
        for d in importlib.metadata.distributions()
        if (d.metadata["Name"] or "").startswith("tri-")
    }
    return {"python": platform.python_version(), **dict(sorted(found.items()))}


def to_dict(run: Run) -> dict[str, Any]:
    """The run as plain values."""
    profile = run.subject.profile
    return {
        "schema": SCHEMA,
        "target": run.subject.name,
        "options": dict(run.subject.common_options),
        "key": str(run.subject.target.key),
        "ok": run.ok,
        "started": dt.datetime.fromtimestamp(run.started, dt.UTC).isoformat(timespec="seconds"),
        "seconds": round(run.seconds, 1),
        "levels": list(run.selection.levels or LEVELS),
        "select": list(run.selection.select),
        "sample": run.selection.sample,
        "left_out": run.left_out,
        "unjudged": len(run.cases) - len(run.results),
        "versions": _versions(),
        "spec": run.subject.target.spec.to_json(),
        "declared": {
            "gaps": [vars(gap) for gap in profile.gaps],
            "known_failures": [vars(failure) for failure in profile.known_failures],
            "accuracy": [vars(accuracy) for accuracy in profile.accuracy],
            "unused": run.unused,
        },
        "counts": counts(run),
        "cases": [_case(result) for result in run.results],
    }


def _case(result: Result) -> dict[str, Any]:
    case = result.case
    return {
        "id": case.id,
        "level": case.level,
        "feature": case.feature,
        "verdict": result.verdict,
        "seconds": round(result.seconds, 4),
        "detail": result.detail,
    }


def to_json(run: Run) -> str:
    """The run as JSON."""
    return json.dumps(to_dict(run), indent=1, ensure_ascii=False) + "\n"


def table(run: Run) -> str:
    """Counts per level for a terminal."""
    made = Table("level", *VERDICTS, box=None)
    for level, found in counts(run).items():
        made.add_row(level, *(str(found[v]) for v in VERDICTS))
    stream = io.StringIO()
    Console(file=stream, width=100).print(made)
    return stream.getvalue().rstrip()


def to_markdown(run: Run) -> str:
    """The run for readers: counts, what is declared with reasons, what failed, what does not apply."""
    return "\n".join(_lines(run)) + "\n"


def _lines(run: Run) -> Iterator[str]:
    done = dt.datetime.fromtimestamp(run.started, dt.UTC).date()
    yield f"# Conformance of {run.subject.title}"
    yield ""
    yield f"Target `{run.subject.target.key}`, {done}, {len(run.results)} cases in {run.seconds:.0f} s: **{'ok' if run.ok else 'not ok'}**."
    yield ", ".join(f"{name} {version}" for name, version in _versions().items()) + "."
    if len(run.results) < len(run.cases):
        yield ""
        yield f"Unfinished: {len(run.cases) - len(run.results)} cases have no verdict."
    if run.left_out:
        yield ""
        yield f"A part only: {run.left_out} further cases of these levels were not asked for ({_selection(run)})."
    yield from ["", *_counts(run), "", *_declared(run), *_failures(run), *_absent(run)]


def _selection(run: Run) -> str:
    said = [f"one in {run.selection.sample} of each feature"] if run.selection.sample > 1 else []
    return ", ".join([*said, *(f"`{glob}`" for glob in run.selection.select)])


def _counts(run: Run) -> Iterator[str]:
    yield f"| level | {' | '.join(VERDICTS)} |"
    yield f"| --- | {' | '.join('---:' for _ in VERDICTS)} |"
    for level, found in counts(run).items():
        yield f"| {level} | {' | '.join(str(found[v]) for v in VERDICTS)} |"


def _declared(run: Run) -> Iterator[str]:
    profile = run.subject.profile
    yield "## Declared gaps, known failures and accuracy"
    yield ""
    if not (profile.gaps or profile.known_failures or profile.accuracy):
        yield "None."
        yield ""
        return
    yield "| cases | kind | reason | instead | until |"
    yield "| --- | --- | --- | --- | --- |"
    for gap in profile.gaps:
        yield f"| `{gap.test}` | gap | {gap.reason} | {gap.remedy} | {gap.expires} |"
    for failure in profile.known_failures:
        yield f"| `{failure.test}` | known failure | {failure.reason} | | {failure.expires} |"
    for accuracy in profile.accuracy:
        yield f"| `{accuracy.test}` | within {accuracy.ulp:g} ulp | {accuracy.reason} | | |"
    yield ""


def _failures(run: Run) -> Iterator[str]:
    failed = [result for result in run.results if result.verdict == "failed"]
    if failed:
        yield "## Failures"
        yield ""
        for result in failed:
            yield f"* `{result.case.id}`: {' '.join(result.detail.split())[:300]}"
        yield ""


def _absent(run: Run) -> Iterator[str]:
    reasons = Counter((r.case.level, r.detail) for r in run.results if r.verdict == "not-applicable")
    if reasons:
        yield "## Not applicable"
        yield ""
        yield "| level | what the target does not declare | cases |"
        yield "| --- | --- | ---: |"
        for (level, reason), count in sorted(reasons.items()):
            yield f"| {level} | {reason} | {count} |"


def write(run: Run, json_file: str | None, report_file: str | None) -> None:
    """Write the reports of ``run`` that have a name."""
    for name, text in ((json_file, to_json), (report_file, to_markdown)):
        if name:
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            # in one step: who reads it while the run goes on, or after it was killed, finds a whole report
            unfinished = Path(f"{name}.unfinished")
            unfinished.write_text(text(run), encoding="utf-8")
            unfinished.replace(name)
