"""The dialect object of ``amdg`` (``amdgpu`` is the name of an upstream dialect)."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from tri_core.mlir import ext

__all__ = ["AMDG"]


class AMDG(ext.Dialect, name="amdg"):
    """AMD's dialect."""
