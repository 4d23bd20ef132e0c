"""Registers by a limit that is said: fewer for one CTA more, or more where ptxas gave up and spills nearly all.

ptxas does not know how many CTAs of a kernel a multiprocessor could hold.
Registers are handed out to warps in steps, so a kernel that ptxas gives a few more than a step leaves room for a CTA
unused: of 1024 threads with 34 registers a multiprocessor of Hopper holds one CTA, with 32 two.  What runs beside each
other hides what the other waits for, so such a kernel is assembled again with a limit (PTX ISA, ``.maxnreg``), and that
stays unless it spills more than two values.

Where some hundred values more are live than a thread has registers, ptxas (12.9 to 13.5, sm_90a) may allocate 32 registers and
keep kilobytes on the stack, unless a limit is said; with the largest one it uses them all.  Such a kernel is assembled again, too.
"""

from __future__ import annotations

import re

from tri_backend_nvidia.ptxas.report import Usage
from tri_core.api import ComputeUnit
from tri_core.occupancy import most_registers, occupancy

__all__ = ["fewer_registers", "given_up", "limited", "pays", "spills_less"]

#: CTAs that are resident then, to those before, at least; one more of many is worth less than what ptxas may lose
_GAIN = 4 / 3
#: of the registers that ptxas took, what it has to do with at least: with fewer it spills, or loads later
_SHARE = 0.9
#: bytes that a thread may spill for it: two values that live long
_SPILLS = 8
#: registers that an instruction can name
_MOST = 255
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
    warps = _warps(ptx)
    if warps is None or usage.spill_stores or usage.spill_loads:
        return None
    most = fewer_registers(unit, warps=warps, registers=usage.registers, shared=max(shared, usage.shared))
    return None if most is None else _with_limit(ptx, most)


def given_up(ptx: str, usage: Usage, unit: ComputeUnit) -> str | None:
    """``ptx`` with the largest limit, where it spills with less than half of the registers that its threads may have; None: as it is."""
    warps = _warps(ptx)
    if warps is None or not usage.spill_stores:
        return None
    most = min(_MOST, most_registers(unit, warps))
    return _with_limit(ptx, most) if usage.registers < most // 2 else None


def _warps(ptx: str) -> int | None:
    """Warps of a CTA; None: ``ptx`` has several kernels, or says itself how many registers there are."""
    threads = _THREADS.findall(ptx)
    return None if len(threads) != 1 or _DECIDED.search(ptx) else -(-int(threads[0]) // 32)


def _with_limit(ptx: str, most: int) -> str:
    return _THREADS.sub(rf"\g<0>\n.maxnreg {most}", ptx)


def spills_less(made: Usage, before: Usage) -> bool:
    """Whether ``made`` stores fewer bytes to the stack."""
    return made.spill_stores < before.spill_stores


def pays(denser: Usage) -> bool:
    """Whether a kernel assembled with the limit, which takes ``denser``, is to be preferred."""
    return denser.spill_stores <= _SPILLS and denser.spill_loads <= 2 * _SPILLS
