"""Suitability of a layout for memory: the access pattern of a warp, from the layout alone."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from tri_core.lazy_dataclasses import dataclass
from tri_gpu_dialect.encodings import Encoding, Linear
from tri_gpu_dialect.layouts import LANE, REGISTER, LinearLayout, layout_for

__all__ = ["MADE_UP_LINES", "Lines", "stores_as_well", "within_warps"]

if TYPE_CHECKING:
    from tri_core.api import Target

#: the narrowest vector per thread that still fills lines with few instructions
MIN_VECTOR_BYTES = 8
MAX_VECTOR_BYTES = 16

#: elements of a thread for which as many stores cost less than a conversion through shared memory
FEW_ELEMENTS = 4


@dataclass(frozen=True)
class Lines:
    """Bytes that global memory moves at once for one warp's row: ``line``, longer runs gain nothing, and ``sector`` at least."""

    line: int = 128
    sector: int = 32

    @classmethod
    def of(cls, target: Target | None) -> Lines:
        """Those of the global memory of ``target``; of a made-up unit where nothing is said."""
        memory = None if target is None else target.spec.memory("global")
        return MADE_UP_LINES if memory is None else cls(memory.line_bytes, memory.sector_bytes)


MADE_UP_LINES = Lines()


@lru_cache(maxsize=1024)
def stores_as_well(
    candidate: Encoding, chosen: Encoding, shape: tuple[int, ...], bits: int, lines: Lines = MADE_UP_LINES
) -> bool:
    """True if storing ``shape`` elements of ``bits`` in ``candidate`` is as good as in ``chosen``.

    That is: along the dimension that ``chosen`` runs along, threads hold vectors of a good width, lanes
    hold neighbouring vectors of whole lines, and no more threads hold mere copies.  Or a thread has so few elements, in lanes
    that hold whole sectors, that a conversion, which makes warps wait for each other, would cost more than it saves: a number for each
    row of a tile.
    """
    new, old = layout_for(candidate, shape), layout_for(chosen, shape)
    fastest = _fastest(old)
    if fastest is None:
        return False
    vectors = [_run(layout, fastest, (REGISTER,)) * bits // 8 for layout in (new, old)]
    rows = [_run(layout, fastest, (REGISTER, LANE)) * bits // 8 for layout in (new, old)]
    wide_enough = min(vectors[1], MIN_VECTOR_BYTES) <= vectors[0] <= max(vectors[1], MAX_VECTOR_BYTES)
    few = new.in_size(REGISTER) <= FEW_ELEMENTS and rows[0] >= min(rows[1], lines.sector)
    return few or (wide_enough and rows[0] >= min(rows[1], lines.line) and _copies(new) <= _copies(old))


@lru_cache(maxsize=1024)
def within_warps(made: Encoding, chosen: Encoding, shape: tuple[int, ...], bits: int) -> Encoding:
    """``made`` with lanes and registers exchanged until threads hold vectors as wide as in ``chosen``; warps keep their elements.

    ``made`` itself where that takes more than exchanges of single bits.
    """
    new, old = layout_for(made, shape), layout_for(chosen, shape)
    fastest = _fastest(old)
    if fastest is None:
        return made
    start = sum(size for name, size in new.outs[: new.out_dims.index(fastest)])
    wanted = min(_run(old, fastest, (REGISTER,)), max(MAX_VECTOR_BYTES * 8 // bits, 1)).bit_length() - 1
    first = [1 << start + i for i in range(wanted)]
    columns = {name: list(new.packed(name)) for name in new.in_dims}
    registers, lanes = columns[REGISTER], columns[LANE]
    # the next neighbours along the dimension go to lanes, so that these hold neighbouring vectors
    others = [1 << start + i for i in range(wanted, dict(new.outs)[fastest])]
    spare = [c for c in others if c in registers]
    for unit in first:
        if unit in registers:
            continue
        if unit not in lanes or not spare:
            return made
        other = spare.pop(0)
        lanes[lanes.index(unit)], registers[registers.index(other)] = other, unit
    columns[REGISTER] = [*first, *(c for c in registers if c not in first)]
    flat = tuple(c for name in new.in_dims for c in columns[name])
    return Linear.of(LinearLayout(new.ins, new.outs, flat))


def _fastest(layout: LinearLayout) -> str | None:
    """The dimension of which the first register or lane makes the first step."""
    for in_dim in (REGISTER, LANE):
        for basis in layout.bases[in_dim]:
            steps = [name for name, value in zip(layout.out_dims, basis, strict=True) if value]
            if steps:
                return steps[0]
    return None


def _run(layout: LinearLayout, dim: str, in_dims: tuple[str, ...]) -> int:
    """Number of neighbouring coordinates along ``dim``, from an aligned start, that the inputs ``in_dims``
    hold.
    """
    units = {c for name in in_dims for c in layout.packed(name)}
    start = sum(bits for name, bits in layout.outs[: layout.out_dims.index(dim)])
    length = 0
    while length < dict(layout.outs)[dim] and 1 << (start + length) in units:
        length += 1
    return 1 << length


def _copies(layout: LinearLayout) -> int:
    masks = layout.free_variable_masks()
    return sum(mask.bit_count() for name, mask in masks.items() if name != REGISTER)
