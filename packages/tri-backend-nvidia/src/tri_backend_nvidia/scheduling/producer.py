"""How many warps and registers a producer of blocks gets beside the consumers."""

from __future__ import annotations

from tri_gpu_dialect.policy import Specialization

__all__ = ["producer"]

#: ``setmaxnreg`` is for groups of this many warps
_GROUP = 4
#: registers of a multiprocessor; what a producer keeps of them, per thread; most that a thread can have
_REGISTERS, _PRODUCER, _MOST = 65536, 40, 240
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
        left = share * total - _PRODUCER * _GROUP
        registers = (min(left // num_warps // 8 * 8, _MOST), _PRODUCER)
    return Specialization(warps=1, reserved=_GROUP, registers=registers)
