"""``python -m integration.published.importing FOLDER MODULE``: import one module, tell how that ended.

The last line of the output is :data:`MARK` and JSON: seconds, and for an error where in the folder it came from.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import tri.compat.triton

__all__ = ["MARK", "ended", "main"]

MARK = "@import "


def ended(error: BaseException, folder: Path) -> dict[str, Any]:
    """The error, and the last line of a package in ``folder`` that led to it."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if Path(f.filename).is_relative_to(folder)]
    last = own[-1] if own else None
    words = traceback.format_exception_only(error)[-1].strip()
    return {
        "file": "" if last is None else str(Path(last.filename).relative_to(folder)),
        "line": 0 if last is None else last.lineno,
        "code": "" if last is None else last.line,
        "error": words,
    }


def main(folder: Path, module: str) -> dict[str, Any]:
    """Import ``module`` with tri as ``triton``; how that ended."""
    tri.compat.triton.install()
    # behind the environment's own: what a package brings along is no place to take other packages' dependencies from
    sys.path.append(str(folder))
    start = time.perf_counter()
    reported: dict[str, Any] = {"error": ""}
    try:
        importlib.import_module(module)
    except Exception as error:
        reported = ended(error, folder)
    return reported | {"seconds": time.perf_counter() - start}


if __name__ == "__main__":
    result = main(Path(sys.argv[1]).resolve(), sys.argv[2])
    sys.stdout.write(f"\n{MARK}{json.dumps(result)}\n")
