"""Helpers for tests of layouts and lowerings, here and in the packages of vendors (extra ``testing``)."""

from __future__ import annotations

from tri_gpu_dialect.testing.kernels import TensorSpec, kernel, tensor_type
from tri_gpu_dialect.testing.machine import REF
from tri_gpu_dialect.testing.reference import ReferencePrimitives, make_target, place_in_memory, run
from tri_gpu_dialect.testing.strategies import distributed, invertible

__all__ = [
    "REF",
    "ReferencePrimitives",
    "TensorSpec",
    "distributed",
    "invertible",
    "kernel",
    "make_target",
    "place_in_memory",
    "run",
    "tensor_type",
]
