"""The outcomes as text: a row for each model, and the kernels whose times differ most."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import Any

__all__ = ["table"]

#: kernels that are listed, and microseconds below which none is
_LISTED, _LEAST = 25, 5.0


def table(outcomes: Sequence[dict[str, Any]], compilers: Sequence[str]) -> str:
    """Times of every compiler and those of the last over those of the first."""
    models = dict.fromkeys(o["model"] for o in outcomes)
    found = {(o["model"], o["compiler"]): o for o in outcomes}
    head = f"{'model':20}" + "".join(
        f"| {c:7} {'right':>5} {'error':>8} {'ms':>9} {'own ms':>8} {'cold s':>7} {'static':>8} "
        for c in compilers
    )
    lines = [f"{head}| ms/ms  own/own cold/cold"]
    ratios: dict[str, list[float]] = {"ms": [], "own": [], "cold": []}
    for model in models:
        row = [found.get((model, c), {}) for c in compilers]
        lines.append(f"{model:20}" + "".join(_cells(o) for o in row) + "| " + _ratios(row, ratios))
    lines.append("")
    lines += [
        f"geometric mean of {compilers[-1]}/{compilers[0]}, {name}: {statistics.geometric_mean(r):.3f} over {len(r)}"
        for name, r in ratios.items()
        if r
    ]
    right = {c: sum(bool(found.get((m, c), {}).get("right")) for m in models) for c in compilers}
    lines += [f"right by {c}: {count} of {len(models)}" for c, count in right.items()]
    lines += _failures(outcomes)
    lines += _kernels(found, models, compilers)
    return "\n".join(lines) + "\n"


def _best(outcome: dict[str, Any]) -> float | None:
    times = [t for t in outcome.get("ms", []) if t is not None]
    return min(times) if times else None


def _own(outcome: dict[str, Any]) -> float | None:
    """Milliseconds of the device in kernels that Inductor wrote."""
    kernels = outcome.get("device us") or {}
    return sum(us for name, us in kernels.items() if name.startswith("triton_")) / 1e3 or None


def _cells(outcome: dict[str, Any]) -> str:
    taken, launchers = outcome.get("static", (0, 0))
    error, cold = outcome.get("error"), outcome.get("cold s")
    reported = f"{error:8.1e}" if isinstance(error, float) else f"{'-':>8}"
    said = "yes" if outcome.get("right") else "NO" if outcome else "-"
    return (
        f"| {outcome.get('kernels', 0):7} {said:>5} {reported} {_number(_best(outcome), 9, 3)} {_number(_own(outcome), 8, 3)} "
        f"{_number(cold, 7, 1)} {f'{taken}/{launchers}':>8} "
    )


def _number(value: float | None, width: int, digits: int) -> str:
    return f"{'-':>{width}}" if value is None else f"{value:{width}.{digits}f}"


def _ratios(row: Sequence[dict[str, Any]], ratios: dict[str, list[float]]) -> str:
    first, last = row[0], row[-1]
    cells = []
    pairs = {
        "ms": (_best(last), _best(first)),
        "own": (_own(last), _own(first)),
        "cold": (last.get("cold s"), first.get("cold s")),
    }
    for name, (ours, theirs) in pairs.items():
        ratio = ours / theirs if ours and theirs else None
        cells.append(_number(ratio, 7, 3))
        if ratio is not None:
            ratios[name].append(ratio)
    return " ".join(cells)


def _failures(outcomes: Iterable[dict[str, Any]]) -> list[str]:
    lines = []
    for o in outcomes:
        if not o["right"]:
            lines += ["", f"{o['model']} by {o['compiler']}: wrong {', '.join(o.get('bad', ()))}"]
            reported = o["error"] if isinstance(o.get("error"), dict) else {}
            lines += [f"  {key}: {text}" for key, text in reported.items()]
    return lines


def _kernels(
    found: dict[tuple[str, str], dict[str, Any]], models: Iterable[str], compilers: Sequence[str]
) -> list[str]:
    """Kernels of the same name by both that cost most by the last compiler over the first."""
    rows = []
    for model in models:
        theirs, ours = (
            found.get((model, c), {}).get("device us") or {} for c in (compilers[0], compilers[-1])
        )
        both = [name for name in ours if name in theirs and name.startswith("triton_")]
        rows += [
            (ours[n] - theirs[n], model, n, ours[n], theirs[n])
            for n in both
            if max(ours[n], theirs[n]) > _LEAST
        ]
    rows.sort(reverse=True)
    if not rows:
        return []
    chosen = rows if len(rows) <= 2 * _LISTED else [*rows[:_LISTED], *rows[-_LISTED:]]
    lines = ["", f"{compilers[-1]} us  {compilers[0]} us  ratio  kernel"]
    return lines + [
        f"{ours:8.1f} {theirs:9.1f} {ours / theirs:7.3f}  {model} {name}"
        for _, model, name, ours, theirs in chosen
        if theirs
    ]
