"""Relocations by machine: addresses as LLVM's code generators leave them for a linker.

Sources: "System V Application Binary Interface, AMD64 Architecture Processor Supplement", table 4.9;
"ELF for the Arm 64-bit Architecture (AArch64)", tables of static relocations; `A64` encodings from the "Arm
Architecture Reference Manual".
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from tri_core.lazy_dataclasses import dataclass

__all__ = ["AARCH64", "MACHINES", "X86_64", "Machine", "OutOfRange"]

#: writes at an offset of the memory: (memory, offset, target, place); the addend is part of the target
Rule = Callable[[memoryview, int, int, int], None]


class OutOfRange(Exception):
    """A relocation's value does not fit, or its instruction is another one than it is for."""


@dataclass(frozen=True)
class Machine:
    """``rules`` by kind of relocation: bytes that it writes, and how.

    ``calls``: kinds that may go through a stub; ``slots``: those that want the address of a slot that holds the
    symbol's address.  ``stub``: code that jumps to the address in the eight bytes that follow it.
    """

    name: str
    number: int
    rules: dict[int, tuple[int, Rule]]
    calls: frozenset[int]
    slots: frozenset[int]
    stub: bytes


def _number(size: int, *, relative: bool, low: int, high: int) -> tuple[int, Rule]:
    """A field of ``size`` bytes whose value is in [low, high)."""
    layout = struct.Struct({4: "<I", 8: "<Q"}[size])
    mask = (1 << 8 * size) - 1

    def write(memory: memoryview, offset: int, target: int, place: int) -> None:
        value = target - place if relative else target
        if not low <= value < high:
            raise OutOfRange(f"{value:#x} is not within {8 * size} bits")
        layout.pack_into(memory, offset, value & mask)

    return size, write


def _relative(size: int) -> tuple[int, Rule]:
    return _number(size, relative=True, low=-(1 << 8 * size - 1), high=1 << 8 * size - 1)


_ADDRESS = _number(8, relative=False, low=-(1 << 64), high=1 << 64)

X86_64 = Machine(
    name="x86-64",
    number=62,
    rules={
        1: _ADDRESS,  # R_X86_64_64
        2: _relative(4),  # PC32
        4: _relative(4),  # PLT32
        9: _relative(4),  # GOTPCREL
        10: _number(4, relative=False, low=0, high=1 << 32),  # 32
        11: _number(4, relative=False, low=-(1 << 31), high=1 << 31),  # 32S
        24: _relative(8),  # PC64
        41: _relative(4),  # GOTPCRELX
        42: _relative(4),  # REX_GOTPCRELX
    },
    calls=frozenset({4}),
    slots=frozenset({9, 41, 42}),
    stub=b"\xff\x25\x02\0\0\0\x90\x90",  # jmp *2(%rip), and two bytes that keep the address aligned
)


# --- AArch64: fields of instructions --------------------------------------------------------------------------


def _field(memory: memoryview, offset: int, clear: int, bits: int) -> None:
    (word,) = struct.unpack_from("<I", memory, offset)
    struct.pack_into("<I", memory, offset, word & ~clear | bits)


def _distance(bits: int, scale: int, at: int) -> tuple[int, Rule]:
    """A distance of ``bits`` bits counted in ``scale`` bytes, at bit ``at`` of the instruction."""

    def write(memory: memoryview, offset: int, target: int, place: int) -> None:
        value, rest = divmod(target - place, scale)
        if rest or not -(1 << bits - 1) <= value < 1 << bits - 1:
            raise OutOfRange(f"a distance of {target - place:#x} is not {bits} bits of {scale} bytes")
        mask = (1 << bits) - 1
        _field(memory, offset, mask << at, (value & mask) << at)

    return 4, write


def _page(scale: int) -> tuple[int, Rule]:
    """ADR and ADRP: a distance of 21 bits, in bytes or in pages of 4096."""

    def write(memory: memoryview, offset: int, target: int, place: int) -> None:
        value = target // scale - place // scale
        if not -(1 << 20) <= value < 1 << 20:
            raise OutOfRange(f"{value:#x} is not within 21 bits")
        _field(memory, offset, 0x60FFFFE0, (value & 3) << 29 | (value >> 2 & 0x7FFFF) << 5)

    return 4, write


def _low(scale: int) -> tuple[int, Rule]:
    """The low 12 bits of an address, counted in ``scale`` bytes: the offset of an ADD, a load or a store."""

    def write(memory: memoryview, offset: int, target: int, place: int) -> None:
        del place
        value, rest = divmod(target & 0xFFF, scale)
        if rest:
            raise OutOfRange(f"{target:#x} is not a multiple of {scale}")
        _field(memory, offset, 0xFFF << 10, value << 10)

    return 4, write


AARCH64 = Machine(
    name="AArch64",
    number=183,
    rules={
        257: _ADDRESS,  # R_AARCH64_ABS64
        258: _number(4, relative=False, low=-(1 << 31), high=1 << 32),  # ABS32
        260: _relative(8),  # PREL64
        261: _number(4, relative=True, low=-(1 << 31), high=1 << 32),  # PREL32
        273: _distance(19, 4, 5),  # LD_PREL_LO19
        274: _page(1),  # ADR_PREL_LO21
        275: _page(4096),  # ADR_PREL_PG_HI21
        276: _page(4096),  # ADR_PREL_PG_HI21_NC
        277: _low(1),  # ADD_ABS_LO12_NC
        278: _low(1),  # LDST8_ABS_LO12_NC
        279: _distance(14, 4, 5),  # TSTBR14
        280: _distance(19, 4, 5),  # CONDBR19
        282: _distance(26, 4, 0),  # JUMP26
        283: _distance(26, 4, 0),  # CALL26
        284: _low(2),  # LDST16_ABS_LO12_NC
        285: _low(4),  # LDST32_ABS_LO12_NC
        286: _low(8),  # LDST64_ABS_LO12_NC
        299: _low(16),  # LDST128_ABS_LO12_NC
        311: _page(4096),  # ADR_GOT_PAGE
        312: _low(8),  # LD64_GOT_LO12_NC
        314: _relative(4),  # PLT32
    },
    calls=frozenset({282, 283, 314}),
    slots=frozenset({311, 312}),
    stub=struct.pack("<2I", 0x58000050, 0xD61F0200),  # ldr x16, .+8; br x16
)

#: by ELF's number
MACHINES = {machine.number: machine for machine in (X86_64, AARCH64)}
