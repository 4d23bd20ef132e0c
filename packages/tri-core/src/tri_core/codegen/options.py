"""LLVM's global options in the worker: checked by name, then set for the life of the process.

LLVM's C interface ignores what it does not know.  It prints the known names and exits when asked for
help, so a forked copy of the worker is asked: a few milliseconds, once in the life of a worker that has options.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

import llvmlite.binding as llvm

from tri_core.codegen.jobs import JobError

__all__ = ["set_options"]

_NAME = re.compile(r"^ +--?([A-Za-z0-9][\w.-]*)", re.MULTILINE)


def set_options(options: Sequence[str]) -> None:
    """Set ``options`` (``-name=value``); JobError in phase ``options`` for an unknown name."""
    known = _known_names() if options else frozenset()
    for option in options:
        name = option.lstrip("-").partition("=")[0]
        if not option.startswith("-") or name not in known:
            import difflib

            near = ", ".join(f"-{n}" for n in difflib.get_close_matches(name, known)) or "none is near"
            raise JobError("options", f"unknown option {option!r}; known: {near}")
        llvm.set_option("tri", option)


def _known_names() -> frozenset[str]:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(writing, 1)
        llvm.set_option("tri", "-help-list-hidden")  # prints and exits
        os._exit(1)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8", errors="replace") as listing:
        text = listing.read()
    os.waitpid(child, 0)
    return frozenset(_NAME.findall(text))
