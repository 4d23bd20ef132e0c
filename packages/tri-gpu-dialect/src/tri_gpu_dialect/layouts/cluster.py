"""The blocks (CTAs) of a cluster: which share of a tensor each of them has, as the input ``block`` of a layout.

A tensor is cut evenly along some of its dimensions; every block has one of the pieces, and pieces that there are
fewer of than blocks are held by several.  It is written down as one basis per bit of the block's number in its
cluster: coordinates in units of a piece, zeros where that bit chooses between copies.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from tri_gpu_dialect.layouts.linear import BLOCK, LinearLayout, dim_names

__all__ = [
    "ClusterBases",
    "check_cluster",
    "cluster",
    "matmul_blocks",
    "operand_blocks",
    "permuted",
    "put_above",
    "ranked",
    "share",
    "split_bases",
    "units",
    "within",
]

Shape = tuple[int, ...]
#: for each bit of the block index, the coordinates it contributes in units of one block's share
ClusterBases = tuple[tuple[int, ...], ...]


def split_bases(
    ctas_per_cga: Sequence[int], cta_split_num: Sequence[int], cta_order: Sequence[int]
) -> ClusterBases:
    """The bases of ``ctas_per_cga[d]`` blocks along each dimension d, over ``cta_split_num[d]`` pieces of the tensor.

    Blocks count along dimension ``cta_order[0]`` first; within a dimension through the pieces, then through the copies.
    Raises ValueError for numbers that say no such thing.  Source: ``CTALayoutAttr`` of Triton 3.0 to 3.5.
    """
    rank = len(cta_order)
    if len(ctas_per_cga) != rank or len(cta_split_num) != rank:
        counts = f"{len(ctas_per_cga)}, {len(cta_split_num)} and {rank}"
        raise ValueError(
            f"CTAsPerCGA, CTASplitNum and CTAOrder have {counts} entries; one per dimension is expected"
        )
    if sorted(cta_order) != list(range(rank)):
        raise ValueError(f"CTAOrder {list(cta_order)} is not a permutation of the dimensions")
    for name, sizes in (("CTAsPerCGA", ctas_per_cga), ("CTASplitNum", cta_split_num)):
        if any(n < 1 or n & (n - 1) for n in sizes):
            raise ValueError(f"{name} {list(sizes)}: all must be powers of two")
    bases: list[tuple[int, ...]] = []
    for d in cta_order:
        ctas, split = ctas_per_cga[d], cta_split_num[d]
        if ctas % split:
            raise ValueError(f"CTASplitNum {split} does not divide CTAsPerCGA {ctas} along dimension {d}")
        pieces = split.bit_length() - 1
        for bit in range(ctas.bit_length() - 1):
            bases.append(tuple(1 << bit if i == d and bit < pieces else 0 for i in range(rank)))
    return tuple(bases)


def check_cluster(bases: ClusterBases, rank: int) -> None:
    """Raise ValueError unless all bases have ``rank`` coordinates, none of them negative."""
    if any(len(basis) != rank for basis in bases):
        raise ValueError(f"CGALayout {[list(b) for b in bases]}: {rank} coordinates per basis are expected")
    if any(v < 0 for basis in bases for v in basis):
        raise ValueError(f"CGALayout {[list(b) for b in bases]}: coordinates must not be negative")


def ranked(bases: ClusterBases, rank: int) -> ClusterBases:
    """``bases`` for a tensor of ``rank`` with further dimensions in front, which are not split."""
    if any(len(basis) > rank for basis in bases):
        raise ValueError(f"CTAs split more dimensions than the {rank} of the shape")
    return tuple((0,) * (rank - len(basis)) + basis for basis in bases)


def permuted(bases: ClusterBases, order: Sequence[int]) -> ClusterBases:
    """``bases`` of the tensor seen with result dimension i being dimension ``order[i]``."""
    return tuple(tuple(basis[d] for d in order) for basis in bases)


def cluster(bases: ClusterBases, rank: int) -> LinearLayout:
    """The blocks of a cluster as a layout; no bases: one block."""
    return LinearLayout.from_bases({BLOCK: bases}, dim_names(rank))


@lru_cache(maxsize=1024)
def share(shape: Shape, bases: ClusterBases) -> Shape:
    """The shape of what one block has of a tensor of ``shape``."""
    split = cluster(bases, len(shape)).out_sizes.values()
    return tuple(max(size // n, 1) for size, n in zip(shape, split, strict=True))


def put_above(layout: LinearLayout, shape: Shape, bases: ClusterBases) -> LinearLayout:
    """The layout of one block's :func:`share` made that of a tensor of ``shape`` over all blocks.

    Where there are more pieces than elements along a dimension, blocks hold copies.
    """
    names = dim_names(len(shape))
    whole = (layout * cluster(bases, len(shape))).transpose_outs(names)
    for name, size in zip(names, shape, strict=True):
        if whole.out_size(name) > size:
            whole = whole.resize_out(name, size)
    return whole


def within(layout: LinearLayout, blocks: Sequence[tuple[int, ...]]) -> LinearLayout:
    """A distributed ``layout`` by coordinates in the share of its block.

    ``blocks`` has for each bit of the block's number the coordinates at which its share begins, a multiple of the share's
    size.  ValueError where the layout has elements of other shares.
    """
    sizes = [
        min((basis[d] for basis in blocks if basis[d]), default=size)
        for d, size in enumerate(layout.out_sizes.values())
    ]
    bases = dict(layout.bases)
    bases[BLOCK] = tuple(
        tuple(a ^ c for a, c in zip(mine, begin, strict=True))
        for mine, begin in zip(bases[BLOCK], blocks, strict=True)
    )
    if any(v >= size for rows in bases.values() for row in rows for v, size in zip(row, sizes, strict=True)):
        raise ValueError(f"{layout} has more than a share of the split {list(blocks)}")
    return LinearLayout.from_bases(bases, dict(zip(layout.out_dims, sizes, strict=True)))


def units(blocks: Sequence[tuple[int, ...]]) -> ClusterBases:
    """The bases of blocks whose shares begin at the coordinates ``blocks``."""
    least = (
        [min((begin[d] for begin in blocks if begin[d]), default=1) for d in range(len(blocks[0]))]
        if blocks
        else []
    )
    return tuple(tuple(v // size for v, size in zip(begin, least, strict=True)) for begin in blocks)


#: rows and columns of a dot below which a block's share is not cut
_LEAST_ROWS, _LEAST_COLUMNS = 64, 32


@lru_cache(maxsize=1024)
def matmul_blocks(shape: Shape, num_ctas: int, *, whole_rows: bool = False) -> ClusterBases:
    """Split of a dot's result of ``shape`` over the CTAs of a cluster: by rows and columns, as square as
    possible.

    With ``whole_rows`` by rows alone.  Where the result is small for all of them, blocks hold copies.
    """
    rank = len(shape)
    left, counts = list(shape), [1] * rank
    limits = [(rank - 2, _LEAST_ROWS), (rank - 1, _LEAST_COLUMNS)][: 1 if whole_rows else 2]
    bases: list[tuple[int, ...]] = []
    for _ in range(num_ctas.bit_length() - 1):
        room = [(left[d], -d, d) for d, least in limits if left[d] > least]
        basis = [0] * rank
        if room:
            d = max(room)[-1]
            basis[d], left[d], counts[d] = counts[d], left[d] // 2, counts[d] * 2
        bases.append(tuple(basis))
    return tuple(bases)


def operand_blocks(blocks: ClusterBases, index: int) -> ClusterBases:
    """The blocks of operand 0 or 1 of a dot whose result has ``blocks``: along k they hold copies."""
    inner = -1 if index == 0 else -2
    return tuple(tuple(0 if d - len(basis) == inner else v for d, v in enumerate(basis)) for basis in blocks)
