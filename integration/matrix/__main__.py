"""``python -m integration.matrix``: test every backend alone, print one table; exit 1 if anything is wrong."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from rich.console import Console

from integration.matrix.plan import Plan
from integration.matrix.rows import KIT, ROWS
from integration.matrix.session import Session, Wanted
from integration.matrix.table import is_right, listings, problems, table, to_json, write_reports

TOP = Path(__file__).resolve().parents[2]


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="integration.matrix", description=__doc__)
    parser.add_argument(
        "--sample", type=int, metavar="N", help="one in N cases of each feature (else the table's)"
    )
    parser.add_argument("--full", action="store_true", help="every case, and history is demanded")
    parser.add_argument("--target", default="*", metavar="GLOB", help="targets to test")
    parser.add_argument("--pairing", choices=("newest", "oldest"), help="only one choice of versions")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="runs at a time")
    parser.add_argument("--demand-history", action="store_true", help="fail when a release cannot be had")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results as JSON")
    parser.add_argument("--reports", type=Path, metavar="FOLDER", help="write reports as in docs/conformance")
    parser.add_argument("--work", type=Path, metavar="FOLDER", help="keep wheels, environments and logs here")
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    """Run what the arguments ask for; 0 when all of it is right."""
    arguments = _arguments(given)
    logging.basicConfig(format="%(message)s")
    wanted = Wanted(
        target=arguments.target,
        pairing=arguments.pairing,
        sample=arguments.sample,
        full=arguments.full,
        jobs=arguments.jobs,
    )
    plan = Plan(TOP, KIT, demand_history=arguments.full or arguments.demand_history)
    with nullcontext(arguments.work) if arguments.work else tempfile.TemporaryDirectory() as work:
        session = Session(plan=plan, wanted=wanted, work=Path(work).resolve(), console=Console(width=140))
        outcomes = session.run(ROWS)
        session.console.print(table(outcomes))
        for line in (*listings(session.pairings(ROWS)), *problems(outcomes)):
            session.console.print(line, markup=False, highlight=False)
        if arguments.json:
            arguments.json.write_text(to_json(outcomes), encoding="utf-8")
        if arguments.reports:
            write_reports(outcomes, session.pairings(ROWS), session.runs, arguments.reports)
    return 0 if is_right(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
