"""``gluon.nvidia``: what host code makes for kernels."""

from __future__ import annotations

from tri_backend_nvidia.language.gluon.host import blackwell, hopper

__all__ = ["blackwell", "hopper"]
