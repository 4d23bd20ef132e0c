"""The dialect object of ``ttg``; its attributes are the encodings, its ops stand in :mod:`.ops`."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from tri_core.mlir import ext

__all__ = ["TTG"]


class TTG(ext.Dialect, name="ttg"):  # type: ignore[call-arg]  # the bindings are untyped
    """The TritonGPU dialect: Triton's tensors with a place for every element."""
