"""Parts of tensors that are in the same threads as in the whole: which registers hold them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_, xor
from typing import Any

from tri_gpu_dialect import layouts
from tri_gpu_dialect.layouts import BLOCK, LANE, REGISTER, WARP, LinearLayout

__all__ = ["origins", "parts_of"]

_THREADS = (LANE, WARP, BLOCK)


def parts_of(whole: Any, part: Any, origin: Sequence[int]) -> list[int] | None:
    """For every register of a tensor of type ``part``, the one of type ``whole`` with the same element, ``part`` being at ``origin``.

    None where some thread has an element of the part and not of the whole.
    """
    big, small = layouts.of(whole), layouts.of(part)
    if any(big.bases.get(dim) != small.bases.get(dim) for dim in _THREADS):
        return None
    # what threads add to a register's place must not reach the bits that the origin adds to
    for dim, at in enumerate(origin):
        reach = reduce(or_, (basis[dim] for each in _THREADS for basis in small.bases.get(each, ())), 0)
        if at % (1 << reach.bit_length()):
            return None
    held = {place: register for register, place in enumerate(_places(big))}
    found = [held.get(tuple(p + o for p, o in zip(place, origin, strict=True))) for place in _places(small)]
    return None if None in found else [register for register in found if register is not None]


def _places(layout: LinearLayout) -> list[tuple[int, ...]]:
    """The element of every register of thread 0."""
    bases = layout.bases.get(REGISTER, ())
    rank = len(layout.out_dims)
    found = []
    for register in range(1 << len(bases)):
        chosen = [basis for bit, basis in enumerate(bases) if register >> bit & 1]
        found.append(tuple(reduce(xor, (basis[d] for basis in chosen), 0) for d in range(rank)))
    return found


def origins(whole: Any, part: Any) -> list[tuple[int, ...]]:
    """Origins of the tensors of type ``part`` that fill ``whole``, the last dimension first."""
    found: list[tuple[int, ...]] = [()]
    for size, total in zip(part.shape, whole.shape, strict=True):
        found = [(*place, at) for place in found for at in range(0, total, size)]
    return found
