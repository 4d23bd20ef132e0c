"""``python -m integration.published.operators.worker PACKAGE FOLDER START STEP [NAMES...]``: judge operators, a line of JSON for each.

Beside each verdict stands a line before it with the name of the operator: the parent knows whose turn it was where the process ends.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import tri.compat.triton

__all__ = ["BEGIN", "END", "main"]

BEGIN, END = "@begin ", "@end "
#: seconds for one operator
LIMIT = 120


def _reported(record: dict[str, Any], folder: Path) -> dict[str, Any]:
    """``record`` without the place where the packages lie."""
    return record | {"reason": record["reason"].replace(f"{folder}/", "")}


def main(package: str, folder: Path, start: int, step: int, names: list[str]) -> None:
    """Judge every ``step``-th operator of ``package`` from number ``start`` on."""
    tri.compat.triton.install()
    from integration.published.guards import guarded, taken_for_a_gpus
    from integration.published.limits import limited
    from integration.published.operators.operator import DEVICE, judge
    from integration.published.operators.sources import SOURCES
    from integration.published.tuning import untuned

    with guarded("cpu"), untuned():
        for number, operator in enumerate(SOURCES[package](folder)):
            if number < start or (number - start) % step or (names and operator.name not in names):
                continue
            sys.stdout.write(f"\n{BEGIN}{json.dumps([number, operator.name])}\n")
            sys.stdout.flush()
            with limited(LIMIT):
                verdict = judge(operator)
                if verdict.state == DEVICE:
                    with taken_for_a_gpus():
                        verdict = judge(operator)
            sys.stdout.write(f"\n{END}{json.dumps(_reported(verdict.as_record(), folder))}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]).resolve(), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5:])
