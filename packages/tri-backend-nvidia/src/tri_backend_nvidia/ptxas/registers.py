"""Fewer registers for one CTA more: ptxas does not know how many CTAs of a kernel a multiprocessor could hold.

Registers are handed out to warps in steps, so a kernel that ptxas gives a few more than a step leaves room for a CTA
unused: of 1024 threads with 34 registers a multiprocessor of Hopper holds one CTA, with 32 two.  What runs beside each
other hides what the other waits for, so such a kernel is assembled again with a limit (PTX ISA, ``.maxnreg``), and that
stays unless it spills more than two values.
"""

from __future__ import annotations

import re

from tri_backend_nvidia.ptxas.report import Usage
from tri_core.api import ComputeUnit
from tri_core.occupancy import most_registers, occupancy

__all__ = ["fewer_registers", "limited", "pays"]

#: CTAs that are resident then, to those before, at least; one more of many is worth less than what ptxas may lose
_GAIN = 4 / 3
#: of the registers that ptxas took, what it has to do with at least: with fewer it spills, or loads later
_SHARE = 0.9
#: bytes that a thread may spill for it: two values that live long
_SPILLS = 8
_THREADS = re.compile(r"^\.reqntid (\d+)", re.MULTILINE)
#: who says how many registers there are: the kernel's author, or code that moves them among warp groups
_DECIDED = re.compile(r"^\.(?:maxnreg|minnctapersm) |setmaxnreg", re.MULTILINE)


def fewer_registers(unit: ComputeUnit, *, warps: int, registers: int, shared: int) -> int | None:
    """The registers with which ``unit`` holds more CTAs of ``warps`` warps and ``shared`` bytes than with ``registers``; None where it takes far fewer."""
    now = occupancy(unit, warps=warps, registers=registers, shared=shared)
    if now.limit != "registers" or not now.blocks or (now.blocks + 1) / now.blocks < _GAIN:
        return None
    most = most_registers(unit, (now.blocks + 1) * warps)
    if most < _SHARE * registers:
        return None
    then = occupancy(unit, warps=warps, registers=most, shared=shared)
    return most if then.blocks > now.blocks else None


def limited(ptx: str, usage: Usage, unit: ComputeUnit, shared: int) -> str | None:
    """``ptx`` of a kernel that takes ``usage`` and ``shared`` bytes, with a limit for its registers; None: as it is.

    Spilling kernels stay, and those whose registers are decided elsewhere.
    """
    threads = _THREADS.findall(ptx)
    if len(threads) != 1 or usage.spill_stores or usage.spill_loads or _DECIDED.search(ptx):
        return None
    warps = -(-int(threads[0]) // 32)
    most = fewer_registers(unit, warps=warps, registers=usage.registers, shared=max(shared, usage.shared))
    return None if most is None else _THREADS.sub(rf"\g<0>\n.maxnreg {most}", ptx)


def pays(denser: Usage) -> bool:
    """Whether a kernel assembled with the limit, which takes ``denser``, is to be preferred."""
    return denser.spill_stores <= _SPILLS and denser.spill_loads <= 2 * _SPILLS
