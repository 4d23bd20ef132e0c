"""Linking: an object and ``start.c`` become a static program, by the compiler driver that the package ziglang brings.

Its C library is made from source when the first program is linked, once per machine.
"""

from __future__ import annotations

import importlib.util
import logging
import subprocess
import sys
from pathlib import Path

from tri_core.api import ToolchainError

__all__ = ["link"]

_START = Path(__file__).with_name("start.c")
_FLAGS = ("-target", "riscv64-linux-musl", "-mcpu=baseline_rv64+v", "-O1", "-static", "-s")
#: seconds; the first link of a machine makes the C library
_PATIENCE = 600.0
_log = logging.getLogger(__name__)


def link(image: bytes, entry: str, folder: Path) -> Path:
    """The program in ``folder`` that runs kernel ``entry`` of the object ``image``; ToolchainError where it can't be made."""
    if importlib.util.find_spec("ziglang") is None:
        raise _error("RISC-V programs are linked by the package ziglang, which is not installed", None, "")
    source, made = folder / "kernel.o", folder / "kernel.elf"
    source.write_bytes(image)
    command = [
        sys.executable,
        "-m",
        "ziglang",
        "cc",
        *_FLAGS,
        f'-DKERNEL="{entry}"',
        str(_START),
        str(source),
    ]
    _log.info("linking %s; the first link on a machine takes a minute or two", entry)
    try:
        done = subprocess.run(
            [*command, "-o", str(made), "-lm"], capture_output=True, text=True, check=False, timeout=_PATIENCE
        )
    except subprocess.TimeoutExpired as error:
        raise _error(f"linking {entry} takes longer than {_PATIENCE:g} s", None, "") from error
    if done.returncode:
        raise _error(f"{entry} cannot be linked: {done.stderr.strip()}", done.returncode, done.stderr)
    return made


def _error(what: str, returncode: int | None, log: str) -> ToolchainError:
    remedy = "pip install 'tri-backend-riscv[run]', which has the linker; compiling needs none"
    return ToolchainError(what, remedy=remedy, tool="zig cc", returncode=returncode, log=log)
