"""``python -m integration.published --packages FOLDER [--target cpu] [--torch cpu|cuda] [names...]``.

``--imports``: import every package whole, each in a process of its own, instead; ``--all``: with the large packages, too.
"""

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
    parser.add_argument(
        "--compile-for", action="append", default=[], help="compile every version for this target, too"
    )
    parser.add_argument("--requirements", action="store_true", help="print what pip must install, and stop")
    parser.add_argument("--imports", action="store_true", help="import the packages whole, and stop")
    parser.add_argument("--all", action="store_true", help="with the large packages (the nightly list)")
    parser.add_argument("--extended", action="store_true", help="print what pip installs with dependencies")
    parser.add_argument("names", nargs="*", help="parts of project/kernel; all when left out")
    return parser.parse_args()


def main() -> int:
    """Run the cases, print a line for each; the number of failures."""
    arguments = _arguments()
    from integration.published.projects import extended, requirements

    if arguments.requirements or arguments.extended:
        listed = (requirements if arguments.requirements else extended)(whole=arguments.all)
        sys.stdout.write("\n".join(listed) + "\n")
        return 0
    if arguments.imports:
        from integration.published import imports

        return imports.report(arguments.names, arguments.packages.resolve(), whole=arguments.all)
    # what the packages hand to torch.compile runs as it is: only their kernels are of interest
    os.environ["TORCHDYNAMO_DISABLE"] = "1"
    tri.compat.triton.install()
    from integration.published.elsewhere import compiled_for
    from integration.published.suite import report, select

    with (
        tri.target(arguments.target) if arguments.target else nullcontext(),
        compiled_for(arguments.compile_for) as compiles,
    ):
        failed = report(
            select(arguments.names, whole=arguments.all), arguments.torch, arguments.packages.resolve()
        )
    for (target, name), error in compiles.errors.items():
        sys.stdout.write(f"FAIL {target} {name}: {error}\n")
    for target in compiles.targets:
        right = len(compiles.seen) - compiles.failed(target)
        sys.stdout.write(f"{right} of {len(compiles.seen)} compile for {target}\n")
    return failed + len(compiles.errors)


if __name__ == "__main__":
    sys.exit(min(main(), 1))
