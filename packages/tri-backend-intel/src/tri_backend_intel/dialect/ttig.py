"""The dialect object of ``ttig``."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from tri_core.mlir import ext

__all__ = ["TTIG"]


class TTIG(ext.Dialect, name="ttig"):
    """Intel's dialect."""
