"""``#ttig.dpas``: results of DPAS, the matrix instruction, and the operands that follow from them."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from dataclasses import replace

from tri_backend_intel.dialect.ttig import TTIG
from tri_core.lazy_dataclasses import dataclass
from tri_gpu_dialect.encodings import MatrixEncoding, encoding
from tri_gpu_dialect.encodings.matrix import ACCUMULATOR
from tri_gpu_dialect.layouts import LANE, REGISTER, LinearLayout

__all__ = ["DEPTH", "Dpas"]

Shape = tuple[int, ...]

_ROWS, _COLUMNS = "dim0", "dim1"

#: steps of the systolic array: channels of 32 bits along k of one instruction
DEPTH = 8
#: instructions beside each other of one warp, at most: larger blocks than 32 rows by 64 bytes are not loaded at once
_LARGEST = (4, 4)

_KEYS = {
    "repeat_count": "repeatCount",
    "systolic_depth": "systolicDepth",
    "execution_size": "executionSize",
    "ops_per_channel": "opsPerChan",
    "threads_per_warp": "threadsPerWarp",
    "warps_per_cta": "warpsPerCTA",
    "rep_cluster": "repCluster",
}


@encoding(TTIG, "dpas", keys=_KEYS)
@dataclass(frozen=True)
class Dpas(MatrixEncoding):
    """Results of ``repeat_count x execution_size``, a column in each lane; ``ops_per_channel`` elements along k are 32 bits.

    An instruction multiplies ``repeat_count`` rows of A, ``systolic_depth * ops_per_channel`` elements long, with all of B.
    Of B a lane has a column, ``ops_per_channel`` rows of it in each register of 32 bits.  Of A lanes have neighbours along
    k; where there are more lanes than those (32-bit elements, 16 lanes), the upper ones have the next row.
    ``rep_cluster``: instructions of one warp beside each other, down and across, before the next warp's.
    """

    repeat_count: int = 8
    systolic_depth: int = DEPTH
    execution_size: int = 16
    ops_per_channel: int = 2
    threads_per_warp: int = 16
    warps_per_cta: Shape = (1, 1)
    rep_cluster: Shape = (1, 1)

    def __post_init__(self) -> None:
        for name, wanted in (
            ("repeat_count", (1, 2, 4, 8)),
            ("systolic_depth", (DEPTH,)),
            ("execution_size", (8, 16)),
            ("ops_per_channel", (1, 2, 4)),
            ("threads_per_warp", (self.execution_size,)),
        ):
            if getattr(self, name) not in wanted:
                raise ValueError(
                    f"{_KEYS[name]} is {getattr(self, name)}; {' or '.join(map(str, wanted))} is expected"
                )
        if len(self.rep_cluster) != 2:
            raise ValueError(f"repCluster {list(self.rep_cluster)}; two numbers are expected")
        if self.repeat_count * self.depth < self.execution_size:
            raise ValueError("A has fewer elements than there are lanes; more rows are expected")

    @property
    def depth(self) -> int:
        """Elements along k of one instruction."""
        return self.systolic_depth * self.ops_per_channel

    @property
    def left_width(self) -> int:
        """Neighbours along k of A in a lane."""
        return max(self.depth // self.execution_size, 1)

    def spread(self, shape: Shape, warps: Shape) -> "Dpas":
        """With clusters as large as a warp's share of a result of ``shape``, up to 4 x 4."""
        sizes = (self.repeat_count, self.execution_size)
        own = [max(s // (size * w), 1) for s, size, w in zip(shape[-2:], sizes, warps[-2:], strict=True)]
        cluster = tuple(min(a, b) for a, b in zip(own, _LARGEST, strict=True))
        return replace(self, warps_per_cta=tuple(warps), rep_cluster=cluster)

    def fragment(self, role: int, k_width: int) -> LinearLayout:
        """Of a cluster of instructions; ``k_width`` changes nothing, the elements' size says it."""
        one = LinearLayout.identity1d
        down, across = self.rep_cluster
        lanes, rows = self.execution_size, self.repeat_count
        if role == ACCUMULATOR:
            layout = one(rows, REGISTER, _ROWS) * one(lanes, LANE, _COLUMNS)
            layout *= one(down, REGISTER, _ROWS) * one(across, REGISTER, _COLUMNS)
        elif role == 1:
            layout = one(self.depth, REGISTER, _ROWS) * one(lanes, LANE, _COLUMNS)
            layout *= one(across, REGISTER, _COLUMNS)
        else:
            along = self.depth // self.left_width
            layout = one(self.left_width, REGISTER, _COLUMNS) * one(along, LANE, _COLUMNS)
            layout *= one(lanes // along, LANE, _ROWS) * one(rows * along // lanes * down, REGISTER, _ROWS)
        return layout.transpose_outs([_ROWS, _COLUMNS])
