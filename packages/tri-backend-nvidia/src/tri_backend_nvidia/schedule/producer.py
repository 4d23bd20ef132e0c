"""Number of warps and registers of a producer of blocks beside the consumers."""

from __future__ import annotations

from tri_gpu_dialect.policies.async_units import Specialization

__all__ = ["producer"]

#: ``setmaxnreg`` is for groups of this many warps
_GROUP = 4
#: registers of a multiprocessor, and the most that a thread can have
_REGISTERS, _MOST = 65536, 240
#: what a producer keeps per thread; less where the consumers get more for it
_PRODUCER, _FEWER = 40, 32
#: threads of a CTA
_MOST_WARPS = 32


def producer(num_warps: int) -> Specialization | None:
    """One warp that starts copies, of a warp group, for ``num_warps`` consumers; None where that is too many warps.

    The consumers' registers are what the producer's group leaves (``setmaxnreg``, whole warp groups only).
    """
    total = num_warps + _GROUP
    if total > _MOST_WARPS:
        return None
    registers = None
    share = _REGISTERS // (32 * total) // 8 * 8
    if num_warps % _GROUP == 0 and _PRODUCER < share < _MOST:
        # the first of equals: more than it needs is no harm
        registers = max(
            (_divided(share * total, num_warps, kept) for kept in (_PRODUCER, _FEWER)), key=lambda r: r[0]
        )
    return Specialization(warps=1, reserved=_GROUP, registers=registers)


def _divided(registers: int, consumers: int, kept: int) -> tuple[int, int]:
    """Registers of a thread, of ``consumers`` warps and of a producer's group that has ``kept``, where a lane of all warps has ``registers``."""
    return min((registers - kept * _GROUP) // consumers // 8 * 8, _MOST), kept
