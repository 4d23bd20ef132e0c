"""A code object as text, by an llvm-objdump that knows its processor."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tri_backend_amd import tools
from tri_core import knobs

__all__ = ["disassemble"]


def disassemble(data: bytes) -> str:
    """The instructions of code object ``data``; ToolchainError when there is no disassembler."""
    command = tools.find(tools.DISASSEMBLER, knobs.get("AMD_OBJDUMP"))
    with tempfile.TemporaryDirectory(prefix="tri-amd-") as folder:
        file = Path(folder, "kernel.hsaco")
        file.write_bytes(data)
        return tools.run(tools.DISASSEMBLER, command, ("-d", str(file)))
