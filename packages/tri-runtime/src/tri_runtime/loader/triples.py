"""The triple of objects that the loader takes."""

from __future__ import annotations

__all__ = ["loadable_triple"]


def loadable_triple(triple: str) -> str:
    """``triple`` with objects in ELF, whatever the system's own linker reads."""
    _, _, system, *rest = [*triple.split("-"), "", ""]
    native = not system.startswith(("darwin", "macos", "windows"))
    return triple if native or "elf" in rest else f"{triple}-elf"
