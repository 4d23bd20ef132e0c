"""Encodings of tensors in shared memory: swizzled, padded, and any linear one."""

from __future__ import annotations

from dataclasses import replace
from typing import Self

from tri_core.lazy_dataclasses import dataclass
from tri_gpu_dialect.base import TTG
from tri_gpu_dialect.layouts import cluster, shared
from tri_gpu_dialect.layouts.encoding import SharedEncoding, encoding
from tri_gpu_dialect.layouts.linear import BLOCK, OFFSET, LinearLayout, dim_names

__all__ = ["PaddedShared", "SharedLinear", "SwizzledShared"]

Shape = tuple[int, ...]
Bases = tuple[tuple[int, ...], ...]


@encoding(TTG, "swizzled_shared", keys={"cga_layout": "CGALayout"})
@dataclass(frozen=True)
class SwizzledShared(SharedEncoding):
    """Rows along ``order[0]`` whose groups of ``vec`` elements are permuted by xor with the row's phase.

    ``cga_layout`` is as in :class:`tri_gpu_dialect.encodings.Blocked`: each block of a cluster has its part of the
    tensor in its own memory, swizzled for itself.
    """

    vec: int
    per_phase: int
    max_phase: int
    order: Shape
    cga_layout: Bases = ()

    def __post_init__(self) -> None:
        if any(n < 1 or n & (n - 1) for n in (self.vec, self.per_phase, self.max_phase)):
            raise ValueError("vec, perPhase and maxPhase must be powers of two")
        if sorted(self.order) != list(range(len(self.order))):
            raise ValueError(f"order {self.order} is not a permutation of the dimensions")
        cluster.check_cluster(self.cga_layout, len(self.order))

    @property
    def blocks(self) -> int:
        """By the bases."""
        return 1 << len(self.cga_layout)

    def share(self, shape: Shape) -> Shape:
        """By the bases."""
        return cluster.share(shape, cluster.ranked(self.cga_layout, len(shape)))

    def permuted(self, order: Shape) -> SwizzledShared:
        """Rows run along the same elements."""
        transposed = tuple(order.index(d) for d in self.order)
        blocks = cluster.permuted(self.cga_layout, order)
        return SwizzledShared(self.vec, self.per_phase, self.max_phase, transposed, blocks)

    def linear_layout(self, shape: Shape) -> LinearLayout:
        """See :func:`tri_gpu_dialect.layouts.shared.swizzled`; leading dimensions beyond ``order`` are slowest."""
        rank = len(self.order)
        extra = len(shape) - rank
        order = tuple(d + extra for d in self.order) + tuple(reversed(range(extra)))
        blocks = cluster.ranked(self.cga_layout, len(shape))
        own = cluster.share(shape, blocks)
        layout = shared.swizzled(own, self.vec, self.per_phase, self.max_phase, order)
        return cluster.put_above(layout, shape, blocks) if blocks else layout


@encoding(TTG, "padded_shared")
@dataclass(frozen=True)
class PaddedShared(SharedEncoding):
    """Elements with gaps: ``paddings`` are (interval, pad) in elements.

    Before padding they lie one after the other along ``order``, or as the bases of ``offset`` (and of ``block``, in a cluster) say.
    """

    paddings: tuple[tuple[int, int], ...]
    order: Shape = ()
    offset: Bases = ()
    block: Bases = ()

    def __post_init__(self) -> None:
        if bool(self.order) == bool(self.offset):
            raise ValueError("a padded encoding has either an order or the bases of its offsets")
        if self.block and self.order:
            raise ValueError("a padded encoding of a cluster needs the bases of its offsets")
        ranks = {len(basis) for basis in (*self.offset, *self.block)}
        if len(ranks) > 1:
            raise ValueError(
                f"the bases have {' and '.join(map(str, sorted(ranks)))} entries; as many are expected"
            )

    @property
    def padding(self) -> tuple[tuple[int, int], ...]:
        """The gaps."""
        return self.paddings

    @property
    def blocks(self) -> int:
        """By the bases."""
        return 1 << len(self.block)

    def permuted(self, order: Shape) -> PaddedShared:
        """The same places for the coordinates in another order."""
        if self.order:
            return replace(self, order=tuple(order.index(d) for d in self.order))
        offset, block = (
            tuple(tuple(basis[d] for d in order) for basis in bases) for bases in (self.offset, self.block)
        )
        return replace(self, offset=offset, block=block)

    def linear_layout(self, shape: Shape) -> LinearLayout:
        """The placement before padding; leading dimensions beyond the encoding's are slowest."""
        rank = len(self.order or self.offset[0])
        extra = len(shape) - rank
        if self.order:
            order = tuple(d + extra for d in self.order) + tuple(reversed(range(extra)))
            return shared.row_major(shape, order)
        moved = [tuple((0,) * extra + basis for basis in bases) for bases in (self.offset, self.block)]
        leading = [
            tuple(1 << bit if d == dim else 0 for d in range(len(shape)))
            for dim in reversed(range(extra))
            for bit in range(shape[dim].bit_length() - 1)
        ]
        bases = {OFFSET: (*moved[0], *leading)} | ({BLOCK: moved[1]} if self.block else {})
        return LinearLayout.from_bases(bases, dict(zip(dim_names(len(shape)), shape, strict=True)))


@encoding(TTG, "shared_linear")
@dataclass(frozen=True)
class SharedLinear(SharedEncoding):
    """Any layout of shared memory, written out as the bases of each offset bit."""

    rank: int
    offset: Bases = ()
    block: Bases = ()

    @classmethod
    def of(cls, layout: LinearLayout) -> Self:
        """The encoding of ``layout``, whose inputs are ``offset`` and perhaps ``block``."""
        return cls(len(layout.out_dims), **layout.bases)

    @property
    def blocks(self) -> int:
        """By the bases."""
        return 1 << len(self.block)

    def linear_layout(self, shape: Shape) -> LinearLayout:
        """The bases; ValueError when they do not fit ``shape``."""
        bases = {OFFSET: self.offset} | ({BLOCK: self.block} if self.block else {})
        return LinearLayout.from_bases(bases, dict(zip(dim_names(self.rank), shape, strict=True)))

    def permuted(self, order: Shape) -> SharedLinear:
        """The same places for the coordinates in another order."""
        offset, block = (
            tuple(tuple(basis[d] for d in order) for basis in bases) for bases in (self.offset, self.block)
        )
        return replace(self, offset=offset, block=block)
