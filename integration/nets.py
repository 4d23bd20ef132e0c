"""``python -m integration.nets --minutes 60 [--seed 20260101] [--jobs 8] [--only NAME ...]``: every net of random or listed cases, within a budget.

Each net has a share of the minutes; those whose cases are a list run to their end.  The seed is today's date by default.  A net
that finds something prints the command that repeats it; a table of what all of them counted ends the run.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

__all__ = ["NETS", "Net", "Outcome", "command", "main", "run"]

#: orders in simulators of each random kernel, besides the usual one
_ORDERS = "2"
#: seconds over its share after which a net is ended: a batch that has begun is finished
_GRACE = 1200.0
_ALL = "1000000"


@dataclass(frozen=True)
class Net:
    """A module and its arguments, in which ``{seed}``, ``{minutes}`` and ``{jobs}`` are replaced; ``share`` of the minutes, 0 for a list of cases."""

    name: str
    share: float
    arguments: tuple[str, ...]


_RANDOM = ("--count", _ALL, "--seed", "{seed}", "--minutes", "{minutes}", "--jobs", "{jobs}")
NETS = (
    Net("random kernels", 0.25, ("integration.random_kernels", *_RANDOM)),
    Net("random kernels, in orders", 0.1, ("integration.random_kernels", *_RANDOM, "--schedules", _ORDERS,
        "--targets", "numpy,sim:nvidia:sm_80,sim:nvidia:sm_90a,sim:amd:gfx942,sim:intel:pvc")),
    Net("random kernels, at the text level", 0.1, ("integration.random_kernels", *_RANDOM, "--targets",
        "numpy,sim:nvidia:sm_80:level=text,sim:nvidia:sm_90a:level=text")),
    Net("random programs", 0.3, ("integration.random_programs", *_RANDOM, "--schedules", _ORDERS)),
    Net("IR mutants", 0.25, ("integration.ir_mutants", "--count", "2496", "--seed", "{seed}", "--minutes", "{minutes}")),
    Net("launches", 0.0, ("pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "integration/tests/test_bad_launches.py",
        "packages/tri-runtime/tests/test_schema.py")),
    Net("assemblers", 0.0, ("integration.assemblers", "--arch", "sm_80", "sm_90a", "--every", "{every}")),
)  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """Result of a net: its exit status, 0 if it found nothing, the last line that it printed, and its time in seconds."""

    net: Net
    command: tuple[str, ...]
    status: int
    last: str
    seconds: float


def command(net: Net, minutes: float, seed: int, jobs: int) -> tuple[str, ...]:
    """The arguments of Python for ``net``, where all nets have ``minutes``."""
    given = {
        "seed": seed,
        "jobs": jobs,
        "minutes": f"{minutes * net.share:g}",
        "every": max(1, round(20 / max(minutes, 1))),
    }
    return ("-m", *(word.format(**given) for word in net.arguments))


def run(net: Net, minutes: float, seed: int, jobs: int) -> Outcome:
    """Run ``net``, which is ended where it takes far longer than its share; what it prints is passed on."""
    arguments = command(net, minutes, seed, jobs)
    begin, last = time.monotonic(), ""
    with subprocess.Popen(
        [sys.executable, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        timer = threading.Timer(60 * minutes * net.share + _GRACE, process.kill)
        timer.start()
        assert process.stdout is not None
        for line in process.stdout:
            sys.stdout.write(line)
            sys.stdout.flush()
            last = line.strip() or last
        status = process.wait()
        timer.cancel()
    return Outcome(net, arguments, status, last, time.monotonic() - begin)


def _table(outcomes: Sequence[Outcome]) -> Table:
    table = Table("net", "seconds", "", "what it counted")
    for each in outcomes:
        table.add_row(
            each.net.name, f"{each.seconds:.0f}", "" if not each.status else f"exit {each.status}", each.last
        )
    return table


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the nets; 1 where one found something."""
    parser = argparse.ArgumentParser(prog="python -m integration.nets", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0, help="of all nets together")
    parser.add_argument("--seed", type=int, default=int(dt.date.today().strftime("%Y%m%d")))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", nargs="*", default=[net.name for net in NETS], metavar="NAME")
    options = parser.parse_args(arguments)
    console, outcomes = Console(width=200), list[Outcome]()
    for net in (net for net in NETS if net.name in options.only):
        console.rule(net.name)
        outcomes.append(run(net, options.minutes, options.seed, options.jobs))
        if outcomes[-1].status:
            text = f"{net.name}: found something; to repeat it: python {shlex.join(outcomes[-1].command)}"
            console.print(text, soft_wrap=True, markup=False, highlight=False)
    console.print(_table(outcomes))
    wrong = [each for each in outcomes if each.status]
    for each in wrong:
        console.print(
            f"to repeat: python {shlex.join(each.command)}", soft_wrap=True, markup=False, highlight=False
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
