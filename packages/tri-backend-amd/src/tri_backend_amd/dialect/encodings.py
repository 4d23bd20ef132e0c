"""Encodings that Triton's TTGIR has beside MFMA's: ``#ttg.amd_rotating_shared`` and ``#ttg.amd_wmma``."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from dataclasses import dataclass, replace

from tri_backend_amd.dialect.amdg import AMDG
from tri_gpu_dialect.encodings import SharedEncoding, encoding
from tri_gpu_dialect.layouts import LANE, OFFSET, REGISTER, WARP, LinearLayout, distributed, shared
from tri_gpu_dialect.layouts.encoding import DistributedEncoding
from tri_gpu_dialect.layouts.linear import dim_names

__all__ = ["AmdWmma", "RotatingShared"]

Shape = tuple[int, ...]
Bases = tuple[tuple[int, ...], ...]

_LANES = 32
_SIDE = 16


@encoding(AMDG, "amd_rotating_shared")
@dataclass(frozen=True)
class RotatingShared(SharedEncoding):
    """As swizzled shared memory, but the pattern of ``max_phase`` phases is another one in each block of rows.

    The phase of a row is ``row / per_phase`` xor the number of its block, ``row / (per_phase * max_phase)``, both modulo ``max_phase``: then
    neither rows nor columns of a tile are all in one bank, and a writer and a reader of different orders have few conflicts.
    """

    vec: int
    per_phase: int
    max_phase: int
    order: Shape

    def __post_init__(self) -> None:
        if any(n < 1 or n & (n - 1) for n in (self.vec, self.per_phase, self.max_phase)):
            raise ValueError("vec, perPhase and maxPhase must be powers of two")
        if len(self.order) < 2 or sorted(self.order) != list(range(len(self.order))):
            raise ValueError(f"order {list(self.order)} is not a permutation of two or more dimensions")

    def permuted(self, order: Shape) -> "RotatingShared":
        """Rows run along the same elements."""
        return replace(self, order=tuple(order.index(d) for d in self.order))

    def linear_layout(self, shape: Shape) -> LinearLayout:
        """Rows one after the other, their groups of ``vec`` elements permuted; leading dimensions beyond ``order`` are slowest."""
        extra = len(shape) - len(self.order)
        order = tuple(d + extra for d in self.order) + tuple(reversed(range(extra)))
        plain = shared.row_major(shape, order)
        columns, rows = shape[order[0]], shape[order[1]]
        first = columns.bit_length() - 1
        bases = list(plain.bases[OFFSET])
        for bit in range(rows.bit_length() - 1):
            row = (1 << bit) // self.per_phase
            phase = row % self.max_phase ^ row // self.max_phase % self.max_phase
            basis = list(bases[first + bit])
            basis[order[0]] = phase * self.vec % columns
            bases[first + bit] = tuple(basis)
        return LinearLayout.from_bases({OFFSET: bases}, plain.out_sizes)


@encoding(AMDG, "amd_wmma")
@dataclass(frozen=True)
class AmdWmma(DistributedEncoding):
    """Results of WMMA by wavefronts of 32, in tiles of 16 x 16: ``version`` 1 is RDNA3, 2 is RDNA4.

    ``register`` and ``warp`` are bases in tiles: where a thread's further tiles, and other wavefronts', lie.  A lane holds 8 elements of a
    column, or with ``is_transpose`` of a row: every second one on RDNA3, neighbours on RDNA4 (AMD's guides of RDNA3 and RDNA4, on WMMA).
    There is no lowering of dots with it yet: such text is read, written and verified.
    """

    version: int
    is_transpose: bool = False
    register: Bases = ()
    warp: Bases = ()
    instr_shape: Shape = (16, 16, 16)

    def __post_init__(self) -> None:
        if self.version not in (1, 2):
            raise ValueError(f"amd_wmma of version {self.version}; 1 and 2 are supported")
        if len(self.instr_shape) != 3 or self.instr_shape[:2] != (_SIDE, _SIDE):
            raise ValueError(f"instrShape {list(self.instr_shape)}; [16, 16, k] is expected")

    def linear_layout(self, shape: Shape) -> LinearLayout:
        """Tiles as the bases say, then repeated."""
        outer, inner = ("dim1", "dim0")
        if self.is_transpose:
            outer, inner = inner, outer
        own = LinearLayout.identity1d(_SIDE, LANE, outer)
        if self.version == 1:
            own *= LinearLayout.identity1d(2, LANE, inner) * LinearLayout.identity1d(8, REGISTER, inner)
        else:
            own *= LinearLayout.identity1d(8, REGISTER, inner) * LinearLayout.identity1d(2, LANE, inner)
        return self._tiled(own, shape, (_SIDE, _SIDE), None)

    def operand_layout(self, operand: int, k_width: int, shape: Shape) -> LinearLayout:
        """Operand 0 or 1: lane ``i % 16`` has row (column) i; ``k_width`` neighbours along k, both halves the same ones on RDNA3."""
        outer, inner = ("dim0", "dim1") if operand == 0 else ("dim1", "dim0")
        width = k_width or (_SIDE if self.version == 1 else 8)
        own = LinearLayout.identity1d(width, REGISTER, inner) * LinearLayout.identity1d(_SIDE, LANE, outer)
        if self.version == 1:
            own *= LinearLayout.zeros1d(2, LANE, inner)
        else:
            own *= LinearLayout.identity1d(2, LANE, inner)
        depth = width * (1 if self.version == 1 else 2)
        own *= LinearLayout.identity1d(max(self.instr_shape[2] // depth, 1), REGISTER, inner)
        tile = (_SIDE, max(self.instr_shape[2], depth))
        return self._tiled(own, shape, tile if operand == 0 else tile[::-1], 1 if operand == 0 else 0)

    def _tiled(self, own: LinearLayout, shape: Shape, tile: Shape, along_k: int | None) -> LinearLayout:
        """``own`` for the tiles of ``register`` and ``warp``; along k all of these hold the same."""
        if len(shape) != 2:
            raise ValueError(f"a result of WMMA of rank {len(shape)}; 2 is supported")
        names = dim_names(2)
        own = own.transpose_outs(names)
        bases = {name: list(own.bases.get(name, ())) for name in (REGISTER, LANE)}

        def placed(given: Bases) -> list[tuple[int, ...]]:
            return [tuple(0 if d == along_k else v * tile[d] for d, v in enumerate(b)) for b in given]

        bases[REGISTER] += [basis for basis in placed(self.register) if any(basis)]
        bases[WARP] = placed(self.warp)
        reach = [max((b[d] for given in bases.values() for b in given), default=0) for d in range(2)]
        sizes = {name: 1 << reached.bit_length() for name, reached in zip(names, reach, strict=True)}
        # what is missing is repeated along k, or along rows, first
        order = [names[along_k]] if along_k is not None else []
        order += [name for name in reversed(names) if name not in order]
        whole = LinearLayout.from_bases(bases, sizes).transpose_outs(order)
        fitted = distributed.fit(whole, dict(zip(names, shape, strict=True)))
        return fitted.transpose_outs(names)
