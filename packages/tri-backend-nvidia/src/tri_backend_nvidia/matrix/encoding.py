"""``#ttng.nvidia_mma`` (``#ttg.nvidia_mma`` in the text): results of ``mma.sync``."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from dataclasses import dataclass

from tri_core.mlir import ext
from tri_gpu_dialect.encodings import MatrixEncoding, encoding
from tri_gpu_dialect.encodings.matrix import ACCUMULATOR
from tri_gpu_dialect.layouts import LANE, REGISTER, LinearLayout

__all__ = ["TTNG", "NvidiaMma"]

Shape = tuple[int, ...]

_ROWS, _COLUMNS = "dim0", "dim1"


class TTNG(ext.Dialect, name="ttng"):  # type: ignore[call-arg]  # the bindings are untyped
    """The block-level dialect of NVIDIA GPUs."""


@encoding(TTNG, "nvidia_mma", keys={"warps_per_cta": "warpsPerCTA"})
@dataclass(frozen=True)
class NvidiaMma(MatrixEncoding):
    """Results of ``mma.sync`` (version 2): ``instr_shape`` ends in m and n, ``[16, 8]``, or ``[8, 8]`` for f64."""

    version_major: int = 2
    version_minor: int = 0
    warps_per_cta: Shape = (1, 1)
    instr_shape: Shape = (16, 8)

    def __post_init__(self) -> None:
        if self.version_major != 2:
            raise ValueError(f"nvidia_mma of version {self.version_major}; 2 is supported")
        if self.instr_shape[-2:] not in ((16, 8), (8, 8)):
            raise ValueError(f"instrShape {list(self.instr_shape)} ends in neither 16, 8 nor 8, 8")

    def fragment(self, role: int, k_width: int) -> LinearLayout:
        """As the PTX manual draws them: four lanes along the rows of memory, eight across."""
        tall = self.instr_shape[-2] == 16
        if role == ACCUMULATOR:
            return _product(
                (REGISTER, 2, _COLUMNS), (LANE, 4, _COLUMNS), (LANE, 8, _ROWS), (REGISTER, 1 + tall, _ROWS)
            )
        inner, outer = (_COLUMNS, _ROWS) if role == 0 else (_ROWS, _COLUMNS)
        rows = (REGISTER, 1 + (tall and role == 0), outer)
        return _product(
            (REGISTER, max(k_width, 1), inner),
            (LANE, 4, inner),
            (LANE, 8, outer),
            rows,
            (REGISTER, 1 + tall, inner),
        )


def _product(*parts: tuple[str, int, str]) -> LinearLayout:
    layout = LinearLayout.identity1d(1, REGISTER, _ROWS)
    for in_dim, size, out_dim in parts:
        layout *= LinearLayout.identity1d(size, in_dim, out_dim)
    return layout.transpose_outs([_ROWS, _COLUMNS])
