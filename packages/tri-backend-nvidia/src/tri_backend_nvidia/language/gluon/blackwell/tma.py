"""``gl.nvidia.blackwell.tma``: Hopper's copies of blocks."""

from __future__ import annotations

from tri.language import builtin
from tri_backend_nvidia.language.gluon.hopper.tma import (
    async_atomic_add,
    async_atomic_and,
    async_atomic_max,
    async_atomic_min,
    async_atomic_or,
    async_atomic_xor,
    async_load,
    async_store,
    make_tensor_descriptor,
    store_wait,
    tensor_descriptor,
    tensor_descriptor_type,
)

__all__ = [
    "async_atomic_add",
    "async_atomic_and",
    "async_atomic_max",
    "async_atomic_min",
    "async_atomic_or",
    "async_atomic_xor",
    "async_load",
    "async_store",
    "builtin",
    "make_tensor_descriptor",
    "store_wait",
    "tensor_descriptor",
    "tensor_descriptor_type",
]

#: names that are not here yet, and what to do instead
__later__ = {
    "async_copy_global_to_shared": "Triton dropped it; call async_load",
    "async_copy_shared_to_global": "Triton dropped it; call async_store",
    "async_gather": "load the rows with gl.load, and store them to the buffer",
    "async_load_im2col": "copy tiles with async_load",
    "async_scatter": "load the buffer, and gl.store its rows",
}
