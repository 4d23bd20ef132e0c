"""``python -m integration.releases``: print what is wrong with versions and ranges; exit 1 if anything is."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from integration.releases.edits import raise_bounds, record
from integration.releases.history import HistoryError
from integration.releases.rules import RULES, Repository, Subject


def main() -> int:
    """Check the repository around this file."""
    parser = argparse.ArgumentParser(prog="integration.releases", description=__doc__)
    parser.add_argument("--demand-history", action="store_true", help="fail when a release cannot be had")
    parser.add_argument("--raise-bounds", action="store_true", help="raise lower bounds that are too low")
    parser.add_argument(
        "--record", nargs="+", default=[], metavar="PACKAGE", help="record HEAD as its release"
    )
    given = parser.parse_args()
    top = Path(__file__).resolve().parents[2]
    with tempfile.TemporaryDirectory() as scratch:
        for line in raise_bounds(Repository(top, Path(scratch))) if given.raise_bounds else ():
            print(line)
        for name in given.record:
            repository = Repository(top, Path(scratch))
            print(record(repository, name, repository.history.head()))
        subjects = Repository(top, Path(scratch)).subjects()
        findings = _report(subjects, given.demand_history)
    print(f"{findings} findings in {len(subjects)} packages")
    return 1 if findings else 0


def _report(subjects: list[Subject], demanded: bool) -> int:
    findings = 0
    for number, rule in enumerate(RULES, 1):  # which take minutes: each may ask the history of every package
        print(f"{number} of {len(RULES)}: {rule.__name__}", file=sys.stderr, flush=True)
        try:
            for finding in (finding for subject in subjects for finding in rule(subject)):
                print(finding)
                findings += 1
        except HistoryError as error:
            print(f"left out: {rule.__name__}: {error}")
            findings += demanded
    return findings


if __name__ == "__main__":
    sys.exit(main())
