"""``python -m integration.published.operators.worker PACKAGE FOLDER START STEP [NAMES...]``: judge operators, a line of JSON for each.

Beside each verdict stands a line before it with the name of the operator: the parent knows whose turn it was where the process ends.
"""

from __future__ import annotations

import faulthandler
import json
import signal
import sys
from pathlib import Path
from typing import Any

import tri.compat.triton

__all__ = ["BEGIN", "END", "main"]

BEGIN, END = "@begin ", "@end "
#: seconds for one operator
LIMIT = 120
#: seconds more, after which the process ends
GRACE = 10


class TooLong(Exception):
    """An operator took longer than :data:`LIMIT`."""


def _late(signum: int, frame: Any) -> None:
    del signum, frame
    raise TooLong(f"more than {LIMIT} s")


def _reported(record: dict[str, Any], folder: Path) -> dict[str, Any]:
    """``record`` without the place where the packages lie."""
    return record | {"reason": record["reason"].replace(f"{folder}/", "")}


def main(package: str, folder: Path, start: int, step: int, names: list[str]) -> None:
    """Judge every ``step``-th operator of ``package`` from number ``start`` on."""
    tri.compat.triton.install()
    from integration.published.guards import guarded, taken_for_a_gpus
    from integration.published.operators.operator import DEVICE, judge
    from integration.published.operators.sources import SOURCES
    from integration.published.tuning import untuned

    signal.signal(signal.SIGALRM, _late)
    with guarded("cpu"), untuned():
        for number, operator in enumerate(SOURCES[package](folder)):
            if number < start or (number - start) % step or (names and operator.name not in names):
                continue
            sys.stdout.write(f"\n{BEGIN}{json.dumps([number, operator.name])}\n")
            sys.stdout.flush()
            signal.alarm(LIMIT)
            # what waits in native code takes no signal: the process ends
            faulthandler.dump_traceback_later(LIMIT + GRACE, exit=True)
            verdict = judge(operator)
            if verdict.state == DEVICE:
                with taken_for_a_gpus():
                    verdict = judge(operator)
            signal.alarm(0)
            faulthandler.cancel_dump_traceback_later()
            sys.stdout.write(f"\n{END}{json.dumps(_reported(verdict.as_record(), folder))}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]).resolve(), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5:])
