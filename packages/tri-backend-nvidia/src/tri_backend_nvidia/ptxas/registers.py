"""Registers by a limit that is said: fewer for one CTA more, or more where ptxas gave up and spills nearly all.

ptxas does not know how many CTAs of a kernel a multiprocessor could hold.
Registers are handed out to warps in steps, so a kernel that ptxas gives a few more than a step leaves room for a CTA
unused: of 1024 threads with 34 registers a multiprocessor of Hopper holds one CTA, with 32 two.  What runs beside each
other hides what the other waits for, so such a kernel is assembled again with a limit (PTX ISA, ``.maxnreg``), and that
stays unless it spills more than two values.

Where some hundred values more are live than a thread has registers, ptxas (12.9 to 13.5, sm_90a) may allocate 32 registers and
keep kilobytes on the stack, unless a limit is said; with the largest one it uses them all.  Such a kernel is assembled again, too.

So is one whose many loads stand together: without a limit ptxas saves registers, and waits for each or two before it issues the
next; with one it issues all first.
"""

from __future__ import annotations

import re

from tri_backend_nvidia.ptxas.report import Usage
from tri_core.api import ComputeUnit
from tri_core.occupancy import most_registers, occupancy

__all__ = [
    "all_under_way",
    "fewer_registers",
    "given_up",
    "issues_more",
    "limited",
    "pays",
    "spills_less",
    "together",
]

#: CTAs that are resident then, to those before, at least; one more of many is worth less than what ptxas may lose
_GAIN = 4 / 3
#: of the registers that ptxas took, what it has to do with at least: with fewer it spills, or loads later
_SHARE = 0.9
#: bytes that a thread may spill for it: two values that live long
_SPILLS = 8
#: registers that an instruction can name
_MOST = 255
#: registers of loads that stand together, from which on it is looked whether ptxas issues them together
_TOGETHER = 48
#: of these registers, what a limit has to add: then hardly any of the loads were under way at once
_ADDED = 3 / 4
#: warps that are resident at least where all loads are under way
_RESIDENT = 12
_LOAD = re.compile(r"^(?:@!?%p\d+ )?ld\.global\S*\s+(\{[^}]*\}|%\w+)\s*,")
_NAMES = re.compile(r"%[a-z]+\d+")
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


def together(ptx: str) -> int:
    """32-bit registers of the loads from global memory that stand together: none of them is read before the last is issued; the most of a block."""
    most, waiting = 0, set[str]()
    for line in map(str.strip, ptx.splitlines()):
        load = _LOAD.match(line)
        if load is not None:
            waiting.update(_NAMES.findall(load[1]))
        elif waiting and (
            line.endswith(":") or line.startswith(("bra", "@", "bar")) or _reads(line, waiting)
        ):
            waiting.clear()
        most = max(most, len(waiting))
    return most


def _reads(line: str, names: set[str]) -> bool:
    _, _, sources = line.partition(",")
    return not names.isdisjoint(_NAMES.findall(sources))


def issues_more(ptx: str, usage: Usage, unit: ComputeUnit) -> str | None:
    """``ptx`` with a limit that leaves 12 warps resident, where many loads stand together; None: as it is."""
    warps = _warps(ptx)
    if warps is None or usage.spill_stores or together(ptx) < _TOGETHER:
        return None
    most = min(_MOST, most_registers(unit, max(_RESIDENT, warps)))
    return _with_limit(ptx, most) if usage.registers < most else None


def all_under_way(ptx: str, made: Usage, before: Usage) -> bool:
    """True where ``made`` with a limit, without spills, took so many registers more that hardly any loads were under way ``before``."""
    return not made.spill_stores and made.registers - before.registers >= _ADDED * together(ptx)


def spills_less(made: Usage, before: Usage) -> bool:
    """True where ``made`` stores fewer bytes to the stack."""
    return made.spill_stores < before.spill_stores


def pays(denser: Usage) -> bool:
    """True if a kernel assembled with the limit, which takes ``denser``, is to be preferred."""
    return denser.spill_stores <= _SPILLS and denser.spill_loads <= 2 * _SPILLS
