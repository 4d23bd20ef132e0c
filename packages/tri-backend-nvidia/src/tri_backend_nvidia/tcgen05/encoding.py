"""``#ttng.tensor_memory_encoding``: accumulators in tensor memory; ``#ttng.tensor_memory_rows``: how registers hold them.

PTX ISA 9.0, 9.7.16.10.5, "Data Path Layout Organization", layout D: row i of 128 is in lane i.  9.7.16.2.3, shape
``.32x32b``: a thread has the columns of its warp's lane.
"""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from dataclasses import replace

from tri_backend_nvidia.mma.encoding import TTNG
from tri_core.errors import Unsupported
from tri_core.lazy_dataclasses import dataclass
from tri_gpu_dialect.encodings import Encoding, MatrixEncoding, encoding
from tri_gpu_dialect.encodings.matrix import ACCUMULATOR
from tri_gpu_dialect.layouts import LANE, REGISTER, LinearLayout

__all__ = [
    "BLOCK_M",
    "COLUMN",
    "GROUP_WARPS",
    "NARROWEST",
    "ROW",
    "WIDEST",
    "TensorMemory",
    "TensorMemoryRows",
]

Shape = tuple[int, ...]

#: rows of one instruction's accumulator, which are the lanes of tensor memory; its most columns; warps that share the lanes
BLOCK_M, WIDEST, GROUP_WARPS = 128, 256, 4
#: its fewest columns.  PTX ISA, tcgen05.mma: N of dense kinds with M of 128
NARROWEST = 16
#: input dimensions of the layout of an accumulator in tensor memory
ROW, COLUMN = "row", "column"
_LANES = 32


@encoding(TTNG, "tensor_memory_encoding")
@dataclass(frozen=True)
class TensorMemory(Encoding):
    """Blocks of ``block_m x block_n`` in columns beside each other, those along the rows first.

    ``unpacked``: an element has a column of 32 bits.  Layouts go from (row, column) of tensor memory, columns from the
    buffer's first.
    """

    block_m: int
    block_n: int
    unpacked: bool = True

    def __post_init__(self) -> None:
        if self.block_m != BLOCK_M:
            raise ValueError(f"blockM {self.block_m}; {BLOCK_M} is supported")
        if self.block_n & (self.block_n - 1) or not 1 <= self.block_n <= WIDEST:
            raise ValueError(f"blockN {self.block_n}; a power of two up to {WIDEST} is expected")
        if not self.unpacked:
            raise ValueError("packed elements; 32 bits each are supported")

    @classmethod
    def of(cls, shape: Shape) -> "TensorMemory":
        """For an accumulator of ``shape``, its instructions as wide as they can be."""
        return cls(BLOCK_M, min(shape[1], WIDEST))

    def columns(self, shape: Shape) -> int:
        """Number of columns of an accumulator of ``shape``."""
        return shape[0] // self.block_m * shape[1]

    def linear_layout(self, shape: Shape) -> LinearLayout:
        """From (row, column) to (dim0, dim1); ValueError for fewer rows than lanes."""
        m, n = shape
        if m < self.block_m or n < self.block_n:
            raise ValueError(f"{list(shape)} is smaller than a block of {self.block_m} x {self.block_n}")
        columns = [(0, 1 << i) for i in range(self.block_n.bit_length() - 1)]
        columns += [(self.block_m << i, 0) for i in range((m // self.block_m).bit_length() - 1)]
        columns += [(0, self.block_n << i) for i in range((n // self.block_n).bit_length() - 1)]
        rows = [(1 << i, 0) for i in range(self.block_m.bit_length() - 1)]
        return LinearLayout.from_bases({ROW: rows, COLUMN: columns}, {"dim0": m, "dim1": n})


@encoding(TTNG, "tensor_memory_rows", keys={"warps_per_cta": "warpsPerCTA"})
@dataclass(frozen=True)
class TensorMemoryRows(MatrixEncoding):
    """An accumulator read from tensor memory: each thread has ``columns`` of a row, each warp 32 rows, four warps 128."""

    warps_per_cta: Shape = (GROUP_WARPS, 1)
    columns: int = 1

    def __post_init__(self) -> None:
        if len(self.warps_per_cta) != 2 or self.warps_per_cta[0] % GROUP_WARPS:
            raise ValueError(f"warpsPerCTA {list(self.warps_per_cta)}; a multiple of 4 rows is expected")
        if self.columns < 1 or self.columns & (self.columns - 1):
            raise ValueError(f"columns {self.columns}; a power of two is expected")

    @property
    def rows_first(self) -> bool:
        """Warps share the lanes."""
        return True

    def spread(self, shape: Shape, warps: Shape) -> "TensorMemoryRows":
        """Over ``warps``: columns that follow each other in one thread."""
        return replace(self, warps_per_cta=warps, columns=max(shape[-1] // warps[-1], 1))

    def fragment(self, role: int, k_width: int) -> LinearLayout:
        """A warp's share of an accumulator; Unsupported for operands, which are not in registers."""
        if role != ACCUMULATOR:
            raise Unsupported("an operand in registers, of a dot whose accumulator is in tensor memory")
        rows = LinearLayout.identity1d(_LANES, LANE, "dim0")
        both = rows * LinearLayout.identity1d(self.columns, REGISTER, "dim1")
        return both.transpose_outs(["dim0", "dim1"])
