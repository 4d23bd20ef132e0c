"""``gl.nvidia.blackwell``: tensor memory, and dots by ``tcgen05.mma`` that accumulate in it."""

from __future__ import annotations

from tri.language import builtin, constexpr_function
from tri_backend_nvidia.language.gluon.ampere import async_copy, mma_v2
from tri_backend_nvidia.language.gluon.blackwell import tma
from tri_backend_nvidia.language.gluon.blackwell.dots import (
    tcgen05_commit,
    tcgen05_mma,
    tcgen05_mma_barrier_count,
)
from tri_backend_nvidia.language.gluon.blackwell.layouts import TensorMemoryLayout, TensorMemoryScalesLayout
from tri_backend_nvidia.language.gluon.blackwell.scaled import tcgen05_copy, tcgen05_mma_scaled
from tri_backend_nvidia.language.gluon.blackwell.tensor_memory import (
    allocate_tensor_memory,
    tensor_memory_descriptor,
    tensor_memory_descriptor_type,
)
from tri_backend_nvidia.language.gluon.cache_policies import CachePolicy, FractionalEvictionPolicy
from tri_backend_nvidia.language.gluon.hopper import cluster, fence_async_shared, mbarrier

__all__ = [
    "CachePolicy",
    "FractionalEvictionPolicy",
    "TensorMemoryLayout",
    "TensorMemoryScalesLayout",
    "allocate_tensor_memory",
    "async_copy",
    "builtin",
    "cluster",
    "constexpr_function",
    "fence_async_shared",
    "mbarrier",
    "mma_v2",
    "tcgen05_commit",
    "tcgen05_copy",
    "tcgen05_mma",
    "tcgen05_mma_barrier_count",
    "tcgen05_mma_scaled",
    "tensor_memory_descriptor",
    "tensor_memory_descriptor_type",
    "tma",
]

_PLAIN = "write the operator: results are the same"
#: names that are not here yet, and what to do instead
__later__ = {
    "add2": _PLAIN,
    "async_store": "store with the buffer's store, then arrive on the mbarrier",
    "clc": "launch a grid of as many programs as there are tiles, or loop over tiles",
    "fma2": _PLAIN,
    "max2": _PLAIN,
    "min2": _PLAIN,
    "mul2": _PLAIN,
    "sub2": _PLAIN,
}
