"""SPIR-V: the stage that makes it and a reader for its binary form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tri_backend_intel.spirv.reader import SpirvModule, read_module

__all__ = ["SpirvModule", "read_module"]


def __getattr__(name: str) -> Any:
    # who only asks for extensions, as targets do, reads nothing
    if name in __all__:
        from tri_backend_intel.spirv import reader

        return getattr(reader, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
