"""The encoding of shared memory that Triton's TTGIR has on AMD: ``#ttg.amd_rotating_shared``."""

# No `from __future__ import annotations` here: the bindings read the annotations as objects.

from dataclasses import replace

from tri_backend_amd.dialect.amdg import AMDG
from tri_core.lazy_dataclasses import dataclass
from tri_gpu_dialect.encodings import SharedEncoding, encoding
from tri_gpu_dialect.layouts import OFFSET, LinearLayout, shared

__all__ = ["RotatingShared"]

Shape = tuple[int, ...]


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
