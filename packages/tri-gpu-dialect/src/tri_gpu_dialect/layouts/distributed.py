"""Layouts of tensors in registers: from (register, lane, warp, block) to (dim0, dim1, ...).

All of them are built from three steps: a tile made as a product of small identities, the tile fitted to
the tensor's shape (what exceeds it becomes copies, what is missing is repeated in registers), and the
blocks of a cluster put above.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from tri_gpu_dialect.layouts.cluster import ClusterBases, put_above, share
from tri_gpu_dialect.layouts.linear import LANE, REGISTER, WARP, LinearLayout, dim_names

__all__ = ["blocked", "dot_operand_of_blocked", "drop_register_copies", "fit", "slice_of", "tile"]

Shape = tuple[int, ...]


def tile(in_dim: str, shape: Sequence[int], order: Sequence[int]) -> LinearLayout:
    """Input ``in_dim`` running over ``shape``, along dimension ``order[0]`` first.

    The outputs are in order ``order``, fastest first.
    """
    layout = LinearLayout(((in_dim, 0),), (), ())
    for dim in order:
        layout *= LinearLayout.identity1d(shape[dim], in_dim, f"dim{dim}")
    return layout


def fit(layout: LinearLayout, shape: Mapping[str, int]) -> LinearLayout:
    """``layout`` with outputs of exactly ``shape``: too large is cut to copies, too small repeats in registers.

    Repetition goes along the outputs in the order that ``layout`` has them.
    """
    for dim, size in shape.items():
        if layout.out_size(dim) > size:
            layout = layout.resize_out(dim, size)
    for dim in layout.out_dims:
        if (missing := shape[dim] // layout.out_size(dim)) > 1:
            layout *= LinearLayout.identity1d(missing, REGISTER, dim)
    return layout


def drop_register_copies(layout: LinearLayout) -> LinearLayout:
    """Without register bits that hold nothing new (zero bases)."""
    mask = layout.zero_masks()[REGISTER]
    if not mask:
        return layout
    bases = dict(layout.bases)
    bases[REGISTER] = tuple(b for i, b in enumerate(bases[REGISTER]) if not mask >> i & 1)
    return LinearLayout.from_bases(bases, layout.out_sizes)


def _finish(layout: LinearLayout, shape: Shape, blocks: ClusterBases) -> LinearLayout:
    """Fit a block's tile to its share of ``shape`` and put the blocks above."""
    own = dict(zip(dim_names(len(shape)), share(shape, blocks), strict=True))
    return put_above(fit(layout, own), shape, blocks)


@lru_cache(maxsize=1024)
def blocked(
    shape: Shape,
    size_per_thread: Shape,
    threads_per_warp: Shape,
    warps_per_cta: Shape,
    order: Shape,
    blocks: ClusterBases = (),
) -> LinearLayout:
    """Each thread a box of ``size_per_thread``, warps a box of threads, the block a box of warps.

    ``order`` lists the dimensions, fastest first, in which registers, lanes and warps count.
    """
    layout = tile(REGISTER, size_per_thread, order)
    layout *= tile(LANE, threads_per_warp, order)
    layout *= tile(WARP, warps_per_cta, order)
    return _finish(layout, shape, blocks)


def slice_of(parent: LinearLayout, dim: int) -> LinearLayout:
    """``parent``, of size 1 along ``dim``, without that dimension; registers that only repeat are dropped."""
    rank = len(parent.out_dims)
    flat = parent.without_outs(f"dim{dim}")
    renamed = flat.rename_outs({f"dim{i}": f"dim{i - 1}" for i in range(dim + 1, rank)})
    return drop_register_copies(renamed)


@lru_cache(maxsize=1024)
def dot_operand_of_blocked(
    shape: Shape,
    operand: int,
    size_per_thread: Shape,
    threads_per_warp: Shape,
    warps_per_cta: Shape,
    order: Shape,
    blocks: ClusterBases = (),
) -> LinearLayout:
    """Layout of operand 0 (``m x k``) or 1 (``k x n``) for plain FMA with a blocked result.

    A thread holds its rows (columns) whole along k, so lanes and warps along k hold copies.
    """
    rank = len(shape)
    inner = rank - 1 if operand == 0 else rank - 2
    per_thread = tuple(shape[d] if d == inner else size_per_thread[d] for d in range(rank))
    layout = tile(REGISTER, per_thread, order)
    for in_dim, box in ((LANE, threads_per_warp), (WARP, warps_per_cta)):
        for d in order:
            name = f"dim{d}"
            spread = LinearLayout.zeros1d if d == inner else LinearLayout.identity1d
            layout *= spread(box[d], in_dim, name)
    # blocks along k hold copies as well
    shares = tuple(tuple(0 if d == inner else v for d, v in enumerate(basis)) for basis in blocks)
    return _finish(layout, shape, shares)
