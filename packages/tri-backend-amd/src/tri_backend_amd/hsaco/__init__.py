"""AMD code objects: the stages that make them and a reader for them."""

from __future__ import annotations

from tri_backend_amd.hsaco.code_object import CodeObject, KernelDescriptor, KernelRecord, read_code_object

__all__ = ["CodeObject", "KernelDescriptor", "KernelRecord", "read_code_object"]
