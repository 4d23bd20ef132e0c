"""Common base of matrix-instruction encodings: one instruction's fragments, tiled over warps and registers.

A vendor describes which lane and register holds what in *one* instruction; the layouts of whole tensors
follow from that: the fragment, then the block's warps beside each other, then repetition in registers.
"""

from __future__ import annotations

import abc
from dataclasses import replace
from functools import lru_cache
from typing import ClassVar, Self

from tri_gpu_dialect.layouts import distributed
from tri_gpu_dialect.layouts.cluster import ClusterBases, put_above, ranked, share
from tri_gpu_dialect.layouts.encoding import DistributedEncoding
from tri_gpu_dialect.layouts.linear import LANE, REGISTER, WARP, LinearLayout, dim_names
from tri_gpu_dialect.layouts.transposing import TransposingRead

__all__ = ["ACCUMULATOR", "MatrixEncoding"]

Shape = tuple[int, ...]

#: the role of an instruction's result and addend, beside its operands 0 and 1
ACCUMULATOR = 2

_DIMS = ("dim0", "dim1")


class MatrixEncoding(DistributedEncoding):
    """The encoding of a dot's result that matrix instructions compute; subclasses are dataclasses.

    ``warps_per_cta`` has one entry per dimension of the result; warps count along the last dimension first,
    or along the first one where ``rows_first``.
    """

    warps_per_cta: Shape
    #: the blocks of a cluster, as in :class:`tri_gpu_dialect.encodings.Blocked`; a field where a vendor has clusters
    cga_layout: ClusterBases = ()

    @property
    def rows_first(self) -> bool:
        """True if warps are numbered along rows first, so that warps which execute an instruction together
        share rows.
        """
        return False

    @property
    def column_bits(self) -> Shape:
        """Position of each bit of a column index in the tensor: bit i within the warps' instructions is bit
        ``column_bits[i]`` there.

        Empty: the same.  Which column of a tensor is which of an instruction is free, if operand and result agree.
        """
        return ()

    def reads_rows(self, operand: int, k_width: int) -> bool:
        """True if matrix loads read operand 0 or 1 in rows of 16 bytes across k, whatever elements its lanes
        hold.

        ``k_width`` as in :meth:`fragment`.
        """
        return False

    @property
    def transposing_read(self) -> TransposingRead | None:
        """The read of shared memory that gives lanes an operand which lies there across k, beside plain ones; None: there is none."""
        return None

    def spread(self, shape: Shape, warps: Shape) -> Self:
        """This encoding for a result of ``shape`` over ``warps``; instructions of several sizes are chosen here."""
        made: Self = replace(self, warps_per_cta=warps)  # type: ignore[type-var]  # a dataclass by contract
        return made

    #: (register, lane): the inputs of a fragment
    inputs: ClassVar[tuple[str, str]] = (REGISTER, LANE)

    @abc.abstractmethod
    def fragment(self, role: int, k_width: int) -> LinearLayout:
        """Element ownership of one instruction: (register, lane) to (dim0, dim1).

        ``role`` 0 is the left operand, ``m x k``, 1 the right one, ``k x n``, :data:`ACCUMULATOR` the result,
        ``m x n``.  ``k_width`` is the number of an operand's elements along k in one register group.
        """

    def linear_layout(self, shape: Shape) -> LinearLayout:
        """The layout of a result of ``shape``."""
        return self._over_blocks(ACCUMULATOR, 0, shape, None)

    def operand_layout(self, operand: int, k_width: int, shape: Shape) -> LinearLayout:
        """The layout of operand 0 or 1: warps and blocks along k hold copies."""
        return self._over_blocks(operand, k_width, shape, len(shape) - 1 if operand == 0 else len(shape) - 2)

    def scale_layout(self, operand: int, shape: Shape) -> LinearLayout:
        """The layout of the scales (rows, groups along k) of operand 0 or 1 of a block-scaled dot.

        ValueError where no instruction of this encoding takes scales.
        """
        raise ValueError(f"{type(self).__name__} has no dots with block scales")

    def _over_blocks(self, role: int, k_width: int, shape: Shape, inner: int | None) -> LinearLayout:
        split = ranked(self.cga_layout, len(shape))
        blocks = tuple(tuple(0 if d == inner else v for d, v in enumerate(basis)) for basis in split)
        fragment = self.fragment(role, k_width)
        moved = () if role == 0 else self.column_bits
        own = _tiled(
            fragment, self.warps_per_cta, share(shape, blocks), inner, rows_first=self.rows_first, moved=moved
        )
        # also where there is one block: the same inputs as other encodings have, so that equal layouts are equal
        return put_above(own, shape, blocks)


@lru_cache(maxsize=1024)
def _tiled(
    fragment: LinearLayout,
    warps: Shape,
    shape: Shape,
    inner: int | None,
    *,
    rows_first: bool,
    moved: Shape = (),
) -> LinearLayout:
    """``fragment`` for every warp, then repeated until it covers ``shape``: along ``inner`` (k) first, if given.

    ``moved``: the columns' bits in the tensor, see :attr:`MatrixEncoding.column_bits`.
    """
    rank = len(shape)
    names = dim_names(rank)
    first = rank - 1 if inner is None else inner
    order = [first, *(d for d in reversed(range(rank)) if d != first)]
    own = {_DIMS[0]: names[rank - 2], _DIMS[1]: names[rank - 1]}
    layout = fragment.rename_outs({d: f"own{i}" for i, d in enumerate(own)})
    layout = layout.rename_outs({f"own{i}": d for i, d in enumerate(own.values())})
    for name in names[: rank - 2]:
        layout *= LinearLayout.identity1d(1, REGISTER, name)
    layout = layout.transpose_outs([names[d] for d in order])
    for d in range(rank) if rows_first else reversed(range(rank)):
        spread = LinearLayout.zeros1d if d == inner else LinearLayout.identity1d
        layout *= spread(warps[d], WARP, names[d])
    if moved:
        layout = _with_columns(layout, names[-1], moved)
    return distributed.fit(layout, dict(zip(names, shape, strict=True)))


def _with_columns(layout: LinearLayout, name: str, moved: Shape) -> LinearLayout:
    """``layout`` with bit i of dimension ``name`` where ``moved`` says; bits beyond stay."""
    outs = list(layout.out_dims)
    place = outs.index(name)

    def renamed(column: int) -> int:
        low = sum((column >> i & 1) << bit for i, bit in enumerate(moved))
        return column >> len(moved) << len(moved) | low

    bases = {
        dim: [tuple(renamed(v) if i == place else v for i, v in enumerate(basis)) for basis in given]
        for dim, given in layout.bases.items()
    }
    return LinearLayout.from_bases(bases, layout.out_sizes)
