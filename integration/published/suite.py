"""All cases, and the report on them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from integration.published import (
    ao,
    cce,
    conch,
    explicit,
    fla,
    gems,
    liger,
    lmdeploy,
    more,
    sage,
    sglang,
    tiling,
    training,
    vllm,
)
from integration.published.cases import CASES, Bench, Case, Outcome, run
from integration.published.guards import guarded
from integration.published.projects import PROJECTS
from integration.published.tuning import untuned

__all__ = ["MODULES", "report", "select"]

#: the modules that enter cases
MODULES = (ao, cce, conch, explicit, fla, gems, liger, lmdeploy, more, sage, sglang, tiling, training, vllm)


def select(names: Sequence[str], *, whole: bool = False) -> list[Case]:
    """The cases whose name holds one of ``names``; all when there are none, those of nightly projects where ``whole``."""
    if names:
        return [c for c in CASES if any(n in c.name for n in names)]
    return [c for c in CASES if whole or not PROJECTS[c.project].nightly]


def report(cases: Sequence[Case], device: str, folder: Path) -> int:
    """Run ``cases`` with tensors on ``device``, write a line for each; how many failed."""
    bench = Bench(device, folder)
    failed = 0
    with guarded(device), untuned():
        for item in cases:
            outcome = run(item, bench)
            failed += not outcome.passed
            sys.stdout.write(_line(outcome))
            sys.stdout.flush()
    sys.stdout.write(f"{len(cases) - failed} of {len(cases)} pass\n")
    return failed


def _line(outcome: Outcome) -> str:
    if outcome.failure:
        return f"FAIL {outcome.case.name} ({outcome.seconds:.1f} s)\n{outcome.failure}\n"
    shown = " ".join(f"{n} {e:.1e}{'' if e <= t else f' > {t:.0e}'}" for n, e, t in outcome.checks)
    return f"{'ok  ' if outcome.passed else 'FAIL'} {outcome.case.name} ({outcome.seconds:.1f} s): {shown}\n"
