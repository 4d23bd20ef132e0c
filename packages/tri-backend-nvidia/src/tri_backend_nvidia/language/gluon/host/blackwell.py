"""``gluon.nvidia.blackwell``: tensor descriptors with a layout, made on the host."""

from __future__ import annotations

from tri_backend_nvidia.language.gluon.host.hopper import TensorDescriptor

__all__ = ["TensorDescriptor"]
