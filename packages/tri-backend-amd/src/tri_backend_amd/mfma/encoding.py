"""``#amdg.amd_mfma`` (``#ttg.amd_mfma`` in the text): results of MFMA."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from dataclasses import replace

from tri_backend_amd.dialect.amdg import AMDG
from tri_backend_amd.mfma.forms import LANES
from tri_core.lazy_dataclasses import dataclass
from tri_gpu_dialect.encodings import MatrixEncoding, encoding
from tri_gpu_dialect.encodings.matrix import ACCUMULATOR
from tri_gpu_dialect.layouts import LANE, REGISTER, LinearLayout, TransposingRead
from tri_gpu_dialect.layouts.cluster import ClusterBases

__all__ = ["AmdMfma"]

Shape = tuple[int, ...]

_ROWS, _COLUMNS = "dim0", "dim1"
#: what m and n of an instruction may be
_SHAPES = ((32, 32), (16, 16), (4, 64), (64, 4))


@encoding(
    AMDG,
    "amd_mfma",
    keys={"warps_per_cta": "warpsPerCTA", "cga_layout": "CGALayout"},
)
@dataclass(frozen=True)
class AmdMfma(MatrixEncoding):
    """Results of MFMA by wavefronts of 64.

    ``version`` 1 to 4 are gfx908, gfx90a, gfx942, gfx950.  ``instr_shape`` is ``[m, n, k]``, m and n of 32, 32 or 16, 16
    or 4, 64 or 64, 4.  Results have ``element_bit_width`` 32, or 64 for f64 (16 x 16), which are dealt out
    differently.

    A lane holds 4 neighbours along a column.  With ``is_transposed`` the instruction computes ``D^T = B^T A^T``: A and B, which lie alike,
    change places, and the 4 neighbours are along a row, as stores and an operand of the next dot want them.  4 x 64 is the one, 64 x 4 the
    other, since only the instruction's first operand can be handed from one block to all 16.
    """

    version: int = 3
    warps_per_cta: Shape = (1, 1)
    instr_shape: Shape = (32, 32, 8)
    is_transposed: bool = True
    tiles_per_warp: Shape = ()
    element_bit_width: int = 32
    cga_layout: ClusterBases = ()

    def __post_init__(self) -> None:
        if self.version not in (1, 2, 3, 4):
            raise ValueError(f"amd_mfma of version {self.version}; 1 to 4 are supported")
        if len(self.instr_shape) != 3 or self.instr_shape[:2] not in _SHAPES:
            raise ValueError(
                f"instrShape {list(self.instr_shape)}; [m, n, k] with m and n of 32, 32 or 16, 16 or 4, 64 or 64, 4 is expected"
            )
        if min(self.instr_shape[:2]) == 4 and self.is_transposed != (self.instr_shape[0] == 64):
            raise ValueError(
                f"isTransposed = {str(self.is_transposed).lower()} with instrShape {list(self.instr_shape)}; 64 x 4 alone is transposed"
            )
        if self.element_bit_width not in (32, 64):
            raise ValueError(f"elementBitWidth {self.element_bit_width}; 32 or 64 is expected")
        if self.element_bit_width == 64 and self.instr_shape[:2] != (16, 16):
            raise ValueError(f"instrShape {list(self.instr_shape)} of f64; [16, 16, 4] is expected")
        if any(count != 1 for count in self.tiles_per_warp):
            raise ValueError(f"tilesPerWarp {list(self.tiles_per_warp)}; ones are expected")
        if self.cga_layout:
            raise ValueError("CGALayout: processors with MFMA have no clusters")

    @property
    def transposing_read(self) -> TransposingRead | None:
        """``ds_read_b64_tr_b16`` and ``ds_read_b64_tr_b8`` of gfx950, for operands whose lanes are along rows or columns."""
        return TransposingRead() if self.version == 4 and min(self.instr_shape[:2]) > 4 else None

    def scale_layout(self, operand: int, shape: Shape) -> LinearLayout:
        """A lane has the scale of its row, or column, and of the group along k that its number says (CDNA4 guide, ``MFMA_SCALE``)."""
        if self.version != 4 or min(self.instr_shape[:2]) == 4:
            return super().scale_layout(operand, shape)
        m, n = self.instr_shape[:2]
        alone = replace(self, instr_shape=(m, n, LANES // (m if operand == 0 else n)))
        if operand == 0:
            return alone.operand_layout(0, 1, shape)
        of_columns = alone.operand_layout(1, 1, shape[::-1])
        return of_columns.rename_outs({_ROWS: _COLUMNS, _COLUMNS: _ROWS}).transpose_outs([_ROWS, _COLUMNS])

    def fragment(self, role: int, k_width: int) -> LinearLayout:
        """As AMD's instruction set guides list registers and lanes."""
        m, n = self.instr_shape[:2]
        if role == ACCUMULATOR:
            return self._result(m, n)
        size, outer, inner = (m, _ROWS, _COLUMNS) if role == 0 else (n, _COLUMNS, _ROWS)
        width = max(k_width, 1)
        deep = LANES // size  # lanes along k
        repeats = max(self.instr_shape[2] // (width * deep), 1)
        return _made(
            (REGISTER, width, inner),
            (LANE, size, outer),
            (LANE, deep, inner),
            (REGISTER, repeats, inner),
        )

    def _result(self, m: int, n: int) -> LinearLayout:
        """Lanes are along the instruction's second operand: rows where it is transposed."""
        outer, inner = (_ROWS, _COLUMNS) if self.is_transposed else (_COLUMNS, _ROWS)
        across, along = (m, n) if self.is_transposed else (n, m)
        deep = LANES // across
        if self.element_bit_width == 64:
            return _made((LANE, across, outer), (LANE, deep, inner), (REGISTER, along // deep, inner))
        return _made(
            (REGISTER, 4, inner),
            (LANE, across, outer),
            (LANE, deep, inner),
            (REGISTER, along // (4 * deep), inner),
        )


def _made(*parts: tuple[str, int, str]) -> LinearLayout:
    layout = LinearLayout.identity1d(1, REGISTER, _ROWS) * LinearLayout.identity1d(1, LANE, _ROWS)
    for source, size, dim in parts:
        layout *= LinearLayout.identity1d(size, source, dim)
    return layout.transpose_outs([_ROWS, _COLUMNS])
