"""``#amdg.amd_wmma`` (``#ttg.amd_wmma`` in the text): results of WMMA."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from dataclasses import replace

from tri_backend_amd.dialect.amdg import AMDG
from tri_backend_amd.wmma.forms import SIDE, neighbours
from tri_core.lazy_dataclasses import dataclass
from tri_gpu_dialect.encodings import MatrixEncoding, encoding
from tri_gpu_dialect.encodings.matrix import ACCUMULATOR
from tri_gpu_dialect.layouts import LANE, REGISTER, WARP, LinearLayout, distributed
from tri_gpu_dialect.layouts.linear import dim_names

__all__ = ["AmdWmma"]

Shape = tuple[int, ...]
Bases = tuple[tuple[int, ...], ...]

_ROWS, _COLUMNS = "dim0", "dim1"


@encoding(AMDG, "amd_wmma")
@dataclass(frozen=True)
class AmdWmma(MatrixEncoding):
    """Results of WMMA by wavefronts of 32, in tiles of 16 x 16: ``version`` 1 is RDNA3, 2 is RDNA4, 3 is CDNA5 (gfx1250).

    ``register`` and ``warp`` are bases in tiles: where a thread's further tiles, and other wavefronts', lie.  A lane holds 8 elements of a
    column, or with ``is_transpose`` of a row: every second one on RDNA3, neighbours since (AMD's guides of RDNA3 and RDNA4, on WMMA).
    Transposed, the instruction computes ``D^T = B^T A^T``: A and B, which lie alike, change places.
    """

    version: int
    is_transpose: bool = False
    register: Bases = ()
    warp: Bases = ()
    instr_shape: Shape = (SIDE, SIDE, SIDE)

    def __post_init__(self) -> None:
        if self.version not in (1, 2, 3):
            raise ValueError(f"amd_wmma of version {self.version}; 1 to 3 are supported")
        if len(self.instr_shape) != 3 or self.instr_shape[:2] != (SIDE, SIDE):
            raise ValueError(f"instrShape {list(self.instr_shape)}; [16, 16, k] is expected")

    def spread(self, shape: Shape, warps: Shape) -> "AmdWmma":
        """Warps count along the last dimension first."""
        bases: list[tuple[int, ...]] = []
        for d in reversed(range(len(warps))):
            bases += [
                tuple(1 << bit if i == d else 0 for i in range(len(warps)))
                for bit in range(warps[d].bit_length() - 1)
            ]
        return replace(self, warp=tuple(bases))

    def fragment(self, role: int, k_width: int) -> LinearLayout:
        """As AMD's instruction set guides list registers and lanes; of version 3 as LLVM's and Triton's sources have them."""
        if role == ACCUMULATOR:
            return self._result()
        outer, inner = (_ROWS, _COLUMNS) if role == 0 else (_COLUMNS, _ROWS)
        width = k_width or (SIDE if self.version == 1 else neighbours(self.instr_shape[2]))
        own = LinearLayout.identity1d(width, REGISTER, inner) * LinearLayout.identity1d(SIDE, LANE, outer)
        if self.version == 1:
            own *= LinearLayout.zeros1d(2, LANE, inner)
        else:
            own *= LinearLayout.identity1d(2, LANE, inner)
        depth = width * (1 if self.version == 1 else 2)
        own *= LinearLayout.identity1d(max(self.instr_shape[2] // depth, 1), REGISTER, inner)
        return own.transpose_outs([_ROWS, _COLUMNS])

    def _result(self) -> LinearLayout:
        outer, inner = (_ROWS, _COLUMNS) if self.is_transpose else (_COLUMNS, _ROWS)
        own = LinearLayout.identity1d(SIDE, LANE, outer)
        if self.version == 1:
            own *= LinearLayout.identity1d(2, LANE, inner) * LinearLayout.identity1d(8, REGISTER, inner)
        else:
            own *= LinearLayout.identity1d(8, REGISTER, inner) * LinearLayout.identity1d(2, LANE, inner)
        return own.transpose_outs([_ROWS, _COLUMNS])

    def linear_layout(self, shape: Shape) -> LinearLayout:
        """Tiles as the bases say, then repeated."""
        return self._over_tiles(ACCUMULATOR, 0, shape, None)

    def operand_layout(self, operand: int, k_width: int, shape: Shape) -> LinearLayout:
        """Operand 0 or 1: lane ``i % 16`` has row (column) i; ``k_width`` neighbours along k, both halves the same ones on RDNA3."""
        return self._over_tiles(operand, k_width, shape, len(shape) - 1 if operand == 0 else len(shape) - 2)

    def _over_tiles(self, role: int, k_width: int, shape: Shape, along_k: int | None) -> LinearLayout:
        """One instruction's fragment for the tiles of ``register`` and ``warp``; along k all of these hold the same."""
        rank, names = len(shape), dim_names(len(shape))
        if any(len(basis) != rank for basis in (*self.register, *self.warp)):
            raise ValueError(f"a result of WMMA of rank {rank}, whose ctaLayout has bases of another rank")
        own = self.fragment(role, k_width)
        tile = (*[1] * (rank - 2), own.out_size(_ROWS), own.out_size(_COLUMNS))

        def placed(given: Bases) -> list[tuple[int, ...]]:
            return [tuple(0 if d == along_k else v * tile[d] for d, v in enumerate(b)) for b in given]

        bases = {
            name: [(*[0] * (rank - 2), *basis) for basis in own.bases.get(name, ())]
            for name in (REGISTER, LANE)
        }
        bases[REGISTER] += [basis for basis in placed(self.register) if any(basis)]
        bases[WARP] = placed(self.warp)
        reach = [max((b[d] for given in bases.values() for b in given), default=0) for d in range(rank)]
        sizes = {name: 1 << reached.bit_length() for name, reached in zip(names, reach, strict=True)}
        # what is missing is repeated along k, or along rows, first
        order = [names[along_k]] if along_k is not None else []
        order += [name for name in reversed(names) if name not in order]
        whole = LinearLayout.from_bases(bases, sizes).transpose_outs(order)
        fitted = distributed.fit(whole, dict(zip(names, shape, strict=True)))
        return fitted.transpose_outs(names)
