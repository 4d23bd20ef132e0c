"""PyTorch tensors whose memory is not what a kernel would read: none, less than their elements take, or other values.

Fully sharded training frees the storage of parameters that lie elsewhere; fake tensors have shapes alone; a negative or
conjugate view says that what memory holds is to be negated.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from tri_core.errors import ArgumentError

__all__ = ["check_memory", "is_suspect", "spanned_bytes"]

_REMEDY = "pass a tensor that holds its elements: gather sharded parameters before the launch; warmup() takes a dtype in place of a tensor"


def is_suspect(tensor: Any) -> bool:
    """True if :func:`check_memory` is to check ``tensor``, which is strided: cheap enough for every launch."""
    if tensor.is_neg():
        return True
    end = tensor.storage_offset() * tensor.itemsize + spanned_bytes(tensor)
    return bool(end > tensor.untyped_storage().nbytes())


def spanned_bytes(tensor: Any) -> int:
    """Bytes from the first element of strided ``tensor`` to the end of its last one."""
    if tensor.is_contiguous():
        return int(tensor.nbytes)
    return int(_elements(tensor.shape, tensor.stride()) * tensor.itemsize)


@lru_cache(maxsize=4096)
def _elements(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """Elements from the first to the last; a program's arrays have few shapes, and launches are many."""
    steps = zip(shape, strides, strict=True)
    return 0 if 0 in shape else 1 + sum((n - 1) * step for n, step in steps)


def check_memory(tensor: Any) -> None:
    """ArgumentError unless the storage of ``tensor`` holds all elements, as they are to be read."""
    if tensor.is_neg() or tensor.is_conj():
        bit = "negative" if tensor.is_neg() else "conjugate"
        raise ArgumentError(
            f"a PyTorch tensor with the {bit} bit was passed to a kernel, whose memory holds other values than it shows",
            remedy=f"pass .resolve_{'neg' if bit == 'negative' else 'conj'}(), which is a copy",
        )
    if not tensor.numel():
        return
    storage = tensor.untyped_storage()
    if storage.device.type == "meta":
        raise ArgumentError(
            f"a PyTorch tensor without memory was passed to a kernel: a {type(tensor).__name__} has a shape alone",
            remedy=_REMEDY,
        )
    needed = tensor.storage_offset() * tensor.itemsize + spanned_bytes(tensor)
    held = storage.nbytes() if storage.data_ptr() else 0
    if held < needed:
        raise ArgumentError(
            f"a PyTorch tensor without memory was passed to a kernel: its elements take {needed} bytes of a storage of {held}",
            remedy=_REMEDY,
        )
