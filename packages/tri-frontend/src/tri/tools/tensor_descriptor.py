"""Tensor descriptors made on the host and passed to kernels."""

from __future__ import annotations

from tri.launch.tensor_descriptor import TensorDescriptor

__all__ = ["TensorDescriptor"]
