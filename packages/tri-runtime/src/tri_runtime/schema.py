"""Records that Python packs and native code reads: one declaration of each, with field names, C types and meanings.

A :class:`Record` produces both sides: a layout for :mod:`struct` or :mod:`ctypes`, and the LLVM struct type with the fields' numbers.
:func:`expand` puts the numbers into LLVM text that accesses fields by name.  Fields are aligned as in C.
"""

from __future__ import annotations

import ctypes
import re
import struct
from collections.abc import Iterable, Mapping
from dataclasses import field
from enum import Enum, IntEnum
from typing import Any, TypeVar

from tri_core.errors import TriError
from tri_core.lazy_dataclasses import dataclass

__all__ = ["CType", "Field", "Record", "SchemaError", "expand"]


_T = TypeVar("_T")


class SchemaError(TriError, ValueError):
    """A record has no such field, or a field was left out."""


class CType(Enum):
    """A C type: its name in LLVM, its letter in :mod:`struct`, its class in :mod:`ctypes`."""

    BYTE = "i8", "s", ctypes.c_char
    I32 = "i32", "i", ctypes.c_int32
    U32 = "i32", "I", ctypes.c_uint32
    I64 = "i64", "q", ctypes.c_int64
    U64 = "i64", "Q", ctypes.c_uint64
    POINTER = "ptr", "P", ctypes.c_void_p

    @property
    def llvm(self) -> str:
        """The type in LLVM text."""
        return self.value[0]

    @property
    def code(self) -> str:
        """The letter of :mod:`struct`."""
        return self.value[1]

    @property
    def size(self) -> int:
        """Bytes, which are also the alignment."""
        return ctypes.sizeof(self.value[2])


@dataclass(frozen=True)
class Field:
    """A field of a record; ``meaning`` goes into the LLVM text as a comment, ``count`` is that of bytes."""

    name: str
    type: CType
    meaning: str = ""
    count: int = 1

    def __post_init__(self) -> None:
        if self.count != 1 and self.type is not CType.BYTE:
            raise SchemaError(
                f"field {self.name!r} is an array of {self.type.llvm}", remedy="only bytes come as arrays"
            )

    @property
    def llvm(self) -> str:
        """The type in LLVM text."""
        return f"[{self.count} x i8]" if self.type is CType.BYTE else self.type.llvm

    @property
    def code(self) -> str:
        """The format of :mod:`struct`."""
        return f"{self.count}s" if self.type is CType.BYTE else self.type.code

    @property
    def ctype(self) -> Any:
        """The class of :mod:`ctypes`."""
        kind = self.type.value[2]
        return kind * self.count if self.type is CType.BYTE else kind


@dataclass(frozen=True)
class Record:
    """A C struct with named fields."""

    name: str
    fields: tuple[Field, ...]
    #: the layout for :mod:`struct`, with C's padding behind the last field
    format: struct.Struct = field(init=False, repr=False, compare=False)
    #: the layout for :mod:`ctypes`
    structure: type[ctypes.Structure] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        names = [f.name for f in self.fields]
        if len(set(names)) != len(names):
            raise SchemaError(
                f"record {self.name!r} has a field twice: {names}", remedy="give each field its own name"
            )
        largest = max(self.fields, key=lambda f: f.type.size).type
        padding = "" if largest is CType.BYTE else f"0{largest.code}"
        codes = "".join(f.code for f in self.fields)
        members = [(f.name, f.ctype) for f in self.fields]
        object.__setattr__(self, "format", struct.Struct(f"@{codes}{padding}"))
        object.__setattr__(self, "structure", type(self.name, (ctypes.Structure,), {"_fields_": members}))

    @property
    def size(self) -> int:
        """Bytes of one record in an array of them."""
        return self.format.size

    def index(self, name: str) -> int:
        """The number of the field ``name``; :class:`SchemaError` where there is none."""
        for i, known in enumerate(self.fields):
            if known.name == name:
                return i
        known_names = ", ".join(f.name for f in self.fields)
        raise SchemaError(
            f"record {self.name!r} has no field {name!r}", remedy=f"its fields are {known_names}"
        )

    def offset(self, name: str) -> int:
        """The offset of the field ``name`` in bytes."""
        offset: int = getattr(self.structure, self.fields[self.index(name)].name).offset
        return offset

    def head(self, last: str) -> struct.Struct:
        """The layout of the fields up to ``last``, for :mod:`struct`."""
        return struct.Struct("@" + "".join(f.code for f in self.fields[: self.index(last) + 1]))

    def pack(self, **values: int | bytes) -> bytes:
        """The record with these values, one for each field; :class:`SchemaError` for other names."""
        if values.keys() != {f.name for f in self.fields}:
            raise SchemaError(
                f"record {self.name!r} takes {', '.join(f.name for f in self.fields)}, not {', '.join(values)}",
                remedy="give each field one value",
            )
        return self.format.pack(*(values[f.name] for f in self.fields))

    def unpack(self, data: bytes | bytearray | memoryview, offset: int = 0) -> Mapping[str, Any]:
        """The values of a record that is in ``data`` at ``offset``, by name."""
        found = self.format.unpack_from(data, offset)
        return dict(zip((f.name for f in self.fields), found, strict=True))

    @property
    def llvm(self) -> str:
        """The definition of the struct type ``%name``."""
        last = len(self.fields) - 1
        lines = [
            f"  {f.llvm}{',' if i < last else ' '}  ; {i} {f.name}{': ' if f.meaning else ''}{f.meaning}"
            for i, f in enumerate(self.fields)
        ]
        return "\n".join([f"%{self.name} = type {{", *lines, "}", ""])


_FIELD = re.compile(r"(%[\w.]+) = (field|address) (\w+)\.(\w+), (%[\w.]+)")
_CASE = re.compile(r"\$(\w+)\.(\w+)")


def expand(text: str, records: Iterable[Record], cases: Iterable[type[IntEnum]] = ()) -> str:
    """LLVM text from text that names fields and cases.

    ``%x = field record.name, %p`` loads a field of the record at ``%p``; ``%x = address record.name, %p`` is its address;
    ``$Enum.NAME`` is the number of a case.  :class:`SchemaError` for a record, a field or a case that does not exist.
    """
    known, enums = {r.name: r for r in records}, {e.__name__: e for e in cases}

    def access(match: re.Match[str]) -> str:
        result, how, name, member, pointer = match.groups()
        record = _found(known, name, "record")
        index = record.index(member)
        place = result if how == "address" else f"{result}.at"
        address = f"{place} = getelementptr %{name}, ptr {pointer}, i32 0, i32 {index}"
        load = f"\n  {result} = load {record.fields[index].llvm}, ptr {place}"
        return address if how == "address" else address + load

    def case(match: re.Match[str]) -> str:
        cases_of = _found(enums, match[1], "enumeration").__members__
        return str(int(_found(cases_of, match[2], f"case of {match[1]}")))

    return _CASE.sub(case, _FIELD.sub(access, text))


def _found(known: Mapping[str, _T], name: str, what: str) -> _T:
    if name not in known:
        raise SchemaError(f"no {what} is named {name!r}", remedy=f"known: {', '.join(known)}")
    return known[name]
