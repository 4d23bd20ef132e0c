"""The main module's name in other processes: that of ``python -m``, or its file's."""

from __future__ import annotations

import sys
from pathlib import Path

__all__ = ["MAIN", "portable_name"]

#: what it is called in the process that was started with it, and in children by ``spawn`` and ``forkserver``
MAIN = frozenset({"__main__", "__mp_main__"})


def portable_name(module: str) -> str:
    """``module`` as a process imports it that was not started with it; a main module without a file keeps its name."""
    if module not in MAIN:
        return module
    main = sys.modules.get(module)
    spec = getattr(main, "__spec__", None)
    if spec is not None and spec.name not in MAIN:
        return str(spec.name)
    file = getattr(main, "__file__", None)
    return Path(file).stem if file else module
