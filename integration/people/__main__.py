"""``python -m integration.people``: what people meet, in numbers, beside the goals; ``--quick`` leaves out what runs kernels.

Exit status 1 while a goal is missed, with ``--strict``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from integration.people.goals import GOALS, measured


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a row for every goal."""
    parser = argparse.ArgumentParser(prog="python -m integration.people", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leave out what runs kernels")
    parser.add_argument("--strict", action="store_true", help="exit with 1 while a goal is missed")
    asked = parser.parse_args(arguments)
    table = Table("what", "today", "goal", "")
    missed = 0
    for goal in GOALS:
        if goal.slow and asked.quick:
            continue
        found = measured(goal)
        missed += not found.met
        table.add_row(goal.what, found.today, goal.goal, "" if found.met else "missed")
        for note in found.notes:
            table.add_row(f"  {note}", "", "", "", style="dim")
    Console().print(table)
    return 1 if missed and asked.strict else 0


if __name__ == "__main__":
    sys.exit(main())
