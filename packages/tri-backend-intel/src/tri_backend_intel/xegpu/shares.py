"""Share of a sub-group in a tensor, in pieces of one instruction: values with an algebra, independent of IR.

A program's sub-groups stand in a :class:`Grid`.  Each dimension of a tensor is a :class:`Dim`: whole for all sub-groups, or shared by
the grid's rows or columns; and one of them lies along the lanes::

    Share((Dim(64, ROWS, 4), Dim(32, lanes=True)))        64x32 on 4 rows of sub-groups: 16x32 each, 2 x 2 pieces of 8x16

Dimensions move freely: a share can be transposed, lose a dimension by a reduction, or get one of extent 1.  A piece that has both
is a vector of rows x lanes; without a dimension along the lanes it is the same in all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from math import prod

from tri_core.lazy_dataclasses import dataclass

__all__ = ["COLUMNS", "LANES", "ROWS", "TALL", "Dim", "Grid", "Share"]

#: of a sub-group, on every device with 2D blocks
LANES = 16
#: rows of a piece: those of one matrix instruction's result
TALL = 8
#: axes of a grid
ROWS, COLUMNS = 0, 1

Index = tuple[int, ...]


@dataclass(frozen=True)
class Grid:
    """``rows`` x ``columns`` sub-groups, of ``warps``; those that are over have what others have."""

    rows: int
    columns: int
    warps: int

    def parts(self, axis: int | None) -> int:
        """Number of sub-groups over which ``axis`` is distributed; None: not distributed."""
        return 1 if axis is None else (self.rows, self.columns)[axis]

    def coordinates(self, number: int) -> tuple[int, int, int]:
        """Row and column of sub-group ``number``, and which of those there it is."""
        rest, column = divmod(number, self.columns)
        copy, row = divmod(rest, self.rows)
        return row, column, copy

    @classmethod
    def all(cls, warps: int) -> Iterator[Grid]:
        """Every grid that ``warps``, a power of two, have room for; those that use more of them come first."""
        counts = [1 << i for i in range(warps.bit_length())]
        grids = [cls(r, c, warps) for r in counts for c in counts if r * c <= warps]
        yield from sorted(grids, key=lambda grid: (-grid.rows * grid.columns, grid.columns))


@dataclass(frozen=True)
class Dim:
    """``extent`` elements, in ``parts`` shares along ``axis`` of the grid; ``tall`` of them in a piece where no lanes lie along."""

    extent: int
    axis: int | None = None
    parts: int = 1
    lanes: bool = False
    tall: int = TALL

    @property
    def fits(self) -> bool:
        """True if the shares are whole, and whole pieces."""
        return self.extent % self.parts == 0 and self.share % self.piece == 0

    @property
    def share(self) -> int:
        """Elements of a sub-group."""
        return self.extent // self.parts

    @property
    def piece(self) -> int:
        """Elements of a piece."""
        if self.extent == 1:
            return 1
        return LANES if self.lanes else min(self.tall, max(self.share, 1))

    @property
    def count(self) -> int:
        """Pieces of a sub-group."""
        return self.share // self.piece


@dataclass(frozen=True)
class Share:
    """Of a tensor whose dimensions are ``dims``; pieces are numbered as they lie, the last dimension fastest."""

    dims: tuple[Dim, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the tensor."""
        return tuple(dim.extent for dim in self.dims)

    @property
    def along(self) -> int | None:
        """The dimension along the lanes."""
        return next((i for i, dim in enumerate(self.dims) if dim.lanes and dim.extent > 1), None)

    @property
    def across(self) -> int | None:
        """The dimension across them, whose elements a lane has one after the other."""
        return next((i for i, dim in enumerate(self.dims) if not dim.lanes and dim.extent > 1), None)

    @property
    def fits(self) -> bool:
        """True if pieces are vectors: whole ones, with one dimension along the lanes and one across at most."""
        wide = sum(dim.lanes for dim in self.dims if dim.extent > 1)
        tall = sum(not dim.lanes for dim in self.dims if dim.extent > 1)
        return wide <= 1 and tall <= 1 and all(dim.fits for dim in self.dims)

    @property
    def piece(self) -> tuple[int, ...]:
        """The extents of a piece as a vector: rows, then lanes; () is a number."""
        return tuple(self.dims[i].piece for i in (self.across, self.along) if i is not None)

    @property
    def counts(self) -> tuple[int, ...]:
        """Pieces along each dimension."""
        return tuple(dim.count for dim in self.dims)

    def __len__(self) -> int:
        return prod(self.counts)

    def indices(self) -> Iterator[Index]:
        """Of the pieces, in their order."""
        yield from product(*map(range, self.counts))

    def number(self, index: Sequence[int]) -> int:
        """Of the piece at ``index``; along a dimension of one piece any index means that one."""
        number = 0
        for at, count in zip(index, self.counts, strict=True):
            number = number * count + (at if count > 1 else 0)
        return number

    def start(self, index: Sequence[int]) -> Index:
        """Start in the sub-group's share of the piece at ``index``."""
        return tuple(at * dim.piece for at, dim in zip(index, self.dims, strict=True))

    def replicas(self, grid: Grid) -> int:
        """Number of sub-groups of ``grid`` with the same share."""
        return grid.warps // prod(dim.parts for dim in self.dims)

    def transposed(self, order: Sequence[int]) -> Share:
        """Dimension ``i`` is what ``order[i]`` was."""
        return Share(tuple(self.dims[i] for i in order))

    def without(self, axis: int) -> Share:
        """One dimension less."""
        return Share(self.dims[:axis] + self.dims[axis + 1 :])

    def expanded(self, axis: int) -> Share:
        """One more, of extent 1."""
        return Share((*self.dims[:axis], Dim(1), *self.dims[axis:]))

    def narrowed(self, axis: int) -> Share:
        """``axis`` of extent 1."""
        return replace(self, dims=(*self.dims[:axis], Dim(1), *self.dims[axis + 1 :]))
