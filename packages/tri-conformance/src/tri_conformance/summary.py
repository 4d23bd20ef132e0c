"""Several runs as one table: ``python -m tri_conformance.summary A.json B.json > README.md``."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tri_conformance.report import SCHEMA, VERDICTS
from tri_core.api import OptionError

__all__ = ["main", "to_markdown"]


def to_markdown(runs: Mapping[str, Mapping[str, Any]]) -> str:
    """A table of ``runs``: name of the report without suffix -> its JSON."""
    return "\n".join(_lines(runs)) + "\n"


def _lines(runs: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    yield "# Conformance"
    yield ""
    yield f"| target | day | right | {' | '.join(VERDICTS)} | not run |"
    yield f"| --- | --- | --- | {' | '.join('---:' for _ in VERDICTS)} | --- |"
    for name, run in runs.items():
        found = Counter(case["verdict"] for case in run["cases"])
        cells = " | ".join(str(found[verdict]) for verdict in VERDICTS)
        left = f"{run['left_out']}, one in {run['sample']} of each feature was" if run["left_out"] else ""
        right = "yes" if run["ok"] else "no"
        yield f"| [`{run['target']}`]({name}.md) | {run['started'][:10]} | {right} | {cells} | {left} |"


def main(files: Sequence[str]) -> int:
    """Print the table; 0 when every run is right.  OptionError for a file of another schema."""
    runs: dict[str, Mapping[str, Any]] = {}
    for path in map(Path, files):
        run = json.loads(path.read_text(encoding="utf-8"))
        if run.get("schema") != SCHEMA:
            raise OptionError(
                f"{path} has schema {run.get('schema')}; {SCHEMA} is expected", remedy="run the kit again"
            )
        runs[path.stem] = run
    sys.stdout.write(to_markdown(runs))
    return 0 if runs and all(run["ok"] for run in runs.values()) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
