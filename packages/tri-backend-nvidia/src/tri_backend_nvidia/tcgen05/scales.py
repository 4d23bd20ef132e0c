"""Scales of block-scaled dots: how they lie in shared memory, and in tensor memory.

PTX ISA 9.0, 9.7.16.10.7.2, "Scale Factor A ID", and .3, "Scale Factor B ID": four scales of a row are a word; row ``i`` of 128 is
in lane ``i % 32`` of column ``i / 32``, in every quarter of the lanes.  A copy (``tcgen05.cp.32x128b.warpx4``) takes 32 rows
of 16 bytes from shared memory, so a block of 128 rows with four scales each is 512 bytes in the order
of lanes.
"""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from tri_backend_nvidia.mma.encoding import TTNG
from tri_backend_nvidia.tcgen05.encoding import COLUMN, ROW
from tri_core.lazy_dataclasses import dataclass
from tri_gpu_dialect.encodings import Encoding, SharedEncoding, encoding
from tri_gpu_dialect.layouts import OFFSET, LinearLayout, dim_names

__all__ = [
    "BLOCK_BYTES",
    "BLOCK_ROWS",
    "LEAST_ROWS",
    "SCALE_SETS",
    "WORD",
    "ScalesShared",
    "TensorMemoryScales",
]

Shape = tuple[int, ...]
_Basis = tuple[int, int]

#: rows of a block, scales of a row in it, and its bytes; the fewest rows that fill the lanes of a copy
BLOCK_ROWS, WORD, BLOCK_BYTES, LEAST_ROWS = 128, 4, 512, 32
#: sets of columns for scales, which dots take round robin: so many dots with scales may be under way
SCALE_SETS = 2
_LANE_BITS = range(5)


def _bits(size: int) -> range:
    return range(size.bit_length() - 1)


def _check(shape: Shape) -> None:
    rows, groups = shape[-2:]
    if rows < LEAST_ROWS or groups < WORD:
        raise ValueError(f"scales of {list(shape)}; at least {LEAST_ROWS} rows of {WORD} are expected")


def _word(rows: int) -> list[_Basis]:
    """A row's four scales, then those of a lane: rows 32 apart."""
    return [(0, 1), (0, 2), *[(LEAST_ROWS << i, 0) for i in _bits(min(rows, BLOCK_ROWS) // LEAST_ROWS)]]


def _blocks(shape: Shape) -> list[_Basis]:
    """Blocks of rows, then of scales along k."""
    rows, groups = shape[-2:]
    down = [(BLOCK_ROWS << i, 0) for i in _bits(max(rows // BLOCK_ROWS, 1))]
    return [*down, *[(0, WORD << i) for i in _bits(groups // WORD)]]


@encoding(TTNG, "scales_shared")
@dataclass(frozen=True)
class ScalesShared(SharedEncoding):
    """Scales (rows, groups along k), a byte each, in the blocks that copies take; ``words`` of a lane's four are used."""

    words: int = BLOCK_ROWS // LEAST_ROWS

    def __post_init__(self) -> None:
        if self.words not in (1, 2, 4):
            raise ValueError(f"words {self.words}; 1, 2 or 4 is expected")

    @classmethod
    def of(cls, shape: Shape) -> "ScalesShared":
        """For scales of ``shape``."""
        return cls(min(shape[-2], BLOCK_ROWS) // LEAST_ROWS)

    @property
    def padding(self) -> tuple[tuple[int, int], ...]:
        """Those of a lane that there are no rows for."""
        used, line = self.words * WORD, BLOCK_BYTES // LEAST_ROWS
        return ((used, line - used),) if used < line else ()

    @property
    def alignment(self) -> int:
        """Eight rows of 16 bytes."""
        return 128

    def linear_layout(self, shape: Shape) -> LinearLayout:
        """From offset to (row, group), stages before; ValueError for fewer rows or scales than a copy takes."""
        _check(shape)
        bases = [*_word(shape[-2]), *[(1 << i, 0) for i in _LANE_BITS], *_blocks(shape)]
        outer = len(shape) - 2
        columns = [(*(0 for _ in range(outer)), *basis) for basis in bases]
        for d in reversed(range(outer)):
            columns += [tuple(1 << i if e == d else 0 for e in range(len(shape))) for i in _bits(shape[d])]
        return LinearLayout.from_bases(
            {OFFSET: columns}, dict(zip(dim_names(len(shape)), shape, strict=True))
        )


@encoding(TTNG, "tensor_memory_scales_encoding")
@dataclass(frozen=True)
class TensorMemoryScales(Encoding):
    """Scales in tensor memory.  Layouts go from (row, column), columns counted in bytes; the quarters have the same."""

    def columns(self, shape: Shape) -> int:
        """Number of columns of scales of ``shape``: a copy has four."""
        rows, groups = shape
        return max(rows // BLOCK_ROWS, 1) * (groups // WORD) * (BLOCK_BYTES // BLOCK_ROWS)

    def linear_layout(self, shape: Shape) -> LinearLayout:
        """From (row, column) to (dim0, dim1)."""
        _check(shape)
        rows, groups = shape
        lanes = [*[(1 << i, 0) for i in _LANE_BITS], (0, 0), (0, 0)]
        missing = [(0, 0)] * (len(_word(BLOCK_ROWS)) - len(_word(rows)))
        bases = {ROW: lanes, COLUMN: [*_word(rows), *missing, *_blocks(shape)]}
        return LinearLayout.from_bases(bases, {"dim0": rows, "dim1": groups})
