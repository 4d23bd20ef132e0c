"""Summary of times and errors of both implementations."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["LOSES", "Line", "Row", "apart", "lines", "table", "verdict", "worst"]

#: Triton's time over tri's, below which tri loses
LOSES = 0.97
#: microseconds below which a kernel is mostly its launch
_SMALL = 4.0
#: of samples without a reference: difference relative to the largest
_APART = 1e-2


@dataclass
class Row:
    """A unit: what each implementation answered to ``check``, the microseconds of its kernels once a repeat, what is known of versions."""

    unit: str
    checks: dict[str, dict[str, Any]] = field(default_factory=dict)
    times: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    versions: dict[str, dict[str, Any]] = field(default_factory=dict)
    #: the largest difference of both's results, relative to the largest magnitude
    difference: float = float("nan")
    config: int = 0
    level: int = 0
    reason: str = ""

    def as_record(self) -> dict[str, Any]:
        """Record to write."""
        return asdict(self) | {"verdict": verdict(self)}


@dataclass(frozen=True)
class Line:
    """A kernel of a unit: the median of microseconds of each, NaN where one has no kernel of this name."""

    unit: str
    kernel: str
    tri: float
    triton: float

    @property
    def ratio(self) -> float:
        """Triton's time over tri's."""
        return self.triton / self.tri if self.tri > 0 else float("nan")


def _median(times: Sequence[float] | None) -> float:
    return statistics.median(times) if times else float("nan")


def lines(row: Row) -> list[Line]:
    """A line for each name of a kernel; one for all where the names differ."""
    ours, theirs = (row.times.get(name, {}) for name in ("tri", "triton"))
    if not ours or not theirs:
        return []
    if set(ours) != set(theirs):
        return [Line(row.unit, "(all)", *(sum(map(_median, t.values())) for t in (ours, theirs)))]
    return [Line(row.unit, name, _median(ours[name]), _median(theirs[name])) for name in sorted(ours)]


def apart(ours: Sequence[Sequence[float]], theirs: Sequence[Sequence[float]]) -> float:
    """The largest difference of samples relative to the largest magnitude of their tensor; infinite where shapes or NaNs differ."""
    if [len(s) for s in ours] != [len(s) for s in theirs]:
        return float("inf")
    worst = 0.0
    for a, b in zip(ours, theirs, strict=True):
        scale = max((abs(x) for x in b if math.isfinite(x)), default=0.0) or 1e-30
        for x, y in zip(a, b, strict=True):
            if x == y or (math.isnan(x) and math.isnan(y)):
                continue
            worst = max(worst, abs(x - y) / scale) if math.isfinite(x - y) else float("inf")
    return worst


def _off(check: Mapping[str, Any]) -> dict[str, float]:
    """The errors of a check that are not allowed, by name."""
    errors = check.get("errors", ())
    return {
        n: math.inf if math.isnan(error) else error for n, error, allowed in errors if not error <= allowed
    }


def verdict(row: Row) -> str:
    """Right, wrong, or who fails."""
    failing = [n for n in ("tri", "triton") if row.checks.get(n, {}).get("state") not in ("ok",)]
    if not row.checks:
        return "not reached"
    if len(failing) == 2:
        none = row.checks.get("tri", {}).get("state") == "no arguments"
        return "no arguments" if none else "both fail"
    if failing:
        return f"{failing[0]} fails"
    ours, theirs = _off(row.checks["tri"]), _off(row.checks["triton"])
    if row.checks["tri"].get("shapes") != row.checks["triton"].get("shapes"):
        return "sizes differ"
    # what both have is the operator's own: coarse dots, its defects
    if any(error > 2 * theirs.get(name, 0.0) for name, error in ours.items()):
        return "tri wrong"
    if any(error > 2 * ours.get(name, 0.0) for name, error in theirs.items()):
        return "triton wrong"
    if ours:
        return "both wrong alike"
    if not row.checks["tri"].get("errors") and row.difference > _APART:
        return "apart"
    return "right"


def worst(rows: Iterable[Row], number: int) -> list[Line]:
    """The losers, worst first."""
    found = [line for row in rows for line in lines(row) if line.ratio < LOSES]
    return sorted(found, key=lambda line: line.ratio)[:number]


def _mean(ratios: Sequence[float]) -> str:
    return f"{math.exp(statistics.fmean(map(math.log, ratios))):.3f}" if ratios else "-"


def _known(row: Row, kernel: str) -> str:
    """Warps, stages and registers of the versions of a kernel."""
    said = []
    for name in ("tri", "triton"):
        found = row.versions.get(name, {}).get(kernel, [])
        said += [f"{name}: " + " ".join(f"{k}={v}" for k, v in f.items() if v is not None) for f in found[:2]]
    return "; ".join(said)


def table(rows: Sequence[Row]) -> str:
    """The whole, as Markdown."""
    judged = Counter(map(verdict, rows))
    all_lines = [line for row in rows for line in lines(row) if line.ratio > 0]
    sized = [line for line in all_lines if min(line.tri, line.triton) >= _SMALL]
    by_unit = {row.unit: row for row in rows}
    means = [_mean([line.ratio for line in some]) for some in (all_lines, sized)]
    text = [
        f"{len(rows)} operators: " + ", ".join(f"{n} {name}" for name, n in judged.most_common()),
        f"{len(all_lines)} kernels timed, {len({line.kernel for line in all_lines})} names",
        f"Triton's time over tri's, geometric mean: {means[0]}; of {len(sized)} that take {_SMALL:g} us or more: {means[1]}",
        f"below {LOSES}: {sum(line.ratio < LOSES for line in all_lines)}, of these {sum(line.ratio < LOSES for line in sized)} of {_SMALL:g} us or more",
        "",
        "| ratio | tri us | Triton us | operator | kernel | versions |",
        "| ---: | ---: | ---: | --- | --- | --- |",
    ]
    text += [
        f"| {line.ratio:.3f} | {line.tri:.1f} | {line.triton:.1f} | {line.unit} | {line.kernel} | {_known(by_unit[line.unit], line.kernel)} |"
        for line in worst(rows, len(all_lines))
    ]
    text += ["", "Not right, or not run:", ""]
    for row in sorted(rows, key=lambda r: (verdict(r), r.unit)):
        said = verdict(row)
        if said not in ("right", "not reached", "no arguments"):
            text.append(f"- {said}: {row.unit}: {_why(row)}")
    return "\n".join(text) + "\n"


def _why(row: Row) -> str:
    """Reasons, and the largest errors."""
    said = [row.reason] if row.reason else []
    for name in ("tri", "triton"):
        check = row.checks.get(name, {})
        off = _off(check)
        if check.get("reason"):
            said.append(f"{name}: {check['reason'][:200]}")
        elif off:
            most = max(off, key=off.__getitem__)
            said.append(f"{name}: {most} {off[most]:.1e}")
    if row.difference > _APART:
        said.append(f"difference {row.difference:.1e}")
    return "; ".join(said)
