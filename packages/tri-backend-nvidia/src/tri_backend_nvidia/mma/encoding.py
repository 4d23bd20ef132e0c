"""``#ttng.nvidia_mma`` (``#ttg.nvidia_mma`` in the text): results of ``mma.sync`` and ``wgmma``."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from dataclasses import replace

from tri_backend_nvidia.mma.mma_scales import scale_layout
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ext
from tri_gpu_dialect.encodings import MatrixEncoding, encoding
from tri_gpu_dialect.encodings.matrix import ACCUMULATOR
from tri_gpu_dialect.layouts import LANE, REGISTER, LinearLayout
from tri_gpu_dialect.layouts.cluster import ClusterBases, check_cluster

__all__ = ["TTNG", "WGMMA_M", "WGMMA_WIDTHS", "NvidiaMma"]

Shape = tuple[int, ...]

_ROWS, _COLUMNS = "dim0", "dim1"


class TTNG(ext.Dialect, name="ttng"):  # type: ignore[call-arg]  # the bindings are untyped
    """The block-level dialect of NVIDIA GPUs."""


#: the n of ``wgmma`` that are powers of two, and its m: four warps of 16 rows
WGMMA_WIDTHS, WGMMA_M = (8, 16, 32, 64, 128, 256), 64


@encoding(TTNG, "nvidia_mma", keys={"warps_per_cta": "warpsPerCTA", "cga_layout": "CGALayout"})
@dataclass(frozen=True)
class NvidiaMma(MatrixEncoding):
    """Results of ``mma.sync`` (version 2) or ``wgmma`` (version 3).

    ``instr_shape`` ends in m and n, ``[16, 8]``, or ``[8, 8]`` for f64; in version 3 it is a warp's share of one
    instruction, ``[16, n, k]``, and a multiple of four warps share the rows, in order.  ``cga_layout`` splits a tensor
    over the CTAs of a cluster, as in :class:`tri_gpu_dialect.encodings.Blocked`.

    With ``column_bits`` version 3 computes the transposed dot, ``D^T = B^T A^T``: rows of the instruction, and groups of
    four warps, are along the columns of the result, and operand 1 comes from registers.  Bit i of an instruction's row is bit
    ``column_bits[i]`` of the column, all six: an order in which B's rows are read from memory without conflicts.
    """

    version_major: int = 2
    version_minor: int = 0
    warps_per_cta: Shape = (1, 1)
    instr_shape: Shape = (16, 8)
    cga_layout: ClusterBases = ()
    column_bits: Shape = ()

    def __post_init__(self) -> None:
        if self.version_major not in (2, 3):
            raise ValueError(f"nvidia_mma of version {self.version_major}; 2 and 3 are supported")
        if self.version_major == 2 and self.instr_shape[-2:] not in ((16, 8), (8, 8)):
            raise ValueError(f"instrShape {list(self.instr_shape)} ends in neither 16, 8 nor 8, 8")
        if self.column_bits:
            self._check_transposed()
        if self.version_major == 3:
            self._check_group()
        check_cluster(self.cga_layout, len(self.warps_per_cta))

    def _check_group(self) -> None:
        if len(self.instr_shape) != 3 or self.instr_shape[0] != 16 or self.instr_shape[1] not in WGMMA_WIDTHS:
            raise ValueError(
                f"instrShape {list(self.instr_shape)}; [16, n, k] with n of 8 to 256 is expected"
            )
        if len(self.warps_per_cta) != 2 or self.warps_per_cta[self.is_transposed] % 4:
            name = "columns" if self.is_transposed else "rows"
            raise ValueError(f"warpsPerCTA {list(self.warps_per_cta)}; a multiple of 4 {name} is expected")

    def _check_transposed(self) -> None:
        if self.version_major != 3 or sorted(self.column_bits) != list(range(WGMMA_M.bit_length() - 1)):
            raise ValueError(
                f"columnBits {list(self.column_bits)}; an order of 0 to 5, and version 3, are expected"
            )

    @property
    def is_transposed(self) -> bool:
        """True if instructions compute the transposed dot."""
        return bool(self.column_bits)

    @property
    def in_order(self) -> "NvidiaMma":
        """The same instructions, with columns where the instructions have them: registers hold their parts in the same order."""
        return replace(self, column_bits=tuple(range(len(self.column_bits))))

    @property
    def rows_first(self) -> bool:
        """Warps of a group share rows."""
        return self.version_major == 3 and not self.is_transposed

    def reads_rows(self, operand: int, k_width: int) -> bool:
        """Bytes of a transposed dot's operand 1: ``ldmatrix`` transposes pairs of them."""
        return self.is_transposed and operand == 1 and k_width == 4

    def spread(self, shape: Shape, warps: Shape) -> "NvidiaMma":
        """Over ``warps``; instructions of version 3 as wide as a warp group's share of ``shape``, no wider than this."""
        if self.version_major == 2:
            return replace(self, warps_per_cta=warps)
        _, widest, k = self.instr_shape
        along = 0 if self.is_transposed else 1
        n = min(max(shape[along] // warps[along], WGMMA_WIDTHS[0]), widest)
        return replace(self, warps_per_cta=warps, instr_shape=(16, n, k))

    def fragment(self, role: int, k_width: int) -> LinearLayout:
        """As the PTX manual draws them: four lanes along the rows of memory, eight across."""
        if not self.is_transposed:
            return self._instruction(role, k_width)
        layout = self._instruction({0: 1, 1: 0}.get(role, role), k_width)
        return layout.rename_outs({_ROWS: _COLUMNS, _COLUMNS: _ROWS}).transpose_outs([_ROWS, _COLUMNS])

    def scale_layout(self, operand: int, shape: Shape) -> LinearLayout:
        """Layout of block scales for ``mma.sync``: see :mod:`.mma_scales`.  ValueError for other
        instructions, and clusters.
        """
        if self.version_major != 2 or self.instr_shape[-2:] != (16, 8) or self.cga_layout:
            raise ValueError(
                f"{self} has no dots with block scales; version 2, 16 x 8 and one CTA are expected"
            )
        return scale_layout(operand, shape, self.warps_per_cta)

    def _instruction(self, role: int, k_width: int) -> LinearLayout:
        """Element ownership of the operands and the result of the instruction itself."""
        tall = self.instr_shape[0 if self.version_major == 3 else -2] == 16
        if role == ACCUMULATOR:
            groups = self.instr_shape[1] // 8 if self.version_major == 3 else 1
            rows = (REGISTER, 1 + tall, _ROWS)
            pairs = ((REGISTER, 2, _COLUMNS), (LANE, 4, _COLUMNS), (LANE, 8, _ROWS))
            return _dot(*pairs, rows, (REGISTER, groups, _COLUMNS))
        inner, outer = (_COLUMNS, _ROWS) if role == 0 else (_ROWS, _COLUMNS)
        rows = (REGISTER, 1 + (tall and role == 0), outer)
        return _dot(
            (REGISTER, max(k_width, 1), inner),
            (LANE, 4, inner),
            (LANE, 8, outer),
            rows,
            (REGISTER, 1 + tall, inner),
        )


def _dot(*parts: tuple[str, int, str]) -> LinearLayout:
    layout = LinearLayout.identity1d(1, REGISTER, _ROWS)
    for in_dim, size, out_dim in parts:
        layout *= LinearLayout.identity1d(size, in_dim, out_dim)
    return layout.transpose_outs([_ROWS, _COLUMNS])
