"""C programs of tests: the machine's compiler, else the one that is a test dependency."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

__all__ = ["STRICT", "compiler", "shared_library"]

#: what tells of doubtful code
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror")


def compiler() -> list[str]:
    """The command of a C compiler."""
    found = shutil.which("cc")
    return [found] if found else [sys.executable, "-m", "ziglang", "cc"]


def shared_library(source: Path, library: Path) -> None:
    """Build ``library`` of ``source``."""
    command = [*compiler(), *STRICT, "-shared", "-fPIC", str(source), "-o", str(library), "-ldl"]
    subprocess.run(command, check=True)
