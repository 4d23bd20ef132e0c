"""A shared-memory layout made for one pair of register layouts: wide vectors, no bank conflicts.

A tensor goes from registers in layout A to registers in layout B through shared memory.  Its elements
are vectors over GF(2) (packed coordinates); a shared layout is a basis of that space, cut in three:

* *vector* bits, the lowest offset bits: held by registers in both A and B, so that both sides move whole
  vectors;
* *bank* bits: which bank of one row of the memory a vector is in (the lowest of them fill up one word
  of a bank when vectors are narrower than that);
* *segment* bits: which row.

Two lanes collide when they want different vectors of one bank: when their difference is in the span of
vector and segment bits without being in that of the vector bits.  So conflicts are absent exactly when
the segment bits span a space that overlaps neither A's nor B's space of (lanes of one phase, vector).  The
largest such space is known: take what lies outside of both, and pair what only A has with what only B
has; a sum ``a ^ b`` of such a pair is in neither.  (The idea is that of the paper "Linear Layouts: Robust
Code Generation of Efficient Tensor Computation Using F2".)
"""

from __future__ import annotations

from functools import lru_cache

from tri_gpu_dialect.layouts import gf2
from tri_gpu_dialect.layouts.banks import Banks
from tri_gpu_dialect.layouts.linear import BLOCK, LANE, OFFSET, REGISTER, LinearLayout

__all__ = ["optimal_swizzle"]


@lru_cache(maxsize=1024)
def optimal_swizzle(
    source: LinearLayout,
    destination: LinearLayout,
    bitwidth: int,
    banks: Banks = Banks(),
    max_vector_bits: int = 128,
) -> LinearLayout:
    """The layout ``offset -> coordinates`` through which ``source`` is converted to ``destination``.

    Both are surjective onto the same outputs; ``bitwidth`` is that of an element (8 or more).  Input bits
    of ``block`` are left out: each block has shared memory of its own, and is converted by itself.  ValueError
    where the outputs differ.
    """
    if source.outs != destination.outs:
        raise ValueError(f"outputs differ: {source.out_sizes} and {destination.out_sizes}")
    whole = gf2.span([*_within_block(source), *_within_block(destination)])
    sides = [_Side(source), _Side(destination)]
    vector = _vector(sides, max(max_vector_bits // bitwidth, 1).bit_length() - 1)
    vector_bytes = max((1 << len(vector)) * bitwidth // 8, 1)
    bank_bits = max(banks.row_bytes // vector_bytes, 1).bit_length() - 1
    free = _basis_without(vector, sides, whole)
    word = _word(vector, sides, free, max(banks.bytes_per_bank // vector_bytes, 1).bit_length() - 1)
    phases = [side.phase(vector_bytes, banks) for side in sides]
    segment = _segment([*vector, *word], phases, free, len(whole) - len(vector) - bank_bits)
    bank = _fill([*vector, *word, *segment], [*sides[0].lanes, *free])
    columns = (*vector, *word, *bank, *segment)
    return LinearLayout(((OFFSET, len(columns)),), source.outs, columns)


class _Side:
    """One of the two register layouts, split into what registers, lanes and all other inputs span."""

    def __init__(self, layout: LinearLayout) -> None:
        self.registers = [c for c in layout.packed(REGISTER) if c]
        self.lanes = [c for c in layout.packed(LANE) if c]
        self.others = [
            c for dim in layout.in_dims if dim not in (REGISTER, BLOCK) for c in layout.packed(dim) if c
        ]

    def phase(self, vector_bytes: int, banks: Banks) -> list[int]:
        """The lane bits that vary among the lanes served together."""
        lanes = max(banks.row_bytes // max(vector_bytes, banks.bytes_per_bank), 1)
        return self.lanes[: lanes.bit_length() - 1]


def _within_block(layout: LinearLayout) -> list[int]:
    return [c for dim in layout.in_dims if dim != BLOCK for c in layout.packed(dim)]


def _vector(sides: list[_Side], most: int) -> list[int]:
    """Up to ``most`` bits that both sides hold in registers, independent of what lanes and warps choose."""
    shared = gf2.intersect(sides[0].registers, sides[1].registers)
    # a basis vector that is a register of the source keeps the vectors' registers in order
    candidates = [c for c in sides[0].registers if c in sides[1].registers] + shared
    chosen: list[int] = []
    fixed = [*sides[0].others, *sides[1].others]
    for candidate in candidates:
        if len(chosen) < most and gf2.rank([*fixed, *chosen, candidate]) > gf2.rank([*fixed, *chosen]):
            chosen.append(candidate)
    return chosen


def _basis_without(vector: list[int], sides: list[_Side], whole: list[int]) -> list[int]:
    """A basis of a complement of ``vector`` that holds every lane and warp of both sides."""
    pool = [*sides[0].others, *sides[1].others, *sides[0].registers, *sides[1].registers, *whole]
    return _fill(vector, pool)


def _word(vector: list[int], sides: list[_Side], free: list[int], most: int) -> list[int]:
    """Bits that fill one word of a bank when vectors are narrower: lanes in one word never collide."""
    lanes = gf2.intersect(sides[0].lanes, sides[1].lanes)
    return _fill(vector, [*lanes, *sides[0].lanes, *sides[1].lanes, *free])[:most]


def _fill(taken: list[int], pool: list[int]) -> list[int]:
    """Vectors of ``pool``, first come first served, independent of ``taken`` and each other."""
    return gf2.complement(taken, 0, pool)


def _segment(taken: list[int], phases: list[list[int]], free: list[int], wanted: int) -> list[int]:
    """``wanted`` bits whose span overlaps neither phase's span with ``taken``, as far as that is possible.

    They are made of lanes and ``free`` only, never of vector bits: these must stay with the registers.
    """
    first, second = ([*taken, *phase] for phase in phases)
    common = gf2.intersect(first, second)
    only_first, only_second = _fill(common, phases[0]), _fill(common, phases[1])
    outside = _fill([*first, *second], free)
    pairs = [a ^ b for a, b in zip(only_first, only_second, strict=False)]
    best = [*outside, *pairs][: max(wanted, 0)]
    # no more conflict-free room: the rest collides on one side or both, preferably on one
    longer = only_first if len(only_first) > len(only_second) else only_second
    more = _fill([*taken, *best], [*longer, *free])
    return [*best, *more[: max(wanted - len(best), 0)]]
