"""``python -m integration.count_house``: how well the repository explains itself, in numbers, beside the goals; ``--list ROW`` names places.

Exit status 1 while a goal is missed, with ``--strict``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from integration.count_house.rows import ROWS, House

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a row for every figure, or the places that one counts."""
    parser = argparse.ArgumentParser(prog="python -m integration.count_house", description=__doc__)
    parser.add_argument("--strict", action="store_true", help="exit with 1 while a goal is missed")
    parser.add_argument(
        "--list", metavar="ROW", choices=[row.key for row in ROWS], help="the places that it counts"
    )
    given = parser.parse_args(arguments)
    house = House.here()
    if given.list:
        row = next(row for row in ROWS if row.key == given.list)
        print(*row.count(house).places, sep="\n")
        return 0
    table = Table("row", "what", "today", "goal", "")
    missed = 0
    for row in ROWS:
        found = row.count(house)
        met = found.value >= row.goal if row.rises else found.value <= row.goal
        missed += not met
        table.add_row(row.key, row.what, f"{found.value:,}", f"{row.goal:,}", "" if met else "missed")
    Console().print(table)
    return 1 if missed and given.strict else 0


if __name__ == "__main__":
    sys.exit(main())
