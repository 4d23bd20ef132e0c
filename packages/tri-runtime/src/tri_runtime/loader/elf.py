"""ELF relocatable objects, read with every number checked against the file.

Source: "System V Application Binary Interface", chapters "Object Files" (64 bits, little endian only).
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from tri_core.api import DeviceError

__all__ = [
    "ALLOC",
    "EXECINSTR",
    "NOBITS",
    "WRITE",
    "ElfObject",
    "Relocation",
    "Section",
    "Symbol",
    "damaged",
    "read_object",
]

WRITE, ALLOC, EXECINSTR = 1, 2, 4
NOBITS = 8
_TLS, _COMPRESSED = 0x400, 0x800
_SYMTAB, _RELA, _REL, _NOTE = 2, 4, 9, 7
#: ``.eh_frame`` has a type of its own on x86-64
_UNWIND = 0x70000001
_UNDEFINED, _ABSOLUTE, _RESERVED = 0, 0xFFF1, 0xFF00
_WEAK = 2
_TLS_SYMBOL, _INDIRECT = 6, 10

_HEADER = struct.Struct("<4s5B7x2HIQQQI6H")
_SECTION = struct.Struct("<2I4Q2I2Q")
_SYMBOL = struct.Struct("<I2BHQQ")
_ENTRY = struct.Struct("<QIIq")


class Section(NamedTuple):
    """A section's header, and its name."""

    name: str
    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int

    @property
    def loaded(self) -> bool:
        """True if the section is part of the program: notes and unwind tables are not, since kernels raise
        nothing.
        """
        return bool(self.flags & ALLOC) and self.kind not in (_NOTE, _UNWIND) and self.name != ".eh_frame"


class Symbol(NamedTuple):
    """A symbol: ``section`` is an index, 0 where it is undefined, None where ``value`` is absolute."""

    name: str
    section: int | None
    value: int
    weak: bool


class Relocation(NamedTuple):
    """A place in a section that depends on the address of a symbol (an index)."""

    offset: int
    kind: int
    symbol: int
    addend: int


class ElfObject(NamedTuple):
    """Contents of an object file; ``relocations`` by index of the section that they change."""

    machine: int
    sections: list[Section]
    symbols: list[Symbol]
    relocations: dict[int, list[Relocation]]


def damaged(what: str) -> DeviceError:
    """The error of an object that no compiler writes."""
    return DeviceError(
        f"the object file is damaged: {what}",
        remedy="compile the kernel again (tri cache clear drops what is stored)",
    )


def unsupported(what: str) -> DeviceError:
    """The error of an object that the loader has no rule for."""
    return DeviceError(
        f"the object file cannot be loaded into this process: {what}",
        remedy="compile with LLVM's default code model and position independent code; link other objects with a linker",
    )


def read_object(data: bytes) -> ElfObject:
    """The sections, symbols and relocations of ``data``; DeviceError for what is damaged or has no rule."""
    machine, offset, count, names = _header(data)
    raw = _entries(data, offset, count, _SECTION, "section headers")
    if not names < count:
        raise damaged(f"section {names} of {count} is to hold the names")
    strings = _content(data, "section names", raw[names][4], raw[names][5])
    sections = [_section(data, strings, fields) for fields in raw]
    symbols: list[Symbol] = []
    for section in sections:
        if section.kind == _SYMTAB:
            if symbols:
                raise damaged("it has two symbol tables")
            symbols = _symbols(data, sections, section)
    return ElfObject(machine, sections, symbols, _relocations(data, sections, len(symbols)))


def _header(data: bytes) -> tuple[int, int, int, int]:
    """Machine, offset and number of section headers, index of the section of names."""
    if len(data) < _HEADER.size or data[:4] != b"\x7fELF":
        raise unsupported(f"it is no ELF file (it begins with {data[:4]!r}, {len(data)} bytes)")
    fields = _HEADER.unpack_from(data)
    if fields[1:3] != (2, 1):
        raise unsupported("it is not for little-endian machines of 64 bits")
    kind, machine, section_size, count, names = fields[6], fields[7], fields[16], fields[17], fields[18]
    if kind != 1:
        raise unsupported(f"it is of ELF type {kind}; a relocatable object (1) is expected")
    if section_size != _SECTION.size or not count:
        raise damaged(f"it has {count} section headers of {section_size} bytes")
    return machine, fields[11], count, names


