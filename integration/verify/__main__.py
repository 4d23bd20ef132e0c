"""``python -m integration.verify [--target nvidia:sm_80 ...]``: what `tri verify` finds of planted faults, its false alarms, its cost.

1 where a fault is missed, a pass that is not at fault is named, or a right kernel is called wrong.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from integration.verify.assembled import FAULTY, RIGHT, as_ptxas_is
from integration.verify.faults import FAULTS, Fault, fresh
from integration.verify.kernels import TRIALS
from tri.verifying import Finding, verify
from tri_conformance import Selection, Subject, cases, judge

__all__ = ["alarms", "found", "is_named", "main", "seconds"]

_TARGET = "nvidia:sm_80"
_TARGETS = (_TARGET, "nvidia:sm_90a", "amd:gfx942", "intel:pvc", "cpu")
#: for which assemblers are judged
_ASSEMBLED = "nvidia:sm_90a"
#: whose text the kit's cases run at
_TEXT = ("sm_80", "sm_90a")
#: seconds that a verification of a kernel may take
_GOALS = {"matmul": 10.0, "attention": 30.0}


def found(fault: Fault, target: str = _TARGET) -> Finding | None:
    """The first finding that calls the kernel with the fault wrong; None where it is missed."""
    with fault.planted():
        report = verify(TRIALS[fault.kernel], [target])
    return next(iter(report.having("wrong")), None)


def is_named(fault: Fault, finding: Finding) -> bool:
    """True if the finding says where the fault is: its pass, or the text level alone."""
    if fault.layer == "text":
        return ":level=" in finding.level and "level of the one before" in finding.step
    return f"pass {fault.step!r}" in finding.step and finding.step.endswith(f"of stage {fault.layer}")


def alarms(targets: Sequence[str]) -> list[str]:
    """Findings about right kernels that are not called equal or rounded."""
    reports = [verify(trial, targets, seeds=(0, 1)) for trial in TRIALS.values()]
    return [str(each) for r in reports for each in r.findings if each.verdict not in ("equal", "rounding")]


def kit(target: str, sample: int) -> tuple[int, int]:
    """Counts of passed and of all cases that apply to ``target``, of one in ``sample`` of each feature of the kit."""
    chosen, _ = cases(Selection(sample=sample))
    verdicts = [judge(case, Subject(target)).verdict for case in chosen]
    apply = [each for each in verdicts if each != "not-applicable"]
    return apply.count("passed"), len(apply)


def assembled(target: str) -> tuple[list[str], list[Finding]]:
    """Kernels that an assembler here gets wrong where nothing is rewritten for it, and findings that are not equal where it is."""
    with as_ptxas_is():
        found = [n for n, trial in FAULTY.items() if verify(trial, [target], assemblers=True).having("wrong")]
    kept = [verify(trial, [target], assemblers=True) for trial in (*RIGHT.values(), *FAULTY.values())]
    return found, [each for report in kept for each in report.findings if each.verdict != "equal"]


def seconds(name: str) -> float:
    """Seconds to verify a kernel that no cache has."""
    begin = time.monotonic()
    with fresh():
        verify(TRIALS[name], [_TARGET])
    return time.monotonic() - begin


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 1 where it is not as it should be."""
    parser = argparse.ArgumentParser(prog="python -m integration.verify", description=__doc__)
    parser.add_argument("--target", nargs="+", default=list(_TARGETS), help="of the right kernels")
    parser.add_argument(
        "--kit",
        type=int,
        default=0,
        metavar="N",
        help="one in N cases of a feature of the kit, too (0: none)",
    )
    parser.add_argument(
        "--assemblers",
        action="store_true",
        help=f"what each ptxas here makes of integer kernels for {_ASSEMBLED}, too; its goal is that of 12.9 and 13.0",
    )
    given = parser.parse_args(arguments)
    console, table = Console(width=160), Table("what", "found", "goal")
    missed, astray = [], []
    for fault in FAULTS:
        finding = found(fault)
        named = finding is not None and is_named(fault, finding)
        label = f"{fault.layer}, {fault.step or fault.kernel}: {fault.name}"
        console.print(
            f"{label}: {'missed' if finding is None else finding.step or finding.level}", markup=False
        )
        missed += [label] if finding is None else []
        astray += [label] if finding is not None and not named else []
    wrong = alarms(given.target)
    for each in wrong:
        console.print(each, markup=False)
    table.add_row("planted faults found", f"{len(FAULTS) - len(missed)} of {len(FAULTS)}", "all")
    table.add_row("their pass, or the text, named", f"{len(FAULTS) - len(missed) - len(astray)}", "all")
    table.add_row(f"false alarms over {len(TRIALS)} kernels", str(len(wrong)), "0")
    for arch in _TEXT if given.kit else ():
        passed, count = kit(f"sim:nvidia:{arch}:level=text", given.kit)
        table.add_row(
            f"kit's cases at the text level, {arch}, one in {given.kit}", f"{passed} of {count}", "99 %"
        )
    if given.assemblers:
        caught, others = assembled(_ASSEMBLED)
        for other in others:
            console.print(str(other), markup=False)
        false = [each for each in others if each.verdict == "wrong"]
        table.add_row(
            "kernels that a card found, found by --assemblers", f"{len(caught)} of {len(FAULTY)}", "all"
        )
        label = f"its false alarms over {len(RIGHT) + len(FAULTY)} kernels, and what is not judged"
        table.add_row(label, f"{len(false)}, {len(others) - len(false)}", "0, 0")
        missed += sorted(FAULTY.keys() - set(caught))
        wrong += map(str, false)
    for name, goal in _GOALS.items():
        table.add_row(f"seconds for {name}, {_TARGET}", f"{seconds(name):.1f}", f"{goal:g}")
    console.print(table)
    return 1 if missed or astray or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
