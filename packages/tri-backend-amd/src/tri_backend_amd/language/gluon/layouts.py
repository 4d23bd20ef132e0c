"""Records of the layouts that AMD's matrix instructions have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tri.experimental.gluon.layouts import DistributedLayout, stands_for
from tri_backend_amd.mfma.encoding import AmdMfma
from tri_core.errors import CompilationError

__all__ = ["AMDMFMALayout"]


@dataclass(frozen=True)
class AMDMFMALayout(DistributedLayout):
    """Results of MFMA: ``version`` 1 to 4 are gfx908, gfx90a, gfx942 and gfx950, ``instr_shape`` is m, n, k.

    With ``transposed`` a lane holds neighbours along a row, else along a column; ``element_bitwidth`` is 32, or 64 of f64.
    """

    version: Any
    instr_shape: Any
    transposed: Any
    warps_per_cta: Any
    element_bitwidth: Any = None
    tiles_per_warp: Any = None
    cga_layout: Any = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "element_bitwidth", self.element_bitwidth or 32)
        object.__setattr__(self, "tiles_per_warp", self.tiles_per_warp or (1,) * len(self.warps_per_cta))
        super().__post_init__()

    def encoding(self) -> AmdMfma:
        """``#ttg.amd_mfma``."""
        return AmdMfma(
            version=self.version,
            warps_per_cta=self.warps_per_cta,
            instr_shape=self.instr_shape,
            is_transposed=bool(self.transposed),
            tiles_per_warp=self.tiles_per_warp if any(n != 1 for n in self.tiles_per_warp) else (),
            element_bit_width=self.element_bitwidth,
            cga_layout=self.cga_layout,
        )

    def verify(self) -> None:
        """CompilationError for what no instruction has."""
        try:
            self.encoding()
        except ValueError as error:
            raise CompilationError(f"AMDMFMALayout: {error}", remedy=f"the arguments are {self!r}") from error

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.warps_per_cta)


@stands_for(AmdMfma)
def _result(e: AmdMfma) -> AMDMFMALayout:
    return AMDMFMALayout(
        e.version,
        e.instr_shape,
        e.is_transposed,
        e.warps_per_cta,
        e.element_bit_width,
        e.tiles_per_warp,
        e.cga_layout,
    )
