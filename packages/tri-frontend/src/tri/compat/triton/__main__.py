"""``python -m tri.compat.triton script.py args...`` or ``-m module args...``: run it with tri as triton.

``--on``, ``--off`` and ``--status`` are for all programs of this Python environment; ``--typings`` prints a folder.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from tri.compat.triton import TYPINGS, install
from tri_core.errors import TriError

_USAGE = """usage: python -m tri.compat.triton (script.py | -m module) [arguments...]
       python -m tri.compat.triton --on [--version 3.9] [--hide]    for every program of this environment
       python -m tri.compat.triton --off | --status
       python -m tri.compat.triton --typings    where the stubs of its modules are, for type checkers
--hide: also where Triton is installed, which stays there.  TRI_AS_TRITON=0 leaves it out of one program."""


def main(arguments: list[str]) -> None:
    """Run the script or module named first, unchanged; SystemExit 2 when there is none."""
    if arguments == ["--typings"]:
        sys.stdout.write(f"{TYPINGS}\n")
        return
    if arguments and arguments[0] in ("--on", "--off", "--status"):
        try:
            _environment(*arguments)
        except TriError as error:
            sys.stderr.write(f"error: {error}\n")
            raise SystemExit(1) from error
        return
    is_module = arguments[:1] == ["-m"]
    rest = arguments[is_module:]
    if not rest:
        sys.stderr.write(_USAGE + "\n")
        raise SystemExit(2)
    install()
    sys.argv = rest
    if is_module:
        sys.path.insert(0, "")
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, str(Path(rest[0]).resolve().parent))
        runpy.run_path(rest[0], run_name="__main__")


def _environment(command: str, *options: str) -> None:
    """Turn it on or off for this environment, and say what holds; SystemExit 2 for other options."""
    from tri.compat.triton.environment import Environment
    from tri.manners import version
    from tri_core.knobs import parse_triton_version

    environment, given, hides = Environment.current(), version(), False
    rest = list(options)
    while rest and command == "--on":
        option = rest.pop(0)
        if option == "--hide":
            hides = True
        elif option == "--version" and rest:
            try:
                given = parse_triton_version(rest.pop(0))
            except ValueError as error:
                raise TriError(f"--version: {error}") from error
        else:
            rest = [option]
            break
    if rest:
        sys.stderr.write(_USAGE + "\n")
        raise SystemExit(2)
    if command == "--on":
        environment.turn_on(given, hides=hides)
    elif command == "--off":
        environment.turn_off()
    sys.stdout.write(f"{environment.says()}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
