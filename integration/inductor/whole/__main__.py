"""``python -m integration.inductor.whole --device cuda --impls triton,tri``: models of timm and transformers, forward and backward.

Each model is compiled by each compiler in a process of its own with empty caches and with Inductor's workers, compared with eager
and with a wider type, and timed in shuffled turns.  Where neither library is installed, models of torch.nn take their place.
A table and every outcome as JSON are printed and written to a folder; 1 where a model is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from integration.inductor.whole.child import Job, serve

__all__ = ["main"]

#: seconds that the times of one process take, and the least that are worth a start
_TIMING, _LEAST = 6, 10


def main() -> int:
    """Run what is asked for."""
    if sys.argv[1:2] == ["--child"]:
        serve(Job(**json.loads(sys.argv[2])), int(sys.argv[3]))
        return 0
    return _parent(_parser())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m integration.inductor.whole", description=__doc__)
    parser.add_argument("models", nargs="*", help="all of the libraries that are installed, by default")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument(
        "--impls", default="triton,tri", help="of triton, tri and cpp; the last is held against the first"
    )
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--mode", default="default", help="of torch.compile")
    parser.add_argument("--small", action="store_true", help="tiny configurations; always on the CPU")
    parser.add_argument("--minutes", type=float, default=9.0)
    parser.add_argument("--together", type=int, default=3, help="models that are compiled at the same time")
    parser.add_argument("--processes", type=int, default=4, help="Inductor's workers of each")
    parser.add_argument("--output", type=Path, default=Path(os.environ.get("OUT", ".")))
    return parser


def _parent(parser: argparse.ArgumentParser) -> int:
    given = parser.parse_args()
    from integration.inductor.whole.models import MODELS, names
    from integration.inductor.whole.race import race
    from integration.inductor.whole.table import table

    chosen, compilers = given.models or names(), given.impls.split(",")
    if unknown := [name for name in chosen if name not in MODELS]:
        parser.error(f"no model {', '.join(unknown)}; there are {', '.join(MODELS)}")
    end = time.monotonic() + 60 * given.minutes
    outcomes: list[dict[str, Any]] = []
    given.output.mkdir(parents=True, exist_ok=True)
    groups = [chosen[i : i + given.together] for i in range(0, len(chosen), given.together)]
    for number, group in enumerate(groups):
        left = end - time.monotonic() - _TIMING * len(group) * len(compilers)
        share = min(left, 1.5 * left / (len(groups) - number))
        if share < _LEAST:
            print(f"no time for {', '.join(group)}", flush=True)
            continue
        jobs = [
            Job(
                name,
                c,
                given.device,
                given.dtype,
                given.mode,
                given.small or given.device == "cpu",
                given.processes,
            )
            for name in group
            for c in compilers
        ]
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            outcomes += race(jobs, Path(folder), share)
        text = table(outcomes, compilers)
        print("\n".join(line for line in text.splitlines() if line.startswith(tuple(group))), flush=True)
        given.output.joinpath("whole.json").write_text(json.dumps(outcomes, indent=1))
        given.output.joinpath("whole.txt").write_text(text)
    print(table(outcomes, compilers))
    return not (len(outcomes) == len(chosen) * len(compilers) and all(o["right"] for o in outcomes))


if __name__ == "__main__":
    sys.exit(main())
