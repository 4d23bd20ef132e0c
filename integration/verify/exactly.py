"""``python -m integration.verify.exactly``: what exact passes find of small planted faults, and their alarms over right kernels.

1 where a fault is missed, or a right kernel is called wrong.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from integration.verify.faults import Fault
from integration.verify.kernels import TRIALS
from integration.verify.others import OTHERS
from integration.verify.small_faults import SMALL_FAULTS
from tri.verifying import Finding, Trial, verify

__all__ = ["exact_findings", "main", "verdicts"]

_FAULTY = "nvidia:sm_80"
_RIGHT = ("nvidia:sm_90a", "amd:gfx942", "intel:pvc")


def verdicts(fault: Fault) -> tuple[str, str]:
    """Verdicts on the kernel with ``fault``: of values, and of exact passes."""
    trial = TRIALS[fault.kernel]
    with fault.planted():
        reports = verify(trial, [f"sim:{_FAULTY}"]), verify(trial, [_FAULTY], exact=True)
    return reports[0].findings[0].verdict, reports[1].findings[0].verdict


def exact_findings(trials: Mapping[str, Trial], targets: Sequence[str] = _RIGHT) -> dict[str, list[Finding]]:
    """Findings of exact passes over right kernels, by name."""
    return {name: [*verify(trial, targets, exact=True).findings] for name, trial in trials.items()}


def main() -> int:
    """Print the table; 1 where it is not as it should be."""
    console, table = Console(width=160), Table("what", "found", "goal")
    found = {f"{fault.layer}, {fault.kernel}: {fault.name}": verdicts(fault) for fault in SMALL_FAULTS}
    for name, (values, exact) in found.items():
        console.print(f"{name}: {values} by values, {exact} exactly", markup=False)
    hidden = [exact for values, exact in found.values() if values in ("equal", "rounding")]
    judged = [each for findings in exact_findings({**TRIALS, **OTHERS}).values() for each in findings]
    for each in judged:
        if each.verdict != "equal":
            console.print(str(each), markup=False)
    alarms = [each for each in judged if each.verdict in ("wrong", "undefined")]
    refused = [each for each in judged if each.verdict == "refused"]
    table.add_row("small faults that values do not find", f"{len(hidden)} of {len(found)}", "20 or more")
    table.add_row("those found by exact passes", str(hidden.count("wrong")), "all")
    label = f"alarms over {len(TRIALS) + len(OTHERS)} right kernels, {len(_RIGHT)} targets"
    table.add_row(label, str(len(alarms)), "0")
    table.add_row("refused there", str(len(refused)), "few")
    console.print(table)
    return 1 if alarms or hidden.count("wrong") < len(hidden) else 0


if __name__ == "__main__":
    sys.exit(main())
