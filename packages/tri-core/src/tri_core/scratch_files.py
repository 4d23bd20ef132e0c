"""Files without a name, for what a process's children say: had even where no disk has space."""

from __future__ import annotations

import os
import tempfile
from typing import IO

__all__ = ["scratch_file"]


def scratch_file(prefix: str) -> IO[bytes]:
    """A file that is gone when it is closed: on disk, or, where no folder for temporary files can be written, in memory.

    OSError where the system has neither.
    """
    try:
        return tempfile.TemporaryFile(prefix=prefix)
    except OSError:
        if not hasattr(os, "memfd_create"):
            raise
    return os.fdopen(os.memfd_create(prefix), "w+b")
