"""Cost of a shared-memory access: vector widths and bank conflicts, from layouts alone.

Shared memory is ``banks`` banks of ``bank_bytes`` each; a warp's access is served in phases of consecutive
lanes that ask for at most one row of all banks, and a phase takes as many cycles as the most distinct
words asked of one bank.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from tri_core.lazy_dataclasses import dataclass
from tri_gpu_dialect.layouts import gf2
from tri_gpu_dialect.layouts.linear import LANE, REGISTER, LinearLayout

if TYPE_CHECKING:
    from tri_core.api import Target

__all__ = ["Banks", "VectorAccess", "bank_conflicts", "vector_access"]


@dataclass(frozen=True)
class Banks:
    """The geometry of shared memory: ``count`` banks of ``bytes_per_bank``, ``access_bytes`` a thread's widest access.

    ``row_bytes`` is what all banks give in one cycle.
    """

    count: int = 32
    bytes_per_bank: int = 4
    access_bytes: int = 16

    @property
    def row_bytes(self) -> int:
        """Bytes served in one cycle."""
        return self.count * self.bytes_per_bank

    @classmethod
    def of(cls, target: Target | None) -> Banks:
        """Those of the shared memory of ``target``; of a made-up unit where nothing is said."""
        memory = None if target is None else target.spec.memory("shared")
        return cls() if memory is None else cls(memory.banks, memory.bank_bytes, memory.access_bytes)


@dataclass(frozen=True)
class VectorAccess:
    """Grouping of a thread's registers into aligned vectors of memory.

    ``conversion`` maps (register, lane, warp, ...) to offset; ``width`` is the elements of one vector (a
    power of two); ``groups`` lists, for each vector, its registers in the order of their offsets.
    """

    conversion: LinearLayout
    width: int
    groups: tuple[tuple[int, ...], ...]


def vector_access(registers: LinearLayout, shared: LinearLayout, max_width: int) -> VectorAccess:
    """The widest aligned vectors, of at most ``max_width`` elements, between a register and a shared layout.

    A vector of ``2**v`` elements needs the low ``v`` offset bits to be set by registers alone.  Registers
    that hold copies of others are in no group.  ValueError where ``shared`` does not reach an output of ``registers``.
    """
    conversion = registers.invert_and_compose(shared)
    others = 0
    for dim in conversion.in_dims:
        if dim != REGISTER:
            for column in conversion.packed(dim):
                others |= column
    own = conversion.packed(REGISTER)
    width = 1
    echelon = gf2.Echelon.of(own)
    while width * 2 <= max_width and not others & width and echelon.solve(width) is not None:
        width *= 2
    return VectorAccess(conversion, width, _groups(conversion, width))


def _groups(conversion: LinearLayout, width: int) -> tuple[tuple[int, ...], ...]:
    found: dict[int, dict[int, int]] = defaultdict(dict)
    for register, offset in enumerate(conversion.images(REGISTER)):
        found[offset // width].setdefault(offset % width, register)
    return tuple(tuple(group[i] for i in range(width)) for group in found.values())


def bank_conflicts(
    registers: LinearLayout,
    shared: LinearLayout,
    bitwidth: int,
    banks: Banks = Banks(),
    max_vector_bits: int = 128,
) -> int:
    """Cycles of a phase of an access, 1 being conflict-free.

    ``bitwidth`` is that of an element, ``max_vector_bits`` the widest access of a thread.  The first phase of
    the first vector tells all: the map being linear, others only differ by an xor, which swaps banks and rows
    as wholes.  ValueError where ``shared`` does not reach an output of ``registers``.
    """
    access = vector_access(registers, shared, max(max_vector_bits // bitwidth, 1))
    vector_bytes = max(access.width * bitwidth // 8, 1)
    per_phase = max(banks.row_bytes // max(vector_bytes, banks.bytes_per_bank), 1)
    lanes = access.conversion.images(LANE)[:per_phase]
    return _cycles([lane * bitwidth // 8 for lane in lanes], vector_bytes, banks)


def _cycles(starts: list[int], vector_bytes: int, banks: Banks) -> int:
    words = {
        byte // banks.bytes_per_bank
        for start in starts
        for byte in range(start, start + vector_bytes, min(banks.bytes_per_bank, vector_bytes))
    }
    per_bank: dict[int, int] = defaultdict(int)
    for word in words:
        per_bank[word % banks.count] += 1
    return max(per_bank.values())
