"""Common part of the ops on microscaling formats: the formats' numbers, and the scales that each thread
needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from tri_core.dialects.tt.enums import ScaleDotElemType
from tri_core.lazy_dataclasses import dataclass
from tri_core.mlir import ir
from tri_gpu_dialect import layouts
from tri_gpu_dialect.encodings import decode
from tri_gpu_dialect.layouts import LinearLayout
from tri_gpu_dialect.layouts.linear import dim_names
from tri_gpu_dialect.lowering.formats import FORMATS

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["GROUP", "SOURCES", "Layouts", "Source", "scales_like", "source_of"]

#: elements along k that share a scale
GROUP = 32
_E2M1 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)


@dataclass(frozen=True)
class Source:
    """A format: MLIR's element type of unpacked numbers (none for e2m1), and bits of each."""

    type: str
    bits: int

    def table(self) -> npt.NDArray[np.float64]:
        """The number of every pattern."""
        import numpy as np

        half = 1 << (self.bits - 1)
        if not self.type:
            numbers = list(_E2M1)
        else:
            format_ = FORMATS[self.type]
            numbers = [format_.value(p) if p <= format_.largest else np.nan for p in range(half)]
            if format_.infinity is not None:
                numbers[format_.infinity] = np.inf
        return np.array([*numbers, *(-n for n in numbers)])


#: by AMD's names
SOURCES = {"fp4": Source("", 4), "fp8": Source("f8E4M3FN", 8), "bf8": Source("f8E5M2", 8)}
_OF_SCALED = {ScaleDotElemType.E2M1: "fp4", ScaleDotElemType.E4M3: "fp8", ScaleDotElemType.E5M2: "bf8"}


def source_of(fp_type: int) -> str | None:
    """AMD's name of an element type of scaled dots; None for others."""
    return _OF_SCALED.get(ScaleDotElemType(fp_type))


@dataclass(frozen=True)
class Layouts:
    """The layout of the result of ``amdg.upcast_mxfp``, and its dimension along k."""

    result: LinearLayout
    k: int

    @classmethod
    def of(cls, op: ir.Operation) -> Self:
        """Those of ``op``: an operand 1 has k before the last dimension."""
        type_: Any = op.results[0].type
        return cls(layouts.of(type_), type_.rank - 1 - int(is_second_operand(type_)))


def is_second_operand(type_: Any) -> bool:
    """True if a tensor has the layout of operand 1 of a dot."""
    return getattr(decode(type_.encoding), "op_idx", 0) == 1


def scales_like(given: Layouts) -> LinearLayout:
    """Layout of scales (k last, a GROUP each) in which every register of the result has its scale in the
    register of the same index.
    """
    rank = len(given.result.out_dims)
    order = [d for d in range(rank) if d != given.k] + [given.k]

    def moved(basis: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(basis[d] // GROUP if d == given.k else basis[d] for d in order)

    bases = {name: [moved(basis) for basis in found] for name, found in given.result.bases.items()}
    sizes = list(given.result.out_sizes.values())
    shape = [max(sizes[d] // GROUP, 1) if d == given.k else sizes[d] for d in order]
    return LinearLayout.from_bases(bases, dict(zip(dim_names(rank), shape, strict=True)))
