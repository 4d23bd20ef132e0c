"""The command ``tri-conformance --target X``: pytest, with this kit's plug-in and suite and nothing else."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

__all__ = ["arguments_for", "command_line", "main"]

_INI = Path(__file__).with_name("pytest.ini")


def command_line() -> argparse.ArgumentParser:
    """The options of the command."""
    parser = argparse.ArgumentParser(
        prog="tri-conformance", description="Say whether a target of tri is right."
    )
    parser.add_argument("--target", required=True, metavar="X", help="backend, or backend:arch")
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option that all kernels get for which a case names no other, as --option warp_size=8",
    )
    parser.add_argument(
        "--level",
        default="",
        metavar="A,B",
        help="levels: static, layouts, language, pipeline, runtime, programs, explicit (default: all)",
    )
    parser.add_argument(
        "--select",
        action="append",
        default=[],
        metavar="GLOB",
        help="only cases whose id (level/feature/point) matches, as --select 'language/dot/*'; each must match some",
    )
    parser.add_argument("--sample", type=int, default=1, metavar="N", help="one in N cases of each feature")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes that run cases")
    parser.add_argument(
        "--timeout",
        type=float,
        metavar="S",
        help="seconds that a case may take; it then runs in another process",
    )
    parser.add_argument("--json", metavar="FILE", help="write the results as JSON")
    parser.add_argument("--report", metavar="FILE", help="write the results as Markdown")
    parser.add_argument("--list", action="store_true", help="list the cases and run none")
    parser.add_argument("pytest", nargs="*", help="further arguments for pytest, after --")
    return parser


def arguments_for(given: argparse.Namespace) -> list[str]:
    """Arguments of pytest."""
    made = [
        "-c",
        str(_INI),
        "--rootdir",
        str(_INI.parent),
        "-p",
        "tri_conformance.plugin",
        "--pyargs",
        "tri_conformance.suite",
        "-q",
    ]
    made += [f"--tri-target={given.target}", f"--tri-level={given.level}", f"--tri-sample={given.sample}"]
    made += [f"--tri-option={option}" for option in given.option]
    made += [f"--tri-select={glob}" for glob in given.select]
    made += [
        f"--tri-{name}={value}"
        for name in ("jobs", "timeout", "json", "report")
        if (value := getattr(given, name))
    ]
    return [*made, *(["--collect-only"] if given.list else []), *given.pytest]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the kit; 0 when the target is right, 2 when nothing is selected or an option is wrong."""
    parser = command_line()
    given = parser.parse_args(arguments)
    import pytest

    from tri_conformance.selection import Selection, cases
    from tri_conformance.subject import Subject
    from tri_core.api import OptionError

    try:
        cases(Selection.of(given.level, given.select, given.sample))
        if given.option:  # which each case would refuse
            Subject(given.target, tuple(given.option)).options()
    except OptionError as error:
        parser.error(str(error))

    # other plug-ins of the environment must not change what is tested
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    return int(pytest.main(arguments_for(given)))


if __name__ == "__main__":
    sys.exit(main())
