"""``python -m integration.long_cases LOG ...``: which cases of parametrized tests every change runs, from measured seconds.

A sweep whose cases take long together tells more in a nightly run than it costs there, and more than it is worth before each
change.  So ``pytest --cases some`` runs as many cases of a test function as fit in :data:`BUDGET`, spread evenly over all of
them, and leaves out those that alone take longer; ``--cases rest`` runs the others.  What is measured stands in
``long_cases.json``, which this command writes anew from what ``pytest --durations=0 --durations-min=0.02`` printed.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["BUDGET", "PATH", "LongCases", "measured", "read", "some"]

#: seconds that the cases of one function take at most, on one core
BUDGET = 3.0
PATH = Path(__file__).with_suffix(".json")
#: fewer cases are not divided
_FEWEST = 2
_DURATION = re.compile(r"^([\d.]+)s call +(\S[^\[]*)(?:\[(.*)\])?$", re.MULTILINE)


@dataclass(frozen=True)
class LongCases:
    """Times of one test function: ``seconds`` of all its cases but ``heavy``, which alone take longer than the budget: the lightest first."""

    seconds: float
    heavy: tuple[str, ...] = ()


def read(path: Path = PATH) -> dict[str, LongCases]:
    """The table, by the node ids of functions without the case in brackets."""
    return {
        name: LongCases(each["seconds"], tuple(each["heavy"]))
        for name, each in json.loads(path.read_text()).items()
    }


def some(names: Sequence[str], known: LongCases) -> frozenset[str]:
    """The cases that every change runs, of the cases ``names`` of one function in their order.

    One at least, which is the lightest where all are heavy; all where they are few.
    """
    light = [name for name in names if name not in known.heavy]
    if not light:
        return frozenset([next(name for name in known.heavy if name in names)]) if names else frozenset()
    count = len(light)
    if known.seconds > BUDGET:
        count = min(count, max(_FEWEST, round(count * BUDGET / known.seconds)))
    return frozenset(light[index * len(light) // count] for index in range(count))


def measured(texts: Sequence[str]) -> dict[str, LongCases]:
    """Times of the functions with several cases that are worth it, from what pytest printed; a case's longest counts."""
    cases: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for text in texts:
        for seconds, name, case in _DURATION.findall(text):
            cases[name][case] = max(float(seconds), cases[name].get(case, 0.0))
    found = {name: _long(each) for name, each in sorted(cases.items()) if len(each) > 1}
    return {name: each for name, each in found.items() if each.heavy or each.seconds > BUDGET}


def _long(cases: Mapping[str, float]) -> LongCases:
    heavy = tuple(sorted((n for n, s in cases.items() if s > BUDGET), key=lambda n: (cases[n], n)))
    light = sum(seconds for name, seconds in cases.items() if name not in heavy)
    return LongCases(round(light, 1), heavy)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the table from the files named."""
    found = measured([Path(name).read_text() for name in (sys.argv[1:] if arguments is None else arguments)])
    table = {name: {"seconds": each.seconds, "heavy": list(each.heavy)} for name, each in found.items()}
    PATH.write_text(json.dumps(table, indent=1) + "\n")
    print(f"{len(table)} functions in {PATH.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
