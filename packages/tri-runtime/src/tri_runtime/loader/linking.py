"""Laying out an object's sections and filling in addresses: everything lies in one block, so that distances fit.

The block, from its start: sections that are only read or executed, slots and stubs for symbols of other
libraries; from a page's start on, sections that are written.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

from tri_core.api import DeviceError
from tri_core.lazy_dataclasses import dataclass
from tri_runtime.loader.elf import NOBITS, WRITE, ElfObject, Relocation, damaged, unsupported
from tri_runtime.loader.relocations import MACHINES, Machine, OutOfRange

__all__ = ["Layout", "addresses_of", "lay_out", "link"]

#: the largest block: distances within it have 31 bits
_MOST = 1 << 30
_SLOT = struct.Struct("<Q")


@dataclass(frozen=True)
class Layout:
    """Offsets in the block: of ``sections`` by index, of ``slots`` and ``stubs`` by symbol index.

    ``fixed`` bytes are not written after loading, ``size`` is all.
    """

    machine: Machine
    sections: dict[int, int]
    slots: dict[int, int]
    stubs: dict[int, int]
    fixed: int
    size: int


def lay_out(made: ElfObject, page: int) -> Layout:
    """Layout in memory of ``made``, with pages of ``page`` bytes; DeviceError if impossible."""
    machine = MACHINES.get(made.machine)
    if machine is None:
        known = ", ".join(m.name for m in MACHINES.values())
        raise unsupported(f"it is for the machine of ELF number {made.machine}; known: {known}")
    sections: dict[int, int] = {}
    end = _place(made, sections, 0, written=False, page=page)
    slots, stubs = _wanted(made, machine)
    end = -(-end // 16) * 16
    slot_size, stub_size = _SLOT.size, len(machine.stub) + _SLOT.size
    slot_places = {symbol: end + i * slot_size for i, symbol in enumerate(slots)}
    end = -(-(end + slot_size * len(slots)) // 16) * 16
    stub_places = {symbol: end + i * stub_size for i, symbol in enumerate(stubs)}
    end += stub_size * len(stubs)
    fixed = -(-end // page) * page
    size = -(-_place(made, sections, fixed, written=True, page=page) // page) * page
    return Layout(machine, sections, slot_places, stub_places, fixed, size)


def _place(made: ElfObject, sections: dict[int, int], end: int, *, written: bool, page: int) -> int:
    for index, section in enumerate(made.sections):
        if not section.loaded or bool(section.flags & WRITE) != written:
            continue
        if section.alignment & (section.alignment - 1) or section.alignment > page:
            raise damaged(f"{section.name} is to be aligned to {section.alignment} bytes")
        end = -(-end // section.alignment) * section.alignment
        sections[index] = end
        end += section.size
        if end > _MOST:
            raise unsupported(f"its sections need more than {_MOST >> 20} MiB")
    return end


def _wanted(made: ElfObject, machine: Machine) -> tuple[list[int], list[int]]:
    """Symbols that need a slot, and those that need a stub."""
    slots, stubs = dict[int, None](), dict[int, None]()
    for relocations in made.relocations.values():
        for _, kind, symbol, _ in relocations:
            if kind in machine.slots:
                slots[symbol] = None
            elif kind in machine.calls and made.symbols[symbol].section == 0:
                stubs[symbol] = None
    return list(slots), list(stubs)


def link(
    made: ElfObject,
    layout: Layout,
    data: bytes,
    memory: memoryview,
    address: int,
    resolve: Callable[[str], int | None],
) -> None:
    """Write the object ``data`` into ``memory``, zeroed, of ``layout.size`` bytes, to be used at ``address``.

    ``resolve`` gives the addresses of symbols of other libraries, None for unknown ones.  DeviceError for a symbol
    that nobody has, and for relocations that have no rule or do not fit.
    """
    for index, offset in layout.sections.items():
        section = made.sections[index]
        if section.kind != NOBITS:
            memory[offset : offset + section.size] = data[section.offset : section.offset + section.size]
    symbols = _resolved(made, layout, address, resolve)
    for symbol, offset in layout.slots.items():
        _SLOT.pack_into(memory, offset, symbols[symbol])
    stub = layout.machine.stub
    for symbol, offset in layout.stubs.items():
        memory[offset : offset + len(stub)] = stub
        _SLOT.pack_into(memory, offset + len(stub), symbols[symbol])
    for index, relocations in made.relocations.items():
        _relocate(made, layout, memory, address, symbols, index, relocations)


def _resolved(
    made: ElfObject, layout: Layout, address: int, resolve: Callable[[str], int | None]
) -> dict[int, int]:
    """Addresses of the symbols that relocations name."""
    found: dict[int, int] = {}
    for relocations in made.relocations.values():
        for relocation in relocations:
            index = relocation.symbol
            if index not in found:
                found[index] = _address(made, layout, address, index, resolve)
    return found


def _address(
    made: ElfObject, layout: Layout, address: int, index: int, resolve: Callable[[str], int | None]
) -> int:
    name, section, value, weak = made.symbols[index]
    if section is None or index == 0:
        return value
    if section:
        if section not in layout.sections:
            raise damaged(f"symbol {name!r} lies in {made.sections[section].name}, which is not loaded")
        return address + layout.sections[section] + value
    known = resolve(name)
    if known is None and not weak:
        raise DeviceError(
            f"the object needs the function {name!r}, which this process does not have",
            remedy="name its library at the launch, extern_libs={name: path}, or load it into the process",
        )
    return known or 0


def _relocate(
    made: ElfObject,
    layout: Layout,
    memory: memoryview,
    address: int,
    symbols: dict[int, int],
    index: int,
    relocations: list[Relocation],
) -> None:
    """Fill in the addresses of one section."""
    machine, start, size = layout.machine, layout.sections[index], made.sections[index].size
    rules, slots, stubs = machine.rules, layout.slots, layout.stubs
    if made.sections[index].kind == NOBITS:
        raise damaged(f"{made.sections[index].name} has relocations and no contents")
    for offset, kind, symbol, addend in relocations:
        if kind == 0:
            continue
        rule = rules.get(kind)
        if rule is None:
            raise unsupported(f"there is no rule for relocations of kind {kind} of {machine.name}")
        width, write = rule
        if offset + width > size:
            raise damaged(f"a relocation changes {offset} of {size} bytes of {made.sections[index].name}")
        if kind in machine.slots:
            target = address + slots[symbol]
        elif kind in machine.calls and symbol in stubs:
            target = address + stubs[symbol]
        else:
            target = symbols[symbol]
        try:
            write(memory, start + offset, target + addend, address + start + offset)
        except OutOfRange as error:
            name = made.symbols[symbol].name
            raise unsupported(f"relocation {kind} of {machine.name} to {name!r}: {error}") from None


def addresses_of(
    made: ElfObject, layout: Layout, address: int, wanted: list[str]
) -> Iterator[tuple[str, int]]:
    """Names and addresses of the symbols ``wanted``, as far as the object defines them."""
    names = set(wanted)
    for name, section, value, _ in made.symbols:
        if name in names and section and section in layout.sections:
            yield name, address + layout.sections[section] + value
