"""Layouts of tensors seen in another shape: what shape ops make of their operand's layout, moving nothing."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from tri_gpu_dialect.layouts import REGISTER, LinearLayout, dim_names

__all__ = ["insert_dim", "interchangeable", "joined", "permuted", "row_major"]


def insert_dim(layout: LinearLayout, axis: int) -> LinearLayout:
    """``layout`` with a new output dimension of size 1 at ``axis``."""
    names = dim_names(len(layout.out_dims) + 1)
    renamed = layout.rename_outs({f"dim{i}": f"dim{i + 1}" for i in range(axis, len(layout.out_dims))})
    outs = (*renamed.outs, (names[axis], 0))
    return LinearLayout(layout.ins, outs, renamed.columns).transpose_outs(names)


def row_major(layout: LinearLayout, shape: Sequence[int]) -> LinearLayout:
    """``layout`` of the same elements, row-major, in another ``shape``."""
    return _row_major(layout, tuple(shape))


@lru_cache(maxsize=1024)
def _row_major(layout: LinearLayout, shape: tuple[int, ...]) -> LinearLayout:
    names = dim_names(len(shape))
    flat = layout.transpose_outs(layout.out_dims[::-1])
    sizes = dict(zip(names[::-1], reversed(shape), strict=True))
    return flat.reshape_outs(sizes).transpose_outs(names)


def permuted(layout: LinearLayout, order: Sequence[int]) -> LinearLayout:
    """``layout`` with result dimension i being dimension ``order[i]``."""
    renamed = layout.rename_outs({f"dim{old}": f"dim{new}" for new, old in enumerate(order)})
    return renamed.transpose_outs(dim_names(len(order)))


def joined(layout: LinearLayout) -> LinearLayout:
    """Two tensors of ``layout`` along a new last dimension, their registers alternating."""
    rank = len(layout.out_dims)
    pair = LinearLayout.identity1d(2, REGISTER, f"dim{rank}")
    whole = (pair * insert_dim(layout, rank)).transpose_outs(dim_names(rank + 1))
    return whole.transpose_ins(layout.in_dims)


def interchangeable(one: LinearLayout, other: LinearLayout) -> bool:
    """True if registers in one layout may replace those in the other: as many, with copies in the same
    places.
    """
    return one.in_sizes == other.in_sizes and one.zero_masks() == other.zero_masks()
