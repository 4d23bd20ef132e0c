"""``python -m integration.published.operators --packages FOLDER [--every N] [--save] [packages...]``: judge operators, print a table.

``--every``: every N-th operator only; ``--save``: keep the verdicts and write the page of the docs.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from integration.published.operators import page
from integration.published.operators.driver import verdicts
from integration.published.operators.packages import PACKAGES


def main() -> int:
    """Judge the operators; how many were right when verdicts were saved, and are not so now."""
    parser = argparse.ArgumentParser(prog="integration.published.operators", description=__doc__)
    parser.add_argument(
        "--packages", type=Path, required=True, help="the folder where the packages are installed"
    )
    parser.add_argument("--every", type=int, default=1, help="one of so many operators")
    parser.add_argument("--save", action="store_true", help="keep the verdicts, write the page")
    parser.add_argument("names", nargs="*", help="packages; all when left out")
    arguments = parser.parse_args()
    chosen = arguments.names or list(PACKAGES)
    found = []
    for package in chosen:
        for record in verdicts(package, arguments.packages.resolve(), every=arguments.every):
            found.append(record)
            sys.stdout.write(
                f"{record['state']:16} {package}/{record['name']}: {record['reason'] or record['error']}\n"
            )
            sys.stdout.flush()
    sys.stdout.write(page.summary(found))
    if arguments.save:
        page.save(found, chosen)
        return 0
    worse = page.worse(found, page.kept())
    for line in worse:
        sys.stdout.write(f"no longer right: {line}\n")
    return len(worse)


if __name__ == "__main__":
    sys.exit(min(main(), 1))
