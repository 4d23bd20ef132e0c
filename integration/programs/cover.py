"""Covering samples: few rows in which every combination of any few options is.

Greedy, after Cohen, Dalal, Fredman and Patton, "The AETG system" (1997): each row is the best of some random ones that have
the first combination not seen yet.
"""

from __future__ import annotations

import random
from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations, product

__all__ = ["Row", "combinations_of", "cover"]

#: an option by axis
Row = Mapping[str, Hashable]
#: options of some axes that are to occur in one row
Combination = tuple[tuple[str, Hashable], ...]

_TRIES = 16


def combinations_of(row: Row, strength: int) -> list[Combination]:
    """Combinations that ``row`` covers."""
    return list(combinations(sorted(row.items(), key=lambda item: item[0]), strength))


def _wanted(
    tables: Sequence[Mapping[str, Sequence[Hashable]]], strength: int
) -> dict[Combination, list[int]]:
    """Every combination, with the tables that have it."""
    found: dict[Combination, list[int]] = {}
    for index, table in enumerate(tables):
        for axes in combinations(sorted(table), strength):
            for options in product(*(table[axis] for axis in axes)):
                found.setdefault(tuple(zip(axes, options, strict=True)), []).append(index)
    return found


def cover(
    tables: Sequence[Mapping[str, Sequence[Hashable]]], strength: int = 2, seed: int = 0
) -> list[dict[str, Hashable]]:
    """Rows such that every combination of ``strength`` options that a table has is in a row of such a table.

    A table says what options each axis has; a row has one of each axis of one table.
    """
    chooser = random.Random(seed)
    missing = _wanted(tables, strength)
    rows: list[dict[str, Hashable]] = []
    while missing:
        first, places = next(iter(missing.items()))

        def candidate() -> dict[str, Hashable]:
            table = tables[chooser.choice(places)]  # noqa: B023  used before the next iteration
            return {axis: chooser.choice(options) for axis, options in table.items()} | dict(first)  # noqa: B023

        def gain(row: Row) -> int:
            return sum(c in missing for c in combinations_of(row, strength))

        best = max((candidate() for _ in range(_TRIES)), key=gain)
        for done in combinations_of(best, strength):
            missing.pop(done, None)
        rows.append(best)
    return rows
