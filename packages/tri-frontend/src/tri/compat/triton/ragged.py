"""``triton.tools.ragged_tma``: slices of different lengths of one tensor, read and written through one descriptor.

A slice's end is moved to where a descriptor ends, whose bounds then hold for the slice: dimension ``ragged_dim`` is
declared as 2^30 rows, and row ``r`` of a slice of ``n`` rows is row ``2^30 - n + r`` of the descriptor.  Two dimensions
before it bring the address back: their strides are ``2^34 - s`` and ``s`` elements (``s`` the stride of the rows), so that
places ``2^30`` and ``offset + n`` add up to ``offset - 2^30 + n`` rows, for elements of a power of two bytes modulo 2^64.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tri
import tri.language as tl
from tri.tools.tensor_descriptor import TensorDescriptor
from tri_core.errors import LaunchError

__all__ = [
    "atomic_add_ragged",
    "create_ragged_descriptor",
    "load_ragged",
    "store_ragged",
    "to_ragged_indices",
]

_ROWS = tl.constexpr(1 << 30)
_MOST = 0x7FFF0000


def create_ragged_descriptor(T: Any, block_shape: Sequence[int], ragged_dim: int = 0) -> TensorDescriptor:
    """A descriptor of ``T`` (two or three dimensions) for the functions below; LaunchError for another tensor."""
    shape, rank = list(T.shape), len(T.shape)
    dim = ragged_dim + rank if ragged_dim < 0 else ragged_dim
    _require(2 <= rank <= 3, f"a ragged descriptor has two or three dimensions, got {rank}")
    _require(0 <= dim < rank - 1, f"ragged_dim is {ragged_dim}; any dimension but the last is possible")
    _require(len(block_shape) == rank, f"block_shape has {len(block_shape)} items for {rank} dimensions")
    _require(shape[dim] <= _ROWS.value, f"dimension {dim} has {shape[dim]} rows; 2**30 are possible")
    strides = [T.stride(i) for i in range(rank)]
    shape[dim] = _ROWS.value
    return TensorDescriptor(
        T,
        [_MOST, _MOST, *shape],
        [(1 << 34) - strides[dim], strides[dim], *strides],
        [1, 1, *block_shape],
    )


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise LaunchError(message)


@tri.jit
def to_ragged_indices(slice_off: Any, slice_size: Any, row: Any) -> Any:
    """The places in the two added dimensions and in the ragged one of ``row`` of a slice."""
    return _ROWS, slice_off + slice_size, _ROWS - slice_size + row


@tri.jit
def load_ragged(TMA: Any, slice_off: Any, slice_size: Any, coords: Any, ragged_dim: tl.constexpr = 0) -> Any:
    """The block at ``coords`` of rows ``slice_off`` to ``slice_off + slice_size``; zeros outside of them."""
    tl.static_assert(len(TMA.shape) == len(coords) + 2, "the descriptor is not of create_ragged_descriptor")
    first, second, row = to_ragged_indices(slice_off, slice_size, coords[ragged_dim])
    data = TMA.load([first, second, *coords[:ragged_dim], row, *coords[ragged_dim + 1 :]])
    return tl.reshape(data, data.shape[2:])


@tri.jit
def store_ragged(
    TMA: Any, slice_off: Any, slice_size: Any, coords: Any, data: Any, ragged_dim: tl.constexpr = 0
) -> None:
    """Write ``data`` where :func:`load_ragged` reads; nothing outside of the slice."""
    first, second, row = to_ragged_indices(slice_off, slice_size, coords[ragged_dim])
    places = [first, second, *coords[:ragged_dim], row, *coords[ragged_dim + 1 :]]
    TMA.store(places, tl.reshape(data, [1, 1, *data.shape]))


@tri.jit
def atomic_add_ragged(
    TMA: Any, slice_off: Any, slice_size: Any, coords: Any, data: Any, ragged_dim: tl.constexpr = 0
) -> None:
    """Add ``data`` where :func:`load_ragged` reads; nothing outside of the slice."""
    first, second, row = to_ragged_indices(slice_off, slice_size, coords[ragged_dim])
    places = [first, second, *coords[:ragged_dim], row, *coords[ragged_dim + 1 :]]
    TMA.atomic_add(places, tl.reshape(data, [1, 1, *data.shape]))
