"""``python -m integration.strangers record|list``: record kernels of packages, or say what is recorded.

``record --packages FOLDER --store FILE.jsonl.xz [--keep] [names...]``: run what the packages have, launch nothing, and write down what would
be launched; ``--keep`` chooses 300 of them for git.  ``list [--store FILE]``: the kernels by class.

``compare --target T [--triton-python PYTHON --hold] [--every N] --results FOLDER``: compile the kernels in git, print every figure that is
worse than Triton's and was not; its number is the exit status.  With a Python that has Triton ``--hold`` writes the record anew.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from integration.strangers.classes import CLASSES, chosen, class_of
from integration.strangers.record import KEPT, read, write

_COUNT = 300


def _record(arguments: argparse.Namespace) -> int:
    from integration.strangers.recording import SOURCES, recorded

    found = list(recorded(arguments.packages.resolve(), arguments.names or SOURCES, arguments.passes))
    number = write(found, arguments.store)
    if arguments.keep:
        write(chosen(read(arguments.store), _COUNT), KEPT)
    sys.stdout.write(f"{number} kernels in {arguments.store}\n")
    return 0


def _list(arguments: argparse.Namespace) -> int:
    kernels = read(arguments.store)
    counts = Counter(map(class_of, kernels))
    sys.stdout.writelines(f"{counts[name]:6} {name}\n" for name in CLASSES)
    sys.stdout.write(f"{len(kernels):6} kernels, {len({(k.package, k.name) for k in kernels})} names\n")
    return 0


def _compare(arguments: argparse.Namespace) -> int:
    from integration.strangers.compare import hold, measured, more_than_held, table
    from integration.strangers.compilers import compile_all

    kernels = read()[:: arguments.every]
    jobs = [(kernel.key, arguments.target) for kernel in kernels]
    compile_all(jobs, KEPT, arguments.results / "tri")
    ours, errors = measured(kernels, arguments.target, arguments.results / "tri")
    if arguments.hold:
        compile_all(jobs, KEPT, arguments.results / "triton", python=arguments.triton_python)
        theirs, refused = measured(kernels, arguments.target, arguments.results / "triton")
        hold(arguments.target, ours, theirs)
        sys.stdout.writelines(f"Triton refuses {key}: {text[-100:]!r}\n" for key, text in refused.items())
        sys.stdout.write(table(kernels, arguments.target))
    sys.stdout.writelines(f"tri refuses {key}: {text[-100:]!r}\n" for key, text in errors.items())
    new = more_than_held(arguments.target, ours)
    sys.stdout.writelines(f"worse: {line}\n" for line in new)
    sys.stdout.write(f"{len(ours)} kernels, {len(new)} figures worse than held\n")
    return min(len(new), 1)


def main() -> int:
    """Run one command."""
    parser = argparse.ArgumentParser(prog="integration.strangers", description=__doc__)
    commands = parser.add_subparsers(required=True)
    record = commands.add_parser("record", help="record kernels of packages")
    record.add_argument("--packages", type=Path, required=True, help="the folder where they are installed")
    record.add_argument("--store", type=Path, required=True, help="the file to write")
    record.add_argument("--passes", type=int, default=6, help="how many ways to call operators")
    record.add_argument("--keep", action="store_true", help="choose those that stand in git anew")
    record.add_argument("names", nargs="*", help="sources; all when left out")
    record.set_defaults(run=_record)
    listed = commands.add_parser("list", help="the kernels by class")
    listed.add_argument("--store", type=Path, default=KEPT, help="a file of kernels (those in git)")
    listed.set_defaults(run=_list)
    compare = commands.add_parser("compare", help="figures beside Triton's")
    compare.add_argument(
        "--target", required=True, help="nvidia:sm_80, nvidia:sm_90a, amd:gfx942 or amd:gfx950"
    )
    compare.add_argument("--results", type=Path, required=True, help="the folder of what is compiled")
    compare.add_argument("--triton-python", default="", help="a Python that has Triton")
    compare.add_argument("--hold", action="store_true", help="write the record anew")
    compare.add_argument("--every", type=int, default=1, help="one of so many kernels")
    compare.set_defaults(run=_compare)
    arguments = parser.parse_args()
    return int(arguments.run(arguments))


if __name__ == "__main__":
    sys.exit(main())
