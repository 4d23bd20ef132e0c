"""Dumping: every stage of a kernel as a file, for reading and for starting a compile from."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from tri_core.compiler.kernel import CompiledKernel
from tri_core.lazy_dataclasses import dataclass
from tri_core.symbols import file_stem

if TYPE_CHECKING:
    from tri_core.mlir import ir

__all__ = ["PassDump", "dump", "dump_stage", "folder_of"]

logger = logging.getLogger(__name__)


def folder_of(root: Path, name: str, key: str) -> Path:
    """The folder of one compile below ``TRI_DUMP_DIR``: the kernel's name and the start of its key."""
    return root / f"{file_stem(name)}-{key[:10]}"


def dump_stage(folder: Path, name: str, stage: str, content: str | bytes) -> None:
    """Write what ``stage`` made as ``<name>.<stage>``; a folder that cannot be written is logged, not raised."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{file_stem(name)}.{stage}"
        file.write_bytes(content.encode() if isinstance(content, str) else content)
    except OSError as error:
        logger.warning("TRI_DUMP_DIR: %s", error)


@dataclass
class PassDump:
    """A listener that writes the module after each pass as ``<name>.<number>.<stage>.<pass>.mlir``, as it was built first."""

    folder: Path
    name: str
    number: int = 0

    def __call__(self, stage: str, pass_name: str, module: ir.Module) -> None:
        """Write ``module``."""
        from tri_core.text import print_module

        label = f"{self.number:03}.{stage}.{pass_name or 'source'}.mlir"
        dump_stage(self.folder, self.name, label, print_module(module))
        self.number += 1


def dump(root: Path, kernel: CompiledKernel) -> None:
    """Write every stage of a kernel that came from the cache."""
    folder = folder_of(root, kernel.name, kernel.metadata.hash)
    for stage, content in kernel.asm.items():
        dump_stage(folder, kernel.name, stage, content)
