"""A shared library of an object file, without a linker: for code that somebody else's ``dlopen`` must find.

Source: "System V Application Binary Interface", chapters "Object Files" and "Program Loading and Dynamic Linking".
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tri_core.api import DeviceError
from tri_runtime.loader.elf import NOBITS, WRITE, ElfObject, damaged, read_object
from tri_runtime.loader.linking import Layout, addresses_of, lay_out, link

__all__ = ["shared_library"]

_HEADER = struct.Struct("<4s5B7x2HIQQQI6H")
_SEGMENT = struct.Struct("<2I6Q")
_SYMBOL = struct.Struct("<I2BHQQ")
_RELA = struct.Struct("<QQq")
_TAG = struct.Struct("<qQ")
_SHARED, _VERSION = 3, 1
_LOAD, _DYNAMIC, _STACK = 1, 2, 0x6474E551
_READ, _READ_EXECUTE, _READ_WRITE = 4, 5, 6
_SEGMENTS = 5
_GLOBAL_FUNCTION, _GLOBAL_OBJECT = 0x12, 0x11
#: tags of the dynamic section
_NULL, _HASH, _STRINGS, _SYMBOLS, _RELATIONS, _RELATIONS_SIZE = 0, 4, 5, 6, 7, 8
_RELATION_SIZE, _STRINGS_SIZE, _SYMBOL_SIZE, _NAME = 9, 10, 11, 14


class _Kinds(NamedTuple):
    """Numbers of a machine's relocations: an address of 64 bits, those that no library may have, and "base plus addend"."""

    address: int
    refused: frozenset[int]
    relative: int
    page: int


_KINDS = {
    62: _Kinds(1, frozenset({10, 11}), 8, 0x1000),
    183: _Kinds(257, frozenset({258}), 1027, 0x10000),
}


