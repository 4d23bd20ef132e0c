"""The table: rates, ratios, and whether a goal is met."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from integration.bench_gpu.case import Case
from integration.bench_gpu.measure import Measured

__all__ = ["markdown", "row"]


def _config(made: Measured) -> str:
    if made.config is None:
        return ""
    order = ("BLOCK", "BLOCK_M", "BLOCK_N", "BLOCK_K")
    tile = "x".join(str(made.config[k]) for k in order if k in made.config)
    stages = f" s{made.config['num_stages']}" if "num_stages" in made.config else ""
    specialized = made.config.get("warp_specialize")
    special = "" if specialized is None else " specialised" if specialized else " plain"
    special += " persistent" if made.config.get("persistent") else ""
    special += " from registers" if made.config.get("tma_stores") is False else ""
    delayed = made.config.get("pipeline_chained_dots")
    flight = "" if delayed is None else f" {'two' if delayed else 'one'} in flight"
    return f"{tile} w{made.config['num_warps']}{stages}{special}{flight}".strip()


def row(case: Case, made: Mapping[str, Measured]) -> dict[str, Any]:
    """One line: ``x/y`` columns are speeds relative to y, above 1 is faster; the host's times are tri's, Triton's, the library's."""
    ours, theirs, library = (made[n] if n in made else Measured() for n in ("tri", "triton", "library"))
    reference = library if case.against == "library" else theirs
    reached = reference.median / ours.median
    return {
        "kernel": case.name,
        "tri": case.rate(ours.median) if ours.seconds else "failed",
        "Triton": case.rate(theirs.median) if theirs.seconds else "failed",
        "library": case.rate(library.median) if library.seconds else "",
        "tri/Triton": theirs.median / ours.median,
        "tri/library": library.median / ours.median,
        "goal": f"{case.goal} x {case.against}",
        "met": "yes" if reached >= case.goal else "no",
        "host, us": f"{ours.host * 1e6:.0f} / {theirs.host * 1e6:.0f} / {library.host * 1e6:.0f}",
        "error, tri": ours.error,
        "error, Triton": theirs.error,
        "tri's configuration": _config(ours),
        "Triton's": _config(theirs),
    }


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "" if value != value else f"{value:.1e}" if abs(value) < 1e-2 else f"{value:.3f}"
    return str(value)


def markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows as a table of a page."""
    columns = list(dict.fromkeys(key for r in rows for key in r))
    lines = [columns, ["---"] * len(columns), *([_cell(r.get(c, "")) for c in columns] for r in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
