"""``python -m integration.strangers.amd --packages FOLDER --results FOLDER [--triton-python PYTHON] [names...]``: compile packages' kernels.

Each kernel that aiter and vLLM launch on AMD's GPUs, and some of fla's, is compiled for gfx942, gfx950 and gfx1201, by tri and by Triton, and
a table of figures is printed.  No GPU is needed, and nothing of the packages is changed.  The exit status is 1 where tri refuses a kernel that
Triton takes.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from integration.strangers.amd.recording import ARCHITECTURES, recorded
from integration.strangers.amd.rows import Row, losing, rows, table
from integration.strangers.compilers import compile_all
from integration.strangers.record import read, write


def _rows(arguments: argparse.Namespace, chip: str) -> list[Row]:
    """The rows of ``chip``; kernels that were recorded before are not recorded again."""
    store = arguments.results / f"kernels.{chip}.jsonl.xz"
    if not store.exists():
        write(recorded(arguments.packages.resolve(), chip), store)
    kernels = [
        k for k in read(store) if not arguments.names or any(name in k.name for name in arguments.names)
    ]
    jobs = [(kernel.key, f"amd:{chip}") for kernel in kernels]
    ours, theirs = arguments.results / "tri", arguments.results / "triton"
    compile_all(jobs, store, ours)
    if arguments.triton_python:
        compile_all(jobs, store, theirs, python=arguments.triton_python)
    return rows(kernels, chip, ours, theirs if arguments.triton_python else ours)


def main() -> int:
    """Compile and print; 1 where tri alone refuses a kernel."""
    parser = argparse.ArgumentParser(prog="integration.strangers.amd", description=__doc__)
    parser.add_argument("--packages", type=Path, required=True, help="the folder where they are installed")
    parser.add_argument(
        "--results", type=Path, required=True, help="the folder of what is recorded and compiled"
    )
    parser.add_argument("--triton-python", default="", help="a Python that has Triton")
    parser.add_argument("--chip", action="append", choices=list(ARCHITECTURES), help="some of the chips")
    parser.add_argument("--worse", action="store_true", help="rows that are worse than Triton's alone")
    parser.add_argument("names", nargs="*", help="kernels whose names hold one of these; all when left out")
    arguments = parser.parse_args()
    found = [row for chip in arguments.chip or ARCHITECTURES for row in _rows(arguments, chip)]
    sys.stdout.write(table(losing(found) if arguments.worse else found))
    alone = [row for row in found if row.refused and not row.they_refused]
    names = {(row.kernel.package, row.kernel.name) for row in found}
    sys.stdout.write(
        f"{len(names)} kernels, {len(found)} rows: {len(losing(found))} worse, {sum(bool(r.refused) for r in found)} refused"
        f" by tri, {len(alone)} by tri alone\n"
    )
    return int(bool(alone))


if __name__ == "__main__":
    sys.exit(main())