def shared_library(data: bytes, exports: Sequence[str], name: str = "") -> bytes:
    """The ELF shared library of object ``data``, which shows the symbols ``exports``; ``name`` is its own (``DT_SONAME``).

    It imports nothing.  DeviceError for an object that is damaged, needs what is not its own, reaches symbols through
    a table of addresses, has addresses in what is not written, or lacks one of ``exports``.
    """
    made = read_object(data)
    kinds = _KINDS.get(made.machine)
    if kinds is None:
        raise _refused(f"the machine of ELF number {made.machine} has no rule")
    layout = lay_out(made, kinds.page)
    if layout.slots or layout.stubs:
        names = sorted({made.symbols[i].name for i in (*layout.slots, *layout.stubs)})
        raise _refused(f"it reaches {', '.join(names)} through a table of addresses")
    places = _addresses(made, layout, kinds)
    found = dict(addresses_of(made, layout, 0, list(exports)))
    if missing := [symbol for symbol in exports if symbol not in found]:
        raise damaged(f"it does not define {', '.join(missing)}")
    front = _Front(exports, name, len(places))
    base = -(-front.size // kinds.page) * kinds.page
    memory = bytearray(layout.size)
    with memoryview(memory) as view:
        link(made, layout, data, view, base, _nobody)
    relations = b"".join(
        _RELA.pack(base + at, kinds.relative, struct.unpack_from("<q", memory, at)[0]) for at in places
    )
    symbols = {symbol: (base + at, at < layout.fixed) for symbol, at in found.items()}
    dynamic = front.dynamic()
    head = _head(made.machine, base, layout, len(dynamic), kinds.page)
    body = front.filled(head, symbols, relations)
    return body.ljust(base, b"\0") + bytes(memory) + dynamic


def _refused(why: str) -> DeviceError:
    return DeviceError(
        f"the object cannot become a shared library: {why}",
        remedy="compile position independent code whose symbols are dso_local and which calls nothing of other libraries",
    )


def _nobody(name: str) -> int | None:
    del name
    return None


def _addresses(made: ElfObject, layout: Layout, kinds: _Kinds) -> list[int]:
    """Offsets in the block of the words that hold addresses."""
    places: list[int] = []
    for index, relocations in made.relocations.items():
        for offset, kind, symbol, _ in relocations:
            if kind in kinds.refused:
                raise _refused(f"{made.sections[index].name} has an address in 32 bits")
            if kind == kinds.address and made.symbols[symbol].section is not None:
                section = made.sections[index]
                if not section.flags & WRITE or section.kind == NOBITS:
                    raise _refused(f"{section.name}, which is not written, has an address at {offset}")
                places.append(layout.sections[index] + offset)
    return places


class _Front:
    """Front of a shared object, before the code: headers, names, symbols, their hash table, addresses to fill
    in.
    """

    def __init__(self, exports: Sequence[str], name: str, relations: int) -> None:
        self._exports, self._relations = exports, relations
        self._names, at = {"": 0}, 1
        for text in (*exports, *((name,) if name else ())):
            if text not in self._names:
                self._names[text] = at
                at += len(text.encode()) + 1
        self._strings = b"".join(text.encode() + b"\0" for text in self._names)
        self._name = name
        self._symbols_at = _HEADER.size + _SEGMENTS * _SEGMENT.size
        self._relations_at = self._symbols_at + _SYMBOL.size * (1 + len(exports))
        self._hash_at = self._relations_at + _RELA.size * relations
        self._strings_at = self._hash_at + 4 * (2 + 1 + 1 + len(exports))
        self.size = self._strings_at + len(self._strings)

    def dynamic(self) -> bytes:
        """The dynamic section; all of it is known before the addresses are."""
        tags = [(_NAME, self._names[self._name])] if self._name else []
        tags += [(_HASH, self._hash_at), (_STRINGS, self._strings_at), (_SYMBOLS, self._symbols_at)]
        tags += [(_STRINGS_SIZE, len(self._strings)), (_SYMBOL_SIZE, _SYMBOL.size)]
        if self._relations:
            tags += [(_RELATIONS, self._relations_at), (_RELATIONS_SIZE, _RELA.size * self._relations)]
            tags += [(_RELATION_SIZE, _RELA.size)]
        return b"".join(_TAG.pack(*tag) for tag in (*tags, (_NULL, 0)))

    def filled(self, head: bytes, symbols: Mapping[str, tuple[int, bool]], relations: bytes) -> bytes:
        """All of it; ``symbols``: address, and whether it is code."""
        table = bytes(_SYMBOL.size)
        for text in self._exports:
            address, code = symbols[text]
            kind = _GLOBAL_FUNCTION if code else _GLOBAL_OBJECT
            table += _SYMBOL.pack(self._names[text], kind, 0, 1, address, 0)
        count = 1 + len(self._exports)
        # one bucket, which begins with the last symbol: a chain down to the first
        chain = struct.pack(f"<{3 + count}I", 1, count, count - 1, 0, *range(count - 1))
        return head + table + relations + chain + self._strings


def _head(machine: int, base: int, layout: Layout, dynamic: int, page: int) -> bytes:
    """The header and the segments: tables, code, what is written with the dynamic section behind it."""
    written, end = base + layout.fixed, base + layout.size
    identity = (b"\x7fELF", 2, 1, 1, 0, 0)
    head = _HEADER.pack(
        *identity,
        _SHARED,
        machine,
        _VERSION,
        0,
        _HEADER.size,
        0,
        0,
        _HEADER.size,
        _SEGMENT.size,
        _SEGMENTS,
        64,
        0,
        0,
    )
    segments = (
        (_LOAD, _READ, 0, base, page),
        (_LOAD, _READ_EXECUTE, base, layout.fixed, page),
        (_LOAD, _READ_WRITE, written, layout.size - layout.fixed + dynamic, page),
        (_DYNAMIC, _READ_WRITE, end, dynamic, 8),
        (_STACK, _READ_WRITE, 0, 0, 16),
    )
    return head + b"".join(
        _SEGMENT.pack(kind, flags, at, at, at, size, size, align) for kind, flags, at, size, align in segments
    )
