"""Search for linker, assembler and disassembler: a knob, ROCm, the search path, or a package of PyPI.

Every compile needs a linker, and any ``ld.lld`` since LLVM 16 is one.  Only edited assembly needs an assembler, and
a disassembler (which PyPI lacks) only who asks for the disassembly.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tri_core.api import ToolchainError
from tri_core.lazy_dataclasses import dataclass

__all__ = ["ASSEMBLER", "DISASSEMBLER", "LINKER", "Tool", "find", "run"]

_VERSIONS = range(30, 15, -1)


@dataclass(frozen=True)
class Tool:
    """A tool by its name in LLVM, the knob that names it, and zig's name for it (empty: it has none)."""

    name: str
    knob: str
    zig: str = ""


LINKER = Tool("ld.lld", "AMD_LLD", "ld.lld")
ASSEMBLER = Tool("clang", "AMD_CLANG", "clang")
DISASSEMBLER = Tool("llvm-objdump", "AMD_OBJDUMP")


def find(tool: Tool, chosen: object = "") -> tuple[str, ...]:
    """The command that runs ``tool``; ``chosen`` is its knob's value.  ToolchainError when there is none."""
    if chosen:
        return (str(chosen),)
    for command in _candidates(tool):
        if shutil.which(command[0]):
            return command
    package = "pip install 'tri-backend-amd[lld]', or " if tool.zig else ""
    raise ToolchainError(
        f"no {tool.name} is found (looked in ROCm, on the search path and for the package ziglang)",
        remedy=f"{package}install ROCm or LLVM, or set TRI_{tool.knob} to one",
        tool=tool.name,
        returncode=None,
        log="",
    )


def _candidates(tool: Tool) -> Iterator[tuple[str, ...]]:
    for folder in _rocm_folders():
        yield (str(folder / tool.name),)
    # a name with a version first: the plain one is often the distribution's oldest, which knows fewer processors
    for version in _VERSIONS:
        yield (f"{tool.name}-{version}",)
    yield (tool.name,)
    spec = importlib.util.find_spec("ziglang")
    if tool.zig and spec is not None and spec.origin is not None:
        program = "zig.exe" if sys.platform == "win32" else "zig"
        yield (str(Path(spec.origin).with_name(program)), tool.zig)


def _rocm_folders() -> Iterator[Path]:
    # ROCM_PATH is ROCm's own variable
    for root in (os.environ.get("ROCM_PATH"), "/opt/rocm"):
        if root:
            yield Path(root, "llvm", "bin")
            yield Path(root, "lib", "llvm", "bin")
    spec = importlib.util.find_spec("_rocm_sdk_core")  # ROCm's wheels
    if spec is not None and spec.origin is not None:
        yield Path(spec.origin).parent / "lib" / "llvm" / "bin"


def run(tool: Tool, command: Sequence[str], arguments: Sequence[str]) -> str:
    """Run ``command`` with ``arguments``: its output; ToolchainError with what it printed when it fails."""
    try:
        done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
    except OSError as error:
        raise ToolchainError(
            f"{command[0]} cannot be run: {error.strerror}",
            remedy=f"set TRI_{tool.knob} to a working {tool.name}",
            tool=tool.name,
            returncode=None,
            log="",
        ) from error
    if done.returncode:
        log = done.stdout + done.stderr
        raise ToolchainError(
            f"{' '.join(command)} failed: {log.strip()}",
            remedy=f"set TRI_{tool.knob} to another {tool.name}",
            tool=tool.name,
            returncode=done.returncode,
            log=log,
        )
    return done.stdout
