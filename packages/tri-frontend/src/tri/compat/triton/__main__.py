"""``python -m tri.compat.triton script.py args...`` or ``-m module args...``: run it with tri as triton; ``--typings`` prints a folder."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from tri.compat.triton import TYPINGS, install

_USAGE = """usage: python -m tri.compat.triton (script.py | -m module) [arguments...]
       python -m tri.compat.triton --typings    where the stubs of its modules are, for type checkers"""


def main(arguments: list[str]) -> None:
    """Run the script or module named first, unchanged; SystemExit 2 when there is none."""
    if arguments == ["--typings"]:
        sys.stdout.write(f"{TYPINGS}\n")
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


if __name__ == "__main__":
    main(sys.argv[1:])
