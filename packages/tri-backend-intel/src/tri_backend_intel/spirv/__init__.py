"""SPIR-V: the stage that makes it and a reader for its binary form."""

from __future__ import annotations

from tri_backend_intel.spirv.reader import SpirvModule, read_module

__all__ = ["SpirvModule", "read_module"]
