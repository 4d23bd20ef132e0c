"""Relocations of the machine that this one is not: what they write is read back, and run where there is an emulator."""

from __future__ import annotations

import struct

import pytest

from loader_support import PROGRAM, compiled
from tri_core.api import DeviceError
from tri_runtime.loader.elf import read_object
from tri_runtime.loader.linking import addresses_of, lay_out, link
from tri_runtime.loader.relocations import AARCH64, MACHINES, Machine, OutOfRange

TRIPLES = {"x86-64": "x86_64-unknown-linux-gnu", "AArch64": "aarch64-unknown-linux-gnu"}
BASE = 0x7F12_3456_7000
FAR = {"labs": 0x1000, "cbrt": 0x7FFF_FFFF_F000, "imported": 0x5555_0000_0000, "environ": 0x6666_7777_8888}


def linked(machine: str, text: str = PROGRAM) -> tuple[bytearray, dict[str, int]]:
    """The program for ``machine``, laid out and linked as if it were at ``BASE``."""
    data = compiled(text, TRIPLES[machine])
    made = read_object(data)
    layout = lay_out(made, 4096)
    memory = bytearray(layout.size)
    link(made, layout, data, memoryview(memory), BASE, FAR.get)
    names = [s.name for s in made.symbols if s.name]
    return memory, dict(addresses_of(made, layout, BASE, names))


def word(memory: bytearray, address: int) -> int:
    return int.from_bytes(memory[address - BASE : address - BASE + 4], "little")


def signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


def test_pages_and_offsets_of_aarch64() -> None:
    """ADRP and ADD, or ADRP and a load, name the table and the counter."""
    memory, symbols = linked("AArch64")
    found, pages = set(), dict[int, int]()
    for address in range(BASE, BASE + len(memory) - 4, 4):
        instruction = word(memory, address)
        target, base = instruction & 31, instruction >> 5 & 31
        if instruction & 0x9F000000 == 0x90000000:
            page = signed((instruction >> 5 & 0x7FFFF) << 2 | instruction >> 29 & 3, 21)
            pages[target] = page * 4096 + (address & ~0xFFF)
        elif base in pages and instruction & 0xFF800000 == 0x91000000:
            found.add(pages[base] + (instruction >> 10 & 0xFFF))
        elif base in pages and instruction & 0xFF800000 == 0xF9000000:
            found.add(pages[base] + (instruction >> 10 & 0xFFF) * 8)
    assert {symbols["table"], symbols["count"], symbols["seen"]} <= found
    slots = {struct.unpack_from("<Q", memory, a - BASE)[0] for a in found if a % 8 == 0}
    assert FAR["environ"] in slots


@pytest.mark.parametrize("name", ["labs", "imported", "cbrt"])
def test_calls_of_aarch64_go_through_stubs(name: str) -> None:
    memory, symbols = linked("AArch64")
    caller = symbols[{"labs": "outside", "imported": "given", "cbrt": "root"}[name]]
    targets = []
    for address in range(caller, caller + 40, 4):
        instruction = word(memory, address)
        if instruction >> 26 in (0b100101, 0b000101):
            targets.append(address + 4 * signed(instruction & 0x3FFFFFF, 26))
    stub = targets[0]
    assert (word(memory, stub), word(memory, stub + 4)) == (0x58000050, 0xD61F0200)
    assert stub % 8 == 0
    assert struct.unpack_from("<Q", memory, stub - BASE + 8)[0] == FAR[name]


@pytest.mark.parametrize("machine", list(TRIPLES))
def test_tables_hold_addresses(machine: str) -> None:
    memory, symbols = linked(machine)
    table = symbols["table"] - BASE
    assert struct.unpack_from("<2Q", memory, table) == (symbols["double"], symbols["triple"])


@pytest.mark.parametrize("machine", list(MACHINES.values()), ids=lambda m: m.name)
def test_no_rule_writes_what_does_not_fit(machine: Machine) -> None:
    """At both ends of the address space every distance of less than 64 bits is refused."""
    for kind, (width, write) in machine.rules.items():
        low_bits = kind in range(277, 279) or kind in range(284, 287) or kind in (299, 312)
        if width == 8 or (machine is AARCH64 and low_bits):
            continue
        memory = bytearray(16)
        with pytest.raises(OutOfRange):
            write(memoryview(memory), 4, 1 << 47, 0x1000)
        assert memory == bytearray(16)


def test_misaligned_targets_are_refused() -> None:
    _, write = AARCH64.rules[286]
    with pytest.raises(OutOfRange, match="multiple of 8"):
        write(memoryview(bytearray(8)), 0, 0x1004, 0)


@pytest.mark.parametrize("triple", ["riscv64-unknown-linux-gnu"])
def test_machines_without_rules(triple: str) -> None:
    with pytest.raises(DeviceError, match="ELF number 243; known: x86-64, AArch64"):
        lay_out(read_object(compiled(PROGRAM, triple)), 4096)


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [("by_table", (1, 14), 42), ("counted", (2, 0), 41), ("by_table", (0, 4), 8)],
)
def test_aarch64_in_an_emulator(name: str, arguments: tuple[int, int], expected: int) -> None:
    unicorn = pytest.importorskip("unicorn")
    from unicorn import arm64_const as arm

    memory, symbols = linked("AArch64")
    machine = unicorn.Uc(unicorn.UC_ARCH_ARM64, unicorn.UC_MODE_ARM)
    machine.mem_map(BASE, len(memory))
    machine.mem_write(BASE, bytes(memory))
    machine.mem_map(0x10000, 0x10000)
    for register, value in ((arm.UC_ARM64_REG_SP, 0x1F000), (arm.UC_ARM64_REG_LR, 0x10000)):
        machine.reg_write(register, value)
    machine.reg_write(arm.UC_ARM64_REG_X0, arguments[0])
    machine.reg_write(arm.UC_ARM64_REG_X1, arguments[1])
    machine.emu_start(symbols[name], 0x10000)
    assert machine.reg_read(arm.UC_ARM64_REG_X0) == expected
