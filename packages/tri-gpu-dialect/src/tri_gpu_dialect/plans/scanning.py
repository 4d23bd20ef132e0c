"""Plan of an inclusive scan along one axis: one step per bit of the coordinate, the lowest first.

After the steps for the bits below k, every element knows the scan within its aligned block of ``2 ** k``
and the block's total.  The step for bit k takes the total of the block that differs in bit k alone: the
element in the later block puts it before its own scan, and both get the common total.  Where the bit is a
register's, the other block is another register; where it is a lane's, a shuffle fetches the total; the
bits of warps go through shared memory, neighbouring ones together.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby

from tri_core.errors import Unsupported
from tri_core.lazy_dataclasses import dataclass
from tri_gpu_dialect.layouts import LANE, REGISTER, WARP, LinearLayout
from tri_gpu_dialect.plans.conversion import normalized
from tri_gpu_dialect.plans.reduction import split

__all__ = ["ScanPlan", "ScanStep", "WarpStep", "plan_scan"]


@dataclass(frozen=True)
class ScanStep:
    """One bit of the coordinate, held by bit ``bit`` of input ``dim`` (register or lane)."""

    dim: str
    bit: int


@dataclass(frozen=True)
class WarpStep:
    """Neighbouring bits of the coordinate that warps hold.

    ``slot`` sends (register, lane, warp) to the place of a block's total in shared memory, its lowest
    ``bits`` being the block's number among the ``2 ** bits`` that this step joins, and the next ones those of lanes.
    """

    bits: int
    slot: LinearLayout

    @property
    def slots(self) -> int:
        """Totals in shared memory."""
        return 1 << self.slot.out_bits


@dataclass(frozen=True)
class ScanPlan:
    """The steps, in order."""

    steps: tuple[ScanStep | WarpStep, ...]

    def scratch_bytes(self, element_bytes: Sequence[int]) -> int:
        """Shared memory needed for operands of these element sizes."""
        slots = max((s.slots for s in self.steps if isinstance(s, WarpStep)), default=0)
        return sum(-(-slots * size // 16) * 16 for size in element_bytes)


@lru_cache(maxsize=1024)
def plan_scan(layout: LinearLayout, axis: int) -> ScanPlan:
    """The plan for a scan along dimension ``axis``; Unsupported when a bit of it is not held by one input."""
    along, kept = split(normalized(layout), axis)
    owners = [_owner(along, kept, bit, axis) for bit in range(along.out_bits)]
    steps: list[ScanStep | WarpStep] = []
    first = 0
    for dim, group in groupby(owners, key=lambda owner: owner[0]):
        bits = [bit for _, bit in group]
        if dim == WARP:
            steps.append(WarpStep(len(bits), _slot(along, kept, first, len(bits))))
        else:
            steps += [ScanStep(dim, bit) for bit in bits]
        first += len(bits)
    return ScanPlan(tuple(steps))


def _owner(along: LinearLayout, kept: LinearLayout, bit: int, axis: int) -> tuple[str, int]:
    """The input bit that holds bit ``bit`` of the coordinate, alone and nothing else."""
    holders = [
        (dim, i, column, other)
        for dim in along.in_dims
        for i, (column, other) in enumerate(zip(along.packed(dim), kept.packed(dim), strict=True))
        if column >> bit & 1
    ]
    if len(holders) != 1 or holders[0][2] != 1 << bit or holders[0][3]:
        raise Unsupported(
            f"a scan along axis {axis} of a tensor laid out as {along}",
            remedy="convert it to a blocked layout first",
        )
    dim, i, _, _ = holders[0]
    if dim not in (REGISTER, LANE, WARP):
        raise Unsupported("a scan across the blocks of a cluster", remedy="use num_ctas=1")
    return dim, i


def _slot(along: LinearLayout, kept: LinearLayout, first: int, joined: int) -> LinearLayout:
    """Inputs to slots: ``joined`` bits of the coordinate from bit ``first`` on, then all that is above them and the other coordinates.

    Of these the bits that lanes hold are the lowest: the slots of a warp's lanes are next to each other, in different banks.
    """
    above = along.out_bits - first
    columns = [(a >> first) | (k << above) for a, k in zip(along.columns, kept.columns, strict=True)]
    held = {bit for column in _columns_of(along, LANE, columns) for bit in _bits(column)}
    total = above + kept.out_bits
    order = [*range(joined), *sorted(range(joined, total), key=lambda bit: bit not in held)]
    place = {bit: to for to, bit in enumerate(order)}
    moved = tuple(sum(1 << place[bit] for bit in _bits(column)) for column in columns)
    return LinearLayout(along.ins, (("slot", total),), moved)


def _columns_of(layout: LinearLayout, dim: str, columns: Sequence[int]) -> Sequence[int]:
    """Those of ``columns``, one for each input bit of ``layout``, that belong to input ``dim``."""
    start = 0
    for name, bits in layout.ins:
        if name == dim:
            return columns[start : start + bits]
        start += bits
    return ()


def _bits(number: int) -> list[int]:
    return [bit for bit in range(number.bit_length()) if number >> bit & 1]
