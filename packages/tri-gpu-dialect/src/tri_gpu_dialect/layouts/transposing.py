"""Reads of shared memory that exchange elements among lanes: by whom is addressed what another lane gets.

A group of lanes reads vectors one after the other: a matrix whose rows lie in memory.  Lane i of the group gets column i.  So of the lane's
elements only the columns' places in memory matter: between who addresses what and who gets it, bits of registers and of lanes have
changed places.
"""

from __future__ import annotations

from tri_core.lazy_dataclasses import dataclass
from tri_gpu_dialect.layouts.linear import LANE, REGISTER, LinearLayout

__all__ = ["TransposingRead"]


@dataclass(frozen=True)
class TransposingRead:
    """An instruction by which every ``lanes`` lanes transpose what they read, ``bits`` each.

    With n elements in ``bits``, lanes 0 to ``lanes - 1`` address the rows of a matrix of n x ``lanes`` elements, ``lanes / n`` lanes a row in
    order; lane i gets column i.  ``elements``: how many bits an element may have.
    """

    lanes: int = 16
    bits: int = 64
    elements: tuple[int, ...] = (8, 16)

    def count(self, bits: int) -> int:
        """Elements of ``bits`` that a lane reads, and gets; 0 where elements can't have as many."""
        return self.bits // bits if bits in self.elements else 0

    def addressed(self, reader: LinearLayout, bits: int) -> LinearLayout | None:
        """Layout of the addresses that lanes supply, if ``reader`` (register, lane, ... to coordinates) is
        the layout of the result; None if no such read gives that.

        The first registers of an instruction's n are the elements that a lane addresses.  Register r + i of ``reader``, r being a multiple of
        n, is got by the instruction whose elements are registers r to r + n - 1 here.
        """
        width, group = self.count(bits).bit_length() - 1, self.lanes.bit_length() - 1
        own, lanes = reader.packed(REGISTER), reader.packed(LANE)
        if width < 1 or len(own) < width or len(lanes) < group or not all((*own[:width], *lanes[:width])):
            return None
        columns = {dim: reader.packed(dim) for dim in reader.in_dims}
        columns[REGISTER] = (*lanes[:width], *own[width:])
        columns[LANE] = (*lanes[width:group], *own[:width], *lanes[group:])
        return LinearLayout(reader.ins, reader.outs, tuple(c for each in columns.values() for c in each))

    def suits(self, reader: LinearLayout, memory: LinearLayout, bits: int) -> bool:
        """True if ``reader`` can be read from ``memory`` (offsets to coordinates) by such reads: whole
        vectors are columns.
        """
        addressed = self.addressed(reader, bits)
        if addressed is None:
            return False
        conversion, count = addressed.invert_and_compose(memory), self.count(bits)
        first, *others = (
            conversion.packed(dim) for dim in (REGISTER, *(d for d in conversion.in_dims if d != REGISTER))
        )
        width = count.bit_length() - 1
        rest = [*first[width:], *(column for each in others for column in each)]
        return list(first[:width]) == [1 << i for i in range(width)] and not any(c % count for c in rest)
