"""Scales of block-scaled dots: how they lie in shared memory, and in tensor memory.

PTX ISA 9.0, 9.7.16.10.7.2, "Scale Factor A ID", and .3, "Scale Factor B ID": four scales of a row are a word; row ``i`` of 128 is
in lane ``i % 32`` of column ``i / 32``, in every quarter of the lanes.  A copy (``tcgen05.cp.32x128b.warpx4``) takes 32 rows
of 16 bytes from shared memory, so a block of 128 rows with four scales each is 512 bytes in the order
of lanes.
"""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from tri_backend_nvidia.mma.encoding import TTNG
from tri_backend_nvidia.tcgen05.encoding import COLUMN, GROUP_WARPS, ROW
from tri_core.lazy_dataclasses import dataclass
from tri_gpu_dialect.encodings import Encoding, SharedEncoding, encoding
from tri_gpu_dialect.layouts import LANE, OFFSET, REGISTER, WARP, LinearLayout, dim_names

__all__ = [
    "BLOCK_BYTES",
    "BLOCK_ROWS",
    "LEAST_ROWS",
    "SCALE_SETS",
    "WORD",
    "ScalesShared",
    "TensorMemoryScales",
    "are_copied_as",
]

Shape = tuple[int, ...]
_Basis = tuple[int, int]

#: rows of a block, scales of a row in it, and its bytes; the fewest rows that fill the lanes of a copy
BLOCK_ROWS, WORD, BLOCK_BYTES, LEAST_ROWS = 128, 4, 512, 32
#: sets of columns for scales, which dots take round robin: so many dots with scales may be under way
SCALE_SETS = 2
_LANE_BITS = range(5)
#: bytes of a lane in a block
_LINE = BLOCK_BYTES // LEAST_ROWS


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
        used = self.words * WORD
        return ((used, _LINE - used),) if used < _LINE else ()

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

    @property
    def per_column(self) -> int:
        """Scales of a lane in a column."""
        return WORD

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

    def registers(self, shape: Shape, warps: int) -> LinearLayout:
        """From (register, lane, warp) to (dim0, dim1), as stores take scales of ``shape``: each of four warps has all of them, its
        quarter's, and more warps part the blocks as far as there are some."""
        _check(shape)
        blocks, more = (
            [*_word(shape[-2])[2:], *_blocks(shape)],
            range((warps // GROUP_WARPS).bit_length() - 1),
        )
        parted = [blocks.pop() if blocks else (0, 0) for _ in more]
        bases = {
            REGISTER: [*_word(LEAST_ROWS), *blocks],
            LANE: [(1 << i, 0) for i in _LANE_BITS],
            WARP: [(0, 0), (0, 0), *parted],
        }
        return LinearLayout.from_bases(bases, {"dim0": shape[-2], "dim1": shape[-1]})


def are_copied_as(layout: LinearLayout, shape: Shape) -> bool:
    """True if copies take scales of ``shape`` that lie in shared memory in ``layout``, from offsets in bytes to (dim0, dim1)."""
    places = layout.pseudo_invert()

    def offset(row: int, group: int) -> int:
        return int(places.apply({"dim0": row, "dim1": group})[OFFSET])

    rows, groups = ([1 << i for i in _bits(size)] for size in shape[-2:])
    inside = [
        *[
            (offset(v, 0), v * _LINE if v < LEAST_ROWS else v // LEAST_ROWS * WORD)
            for v in rows
            if v < BLOCK_ROWS
        ],
        *[(offset(0, v), v) for v in groups if v < WORD],
    ]
    others = [*[offset(v, 0) for v in rows if v >= BLOCK_ROWS], *[offset(0, v) for v in groups if v >= WORD]]
    return (
        shape[-2] >= BLOCK_ROWS
        and all(a == b for a, b in inside)
        and not any(v % BLOCK_BYTES for v in others)
    )
