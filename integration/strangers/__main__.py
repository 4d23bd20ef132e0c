"""``python -m integration.strangers record|list|compare|pack|timed``: record kernels of packages, say what is recorded, compare, or time operators.

``record --packages FOLDER --store FILE.jsonl.xz [--keep] [names...]``: run what the packages have, launch nothing, and write down what would
be launched; ``--keep`` chooses 300 of them for git.  ``list [--store FILE]``: the kernels by class.

``compare --target T [--triton-python PYTHON --hold] [--every N] --results FOLDER``: compile the kernels in git, print every figure that is
worse than Triton's and was not; its number is the exit status.  With a Python that has Triton ``--hold`` writes the record anew.

``timed --packages FOLDER --out FOLDER [--gpus N] [--jobs N] [--minutes N] [--part K/N] [names...]``: operators on GPUs, beside Triton's.
``pack --packages FOLDER --out FILE.tar.xz``: what that needs where nothing can be installed.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
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


def _pack(arguments: argparse.Namespace) -> int:
    from integration.strangers.timed.pack import pack

    size = pack(arguments.packages.resolve(), arguments.out)
    sys.stdout.write(f"{arguments.out}: {size} bytes\n")
    return 0


def _timed(arguments: argparse.Namespace) -> int:
    from integration.strangers.timed.fleet import Setting
    from integration.strangers.timed.run import Plan, run
    from integration.strangers.timed.table import table

    logging.basicConfig(level=logging.INFO, format="%(message)s")
    part, _, parts = arguments.part.partition("/")
    with tempfile.TemporaryDirectory(prefix="timed-") as place:
        setting = Setting(
            arguments.packages.resolve(),
            Path(place),
            arguments.device,
            wide=not arguments.small,
            other=arguments.triton_python,
        )
        plan = Plan(
            setting,
            arguments.out,
            gpus=arguments.gpus,
            jobs=arguments.jobs,
            minutes=arguments.minutes,
            turns=arguments.turns,
            part=int(part),
            parts=int(parts or 1),
            names=tuple(arguments.names),
        )
        sys.stdout.write(table(run(plan)))
    return 0


def _parse_timed(timed: argparse.ArgumentParser) -> None:
    timed.add_argument("--packages", type=Path, required=True, help="the folder where they are installed")
    timed.add_argument("--out", type=Path, required=True, help="the folder of what is found")
    timed.add_argument("--device", default="cuda", help="cuda, or cpu to try the harness")
    timed.add_argument("--small", action="store_true", help="sizes that a processor judges")
    timed.add_argument("--triton-python", default="", help="a Python that has Triton, where this one has not")
    timed.add_argument("--gpus", type=int, default=1, help="GPUs that take part")
    timed.add_argument("--jobs", type=int, default=16, help="processes that compile")
    timed.add_argument("--minutes", type=float, default=8.0, help="after which nothing is begun")
    timed.add_argument("--turns", type=int, default=3, help="turns of each implementation")
    timed.add_argument("--part", default="1/1", help="which part of how many")
    timed.add_argument("names", nargs="*", help="operators whose names hold one of these; all when left out")
    timed.set_defaults(run=_timed)


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
    packed = commands.add_parser("pack", help="packages for a machine without a registry")
    packed.add_argument("--packages", type=Path, required=True, help="the folder where they are installed")
    packed.add_argument("--out", type=Path, required=True, help="the archive")
    packed.set_defaults(run=_pack)
    _parse_timed(commands.add_parser("timed", help="operators on GPUs, beside Triton's"))
    arguments = parser.parse_args()
    return int(arguments.run(arguments))


if __name__ == "__main__":
    sys.exit(main())
