"""Occupancy: the number of CTAs of a kernel on one unit of a device, and the resource that limits it.

The model is the one that vendors publish for their occupancy calculators: registers and warps are those of a unit's
partitions, shared memory and CTAs those of the unit.
"""

from __future__ import annotations

from collections.abc import Mapping

from tri_core.errors import OptionError
from tri_core.lazy_dataclasses import dataclass
from tri_core.target import ComputeUnit

__all__ = ["Occupancy", "most_registers", "occupancy", "warps_of_registers"]


@dataclass(frozen=True, kw_only=True)
class Occupancy:
    """``blocks`` CTAs per unit, which are ``warps`` of at most ``max_warps``.

    ``limit`` is the resource that allows no more: ``warps``, ``registers``, ``shared`` or ``blocks``; ``rooms`` how many
    CTAs each of them has room for.  ``unknown`` names those that are not known.
    """

    blocks: int
    warps: int
    max_warps: int
    limit: str
    rooms: Mapping[str, int]
    unknown: tuple[str, ...] = ()

    @property
    def share(self) -> float:
        """Resident warps as a share of what the unit can hold."""
        return self.warps / self.max_warps


def occupancy(unit: ComputeUnit, *, warps: int, registers: int | None, shared: int | None) -> Occupancy:
    """Occupancy of ``unit`` by CTAs of ``warps`` warps with ``registers`` per thread and ``shared`` bytes
    each.

    None is for what is not known.  OptionError for a CTA without warps.
    """
    if warps < 1:
        raise OptionError(f"a CTA of {warps} warps has no occupancy")
    max_warps = unit.partitions * unit.warps
    rooms = {"warps": max_warps // warps}
    if registers is not None:
        rooms["registers"] = warps_of_registers(unit, registers) // warps
    if shared is not None and (taken := _rounded(shared + unit.shared_reserved, unit.shared_unit)):
        rooms["shared"] = unit.shared // taken
    rooms["blocks"] = unit.blocks
    blocks = min(rooms.values())
    given = {"registers": registers, "shared": shared}
    return Occupancy(
        blocks=blocks,
        warps=blocks * warps,
        max_warps=max_warps,
        limit=next(name for name, room in rooms.items() if room == blocks),
        rooms=rooms,
        unknown=tuple(name for name, value in given.items() if value is None),
    )


def warps_of_registers(unit: ComputeUnit, registers: int) -> int:
    """Warps that ``unit`` holds if each thread has ``registers``."""
    per_thread = _rounded(max(registers, 1), unit.register_unit)
    return unit.partitions * min(unit.warps, unit.registers // per_thread)


def most_registers(unit: ComputeUnit, warps: int) -> int:
    """Registers per thread at which ``unit`` still holds ``warps`` warps; 0 where it never does."""
    in_partition = -(-warps // unit.partitions)
    if in_partition > unit.warps:
        return 0
    return unit.registers // in_partition // unit.register_unit * unit.register_unit


def _rounded(amount: int, unit: int) -> int:
    return -(-amount // unit) * unit
