"""Boxes of a block: the copies by which it gets the layout in shared memory that its encoding gives.

A box lies row by row, its rows' pieces of 16 bytes being permuted by the swizzle.  It has at most 256 elements along each
dimension, and with a swizzle rows exactly as wide.  A block is one box or several of the same size: panels side by
side, stages one after the other.  CUDA driver API, cuTensorMapEncodeTiled.
"""

from __future__ import annotations

import itertools
from functools import lru_cache

from tri_core.lazy_dataclasses import dataclass
from tri_gpu_dialect.layouts import OFFSET, LinearLayout

__all__ = ["ALIGNMENT", "LARGEST", "RANK", "SHARED_ALIGNMENT", "Boxes", "boxes"]

Shape = tuple[int, ...]

#: bits of the address, from that of 128 on, that a swizzle of so many bytes adds to those from that of 16 on
_SWIZZLED_BITS = {0: 0, 32: 1, 64: 2, 128: 3}
SHARED_ALIGNMENT = 128
#: elements of a box along a dimension, dimensions of a tensor, bytes that its address and strides are multiples of.  CUDA driver
#: API, cuTensorMapEncodeTiled
LARGEST, RANK, ALIGNMENT = 256, 5, 16
_PIECE = 16
#: from the bit of 16 bytes to the bit that is added to it
_DISTANCE = 3


@dataclass(frozen=True)
class Boxes:
    """``box``: sizes in elements, the contiguous dimension last; ``swizzle`` in bytes, 0 for none.

    ``parts``: where each box begins in the block (coordinates) and in the buffer (bytes).
    """

    box: Shape
    swizzle: int
    parts: tuple[tuple[Shape, int], ...]

    @property
    def alignment(self) -> int:
        """Bytes that a buffer's address must be a multiple of: the swizzle is one of addresses."""
        return max(8 * self.swizzle, SHARED_ALIGNMENT)


@lru_cache(maxsize=1024)
def boxes(layout: LinearLayout, element_bytes: int) -> Boxes | None:
    """The boxes that give ``layout`` (offset in elements to coordinates); None where there are none."""
    found = (_boxes(layout, element_bytes, swizzle) for swizzle in _SWIZZLED_BITS)
    return next((f for f in found if f is not None), None)


def _boxes(layout: LinearLayout, element_bytes: int, swizzle: int) -> Boxes | None:
    bits = _plain_bits(layout, element_bytes, swizzle)
    if bits is None:
        return None
    rank = len(layout.out_dims)
    box, taken = _first_box(bits, rank, swizzle // element_bytes or LARGEST)
    row = box[-1] * element_bytes
    if row % _PIECE or (swizzle and row != swizzle):
        return None
    rest = bits[taken:]
    parts = []
    for chosen in itertools.product((0, 1), repeat=len(rest)):
        start = [0] * rank
        for (dim, value), used in zip(rest, chosen, strict=True):
            start[dim] += value * used
        offset = sum(element_bytes << (taken + i) for i, used in enumerate(chosen) if used)
        parts.append((tuple(start), offset))
    made = Boxes(box, swizzle, tuple(sorted(parts, key=lambda p: p[1])))
    return None if any(offset % made.alignment for _, offset in parts) else made


def _plain_bits(layout: LinearLayout, element_bytes: int, swizzle: int) -> list[tuple[int, int]] | None:
    """(dimension, step) of each offset bit once the swizzle is undone; None where it leaves more than that."""
    bases = layout.bases[OFFSET]
    first = (8 * _PIECE // element_bytes).bit_length() - 1
    bits = []
    for i, basis in enumerate(bases):
        plain = list(basis)
        if first <= i < first + _SWIZZLED_BITS[swizzle]:
            plain = [a ^ b for a, b in zip(plain, bases[i - _DISTANCE], strict=True)]
        steps = [(dim, value) for dim, value in enumerate(plain) if value]
        if len(steps) != 1 or steps[0][1] & (steps[0][1] - 1):
            return None
        bits.append(steps[0])
    return bits


def _first_box(bits: list[tuple[int, int]], rank: int, widest: int) -> tuple[Shape, int]:
    """The largest box that the lowest bits make, and how many they are."""
    box, current = [1] * rank, rank - 1
    for taken, (dim, value) in enumerate(bits):
        limit = min(widest, LARGEST) if dim == rank - 1 else LARGEST
        if dim > current or value != box[dim] or 2 * value > limit:
            return tuple(box), taken
        box[dim], current = 2 * value, dim
    return tuple(box), len(bits)
