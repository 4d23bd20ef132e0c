"""Child processes: those that a process with the stand-in starts find it, too, however they are started.

A folder with a package ``triton``, which installs the stand-in when it is imported, is put on ``sys.path``
(``multiprocessing`` hands it to children by ``spawn`` and ``forkserver``, PyTorch's Inductor to its workers) and on
``PYTHONPATH`` (for all others that inherit the environment).  Interpreters that ignore both (``-I``, ``-E``) are not
reached; nor is any process that this one did not start.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["FOLDER", "reach_children", "release_children"]

FOLDER = str(Path(__file__).parent / "children")
_VARIABLE = "PYTHONPATH"


def reach_children() -> None:
    """Have children started from now on import the stand-in as ``triton``."""
    if FOLDER not in sys.path:
        # behind the program's own folder, which programs expect first, before all that is installed
        sys.path.insert(0 if sys.flags.safe_path or not sys.path else 1, FOLDER)
    inherited = _inherited()
    if FOLDER not in inherited:
        os.environ[_VARIABLE] = os.pathsep.join([FOLDER, *inherited])


def release_children() -> None:
    """Undo :func:`reach_children`: children that are started already keep what they have."""
    sys.path[:] = [entry for entry in sys.path if entry != FOLDER]
    others = [entry for entry in _inherited() if entry != FOLDER]
    if others:
        os.environ[_VARIABLE] = os.pathsep.join(others)
    else:
        os.environ.pop(_VARIABLE, None)


def _inherited() -> list[str]:
    given = os.environ.get(_VARIABLE)
    return given.split(os.pathsep) if given else []