def _content(data: bytes, what: str, offset: int, size: int) -> bytes:
    if offset + size > len(data):
        raise damaged(f"{what} lie at {offset} to {offset + size} of {len(data)} bytes")
    return data[offset : offset + size]


def _entries(data: bytes, offset: int, count: int, layout: struct.Struct, what: str) -> list[tuple[int, ...]]:
    return list(layout.iter_unpack(_content(data, what, offset, count * layout.size)))


def _text(strings: bytes, at: int) -> str:
    end = strings.find(b"\0", at) if at < len(strings) else -1
    if end < 0:
        raise damaged(f"the name at {at} is not within the {len(strings)} bytes of names")
    return strings[at:end].decode("utf-8", "backslashreplace")


def _section(data: bytes, strings: bytes, fields: tuple[int, ...]) -> Section:
    name, kind, flags, _, offset, size, link, info, alignment, _ = fields
    made = Section(_text(strings, name), kind, flags, offset, size, link, info, alignment or 1)
    if kind not in (0, NOBITS):
        _content(data, f"the contents of {made.name}", offset, size)
    if made.loaded and flags & _TLS:
        raise unsupported(f"{made.name} is thread-local storage")
    if made.loaded and flags & _COMPRESSED:
        raise unsupported(f"{made.name} is compressed")
    return made


def _symbols(data: bytes, sections: list[Section], table: Section) -> list[Symbol]:
    if table.size % _SYMBOL.size or table.link >= len(sections):
        raise damaged(f"the symbol table has {table.size} bytes and its names in section {table.link}")
    names = sections[table.link]
    strings = _content(data, "symbol names", names.offset, names.size)
    raw = _entries(data, table.offset, table.size // _SYMBOL.size, _SYMBOL, "symbols")
    return [_symbol(sections, strings, fields) for fields in raw]


def _symbol(sections: list[Section], strings: bytes, fields: tuple[int, ...]) -> Symbol:
    at, info, _, index, value, _ = fields
    name = _text(strings, at)
    if info & 15 in (_TLS_SYMBOL, _INDIRECT):
        raise unsupported(f"symbol {name!r} is {'indirect' if info & 15 == _INDIRECT else 'thread-local'}")
    if index == _ABSOLUTE:
        return Symbol(name, None, value, weak=False)
    if index >= _RESERVED:
        raise unsupported(f"symbol {name!r} has the special section {index:#x}")
    if index >= len(sections) or (index != _UNDEFINED and value > sections[index].size):
        raise damaged(f"symbol {name!r} is at {value} of section {index}")
    return Symbol(name, index, value, info >> 4 == _WEAK)


def _relocations(data: bytes, sections: list[Section], symbols: int) -> dict[int, list[Relocation]]:
    """Those of the sections that are loaded."""
    found: dict[int, list[Relocation]] = {}
    for section in sections:
        if section.kind not in (_RELA, _REL):
            continue
        if section.info >= len(sections) or section.size % _ENTRY.size:
            raise damaged(f"{section.name} changes section {section.info}, {section.size} bytes")
        if not sections[section.info].loaded:
            continue
        if section.kind == _REL:
            raise unsupported(f"{section.name} has no addends")
        raw = _entries(data, section.offset, section.size // _ENTRY.size, _ENTRY, section.name)
        entries = [Relocation(*fields) for fields in raw]
        if any(entry.symbol >= symbols for entry in entries):
            raise damaged(f"{section.name} names a symbol that is not there; there are {symbols}")
        found.setdefault(section.info, []).extend(entries)
    return found
