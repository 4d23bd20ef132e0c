"""``python -m integration.published --packages FOLDER [--target cpu] [--torch cpu|cuda] [names...]``."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import nullcontext
from pathlib import Path

import tri
import tri.compat.triton


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="integration.published", description=__doc__)
    parser.add_argument("--packages", type=Path, help="the folder where the packages are installed")
    parser.add_argument("--target", default="", help="backend or backend:arch (default: by the tensors)")
    parser.add_argument("--torch", default="cpu", help="the device of the tensors: cpu, cuda, ...")
    parser.add_argument("--compile-for", default="", help="compile every version for this target, too")
    parser.add_argument("--requirements", action="store_true", help="print what pip must install, and stop")
    parser.add_argument("names", nargs="*", help="parts of project/kernel; all when left out")
    return parser.parse_args()


def main() -> int:
    """Run the cases, print a line for each; the number of failures."""
    arguments = _arguments()
    from integration.published.projects import requirements

    if arguments.requirements:
        sys.stdout.write("\n".join(requirements()) + "\n")
        return 0
    # what the packages hand to torch.compile runs as it is: only their kernels are of interest
    os.environ["TORCHDYNAMO_DISABLE"] = "1"
    tri.compat.triton.install()
    from integration.published.elsewhere import compiled_for
    from integration.published.suite import report, select

    with (
        tri.target(arguments.target) if arguments.target else nullcontext(),
        compiled_for(arguments.compile_for) if arguments.compile_for else nullcontext() as compiles,
    ):
        failed = report(select(arguments.names), arguments.torch, arguments.packages.resolve())
    if compiles is not None:
        for name, error in compiles.errors.items():
            sys.stdout.write(f"FAIL {compiles.target} {name}: {error}\n")
        sys.stdout.write(
            f"{len(compiles.seen) - len(compiles.errors)} of {len(compiles.seen)} compile for it\n"
        )
        failed += len(compiles.errors)
    return failed


if __name__ == "__main__":
    sys.exit(min(main(), 1))
