"""Encodings of tensors in registers: ``#ttg.blocked``, ``#ttg.slice``, ``#ttg.dot_op``, ``#ttg.dot_scale``, ``#ttg.linear``."""

from __future__ import annotations

import math
from typing import Self

from tri_core.lazy_dataclasses import dataclass
from tri_gpu_dialect.base import TTG
from tri_gpu_dialect.encodings.matrix import MatrixEncoding
from tri_gpu_dialect.layouts import distributed
from tri_gpu_dialect.layouts.cluster import check_cluster
from tri_gpu_dialect.layouts.encoding import DistributedEncoding, Encoding, encoding, layout_for
from tri_gpu_dialect.layouts.linear import BLOCK, LANE, REGISTER, WARP, LinearLayout, dim_names

__all__ = ["Blocked", "DotOperand", "DotScale", "Linear", "Slice"]

Shape = tuple[int, ...]
Bases = tuple[tuple[int, ...], ...]


@encoding(TTG, "blocked", keys={"warps_per_cta": "warpsPerCTA", "cga_layout": "CGALayout"})
@dataclass(frozen=True)
class Blocked(DistributedEncoding):
    """Boxes of elements per thread, of threads per warp, of warps per block, counted along ``order``.

    ``order`` lists dimensions, fastest first.  ``cga_layout`` has, for each bit of the block's index in
    its cluster, the coordinates it adds in units of a block's share; empty for one block.
    """

    size_per_thread: Shape
    threads_per_warp: Shape
    warps_per_cta: Shape
    order: Shape
    cga_layout: Bases = ()

    def __post_init__(self) -> None:
        rank = len(self.order)
        boxes = (self.size_per_thread, self.threads_per_warp, self.warps_per_cta)
        if any(len(box) != rank for box in boxes):
            raise ValueError(f"all parts need {rank} entries, as order has")
        if sorted(self.order) != list(range(rank)):
            raise ValueError(f"order {self.order} is not a permutation of the dimensions")
        if any(n < 1 or n & (n - 1) for box in boxes for n in box):
            raise ValueError("sizes must be powers of two")
        check_cluster(self.cga_layout, rank)

    def linear_layout(self, shape: Shape) -> LinearLayout:
        """See :class:`Blocked`."""
        return distributed.blocked(
            shape,
            self.size_per_thread,
            self.threads_per_warp,
            self.warps_per_cta,
            self.order,
            self.cga_layout,
        )

    def operand_layout(self, operand: int, k_width: int, shape: Shape) -> LinearLayout:
        """Operands of plain FMA: a thread holds whole rows or columns along k."""
        return distributed.dot_operand_of_blocked(
            shape,
            operand,
            self.size_per_thread,
            self.threads_per_warp,
            self.warps_per_cta,
            self.order,
            self.cga_layout,
        )

    @classmethod
    def default(cls, shape: Shape, num_warps: int, threads_per_warp: int, num_ctas: int = 1) -> Self:
        """One element per thread, the last dimension fastest: what a tensor has before coalescing."""
        rank = len(shape)
        return cls.make(
            shape, (1,) * rank, tuple(reversed(range(rank))), num_warps, threads_per_warp, num_ctas
        )

    @classmethod
    def make(
        cls,
        shape: Shape,
        size_per_thread: Shape,
        order: Shape,
        num_warps: int,
        threads_per_warp: int,
        num_ctas: int = 1,
        blocks: Bases | None = None,
    ) -> Self:
        """Threads, then warps, laid over ``shape`` along ``order``, each dimension filled before the next.

        What is left when the tensor is smaller than the block goes to the slowest dimension, as copies.  ``blocks`` of a
        cluster split the slowest dimensions unless bases are given.
        """
        blocks = _split_blocks(shape, order, num_ctas) if blocks is None else blocks
        share = tuple(max(size // math.prod(2 for b in blocks if b[d]), 1) for d, size in enumerate(shape))
        lanes, warps = [1] * len(shape), [1] * len(shape)
        left_lanes, left_warps = threads_per_warp, num_warps
        for d in order:
            threads = max(share[d] // size_per_thread[d], 1)
            lanes[d] = min(threads, left_lanes)
            warps[d] = min(max(threads // lanes[d], 1), left_warps)
            left_lanes, left_warps = left_lanes // lanes[d], left_warps // warps[d]
        lanes[order[-1]] *= left_lanes
        warps[order[-1]] *= left_warps
        return cls(size_per_thread, tuple(lanes), tuple(warps), order, blocks)


def _split_blocks(shape: Shape, order: Shape, num_ctas: int) -> Bases:
    """Bases that spread a cluster's blocks over the slowest dimensions first."""
    left = list(shape)
    counts = [1] * len(shape)
    bases: list[tuple[int, ...]] = []
    for _ in range(num_ctas.bit_length() - 1):
        d = next((d for d in reversed(order) if left[d] > 1), None)
        basis = [0] * len(shape)
        if d is not None:
            basis[d] = counts[d]
            left[d], counts[d] = left[d] // 2, counts[d] * 2
        bases.append(tuple(basis))
    return tuple(bases)


@encoding(TTG, "slice")
@dataclass(frozen=True)
class Slice(DistributedEncoding):
    """``parent`` without its dimension ``dim``: what a reduction along it leaves."""

    dim: int
    parent: Encoding

    def linear_layout(self, shape: Shape) -> LinearLayout:
        """See :class:`Slice`."""
        if not 0 <= self.dim <= len(shape):
            raise ValueError(f"dimension {self.dim} is outside of a parent of rank {len(shape) + 1}")
        whole = layout_for(self.parent, (*shape[: self.dim], 1, *shape[self.dim :]))
        return distributed.slice_of(whole, self.dim)


@encoding(TTG, "dot_op")
@dataclass(frozen=True)
class DotOperand(DistributedEncoding):
    """Operand ``op_idx`` (0 or 1) of a dot whose result has encoding ``parent``."""

    op_idx: int
    parent: Encoding
    k_width: int = 0

    def __post_init__(self) -> None:
        if self.op_idx not in (0, 1):
            raise ValueError(f"opIdx is {self.op_idx}; 0 or 1 is expected")
        if not isinstance(self.parent, DistributedEncoding):
            raise TypeError("the parent of a dot operand places tensors in registers")

    def linear_layout(self, shape: Shape) -> LinearLayout:
        """See :class:`DotOperand`; the parent knows."""
        assert isinstance(self.parent, DistributedEncoding)
        return self.parent.operand_layout(self.op_idx, self.k_width, shape)


@encoding(TTG, "dot_scale")
@dataclass(frozen=True)
class DotScale(DistributedEncoding):
    """Scales (rows, groups along k) of operand ``op_idx`` of a block-scaled dot whose result has encoding ``parent``.

    Rows are those of operand 0, or columns of operand 1.
    """

    op_idx: int
    parent: Encoding

    def __post_init__(self) -> None:
        if self.op_idx not in (0, 1):
            raise ValueError(f"opIdx is {self.op_idx}; 0 or 1 is expected")
        if not isinstance(self.parent, MatrixEncoding):
            raise TypeError("the parent of a dot's scales is a matrix instruction's result")

    def linear_layout(self, shape: Shape) -> LinearLayout:
        """See :class:`DotScale`; the parent knows."""
        assert isinstance(self.parent, MatrixEncoding)
        return self.parent.scale_layout(self.op_idx, shape)


@encoding(TTG, "linear")
@dataclass(frozen=True)
class Linear(DistributedEncoding):
    """Any layout, written out as the bases of each input bit."""

    rank: int
    register: Bases = ()
    lane: Bases = ()
    warp: Bases = ()
    block: Bases = ()

    @classmethod
    def of(cls, layout: LinearLayout) -> Self:
        """The encoding of ``layout``, whose inputs are (some of) register, lane, warp and block."""
        return cls(len(layout.out_dims), **layout.bases)

    def linear_layout(self, shape: Shape) -> LinearLayout:
        """The bases, fitted to ``shape``: cut to copies, or repeated in registers."""
        bases = {REGISTER: self.register, LANE: self.lane, WARP: self.warp, BLOCK: self.block}
        names = dim_names(self.rank)
        layout = LinearLayout.from_bases(bases, names)
        fitted = distributed.fit(layout.transpose_outs(names[::-1]), dict(zip(names, shape, strict=True)))
        return fitted.transpose_outs(names)
