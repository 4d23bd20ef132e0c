"""Parameters of a kernel, read from its image: ``.nv.info`` of a cubin, the entry's header of PTX.

The records of ``.nv.info`` are those that ``cuobjdump -elf`` shows: a format, an attribute's number, and a value of
16 bits or a payload of so many bytes.
"""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Iterator

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

__all__ = ["parameter_sizes"]

_WITH_PAYLOAD = 4
#: EIATTR_KPARAM_INFO: a word, ordinal and offset in 16 bits each, a word whose upper 14 bits are the size in bytes
_PARAMETER = 0x17
_PARAMETER_RECORD = struct.Struct("<IHHI")
_SIZE_SHIFT = 18

_HEADER = re.compile(r"\.entry\s+([\w$.]+)\s*(?:\(([^)]*)\))?")
_DECLARATION = re.compile(r"\.(?:[usbf]|bf|pred)(8|16|32|64|128)\b.*?(?:\[(\d+)\])?\s*$", re.DOTALL)


def parameter_sizes(image: bytes, entry: str) -> list[int] | None:
    """The bytes of each parameter of kernel ``entry``; None for a kind of image that is not read here."""
    if image.startswith(b"\x7fELF"):
        return _of_cubin(image, entry)
    try:
        return _of_ptx(image.rstrip(b"\0").decode(), entry)
    except UnicodeDecodeError:
        return None


def _of_cubin(image: bytes, entry: str) -> list[int] | None:
    try:
        section = ELFFile(io.BytesIO(image)).get_section_by_name(f".nv.info.{entry}")
        return None if section is None else _sizes(section.data())
    except (ELFError, struct.error, IndexError):
        return None  # the driver says what is wrong with it


def _sizes(info: bytes) -> list[int]:
    found = {}
    for attribute, payload in _records(info):
        if attribute == _PARAMETER:
            _, ordinal, _, packed = _PARAMETER_RECORD.unpack(payload)
            found[ordinal] = packed >> _SIZE_SHIFT
    return [found[ordinal] for ordinal in sorted(found)]


def _records(info: bytes) -> Iterator[tuple[int, bytes]]:
    place = 0
    while place < len(info):
        kind, attribute, value = struct.unpack_from("<BBH", info, place)
        length = value if kind == _WITH_PAYLOAD else 0
        yield attribute, info[place + 4 : place + 4 + length]
        place += 4 + length


def _of_ptx(text: str, entry: str) -> list[int] | None:
    code = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    header = next((h for h in _HEADER.finditer(code) if h[1] == entry), None)
    if header is None:
        return None
    declared = [part for part in (header[2] or "").split(",") if part.strip()]
    read = [_DECLARATION.search(part) for part in declared]
    return [int(r[1]) // 8 * int(r[2] or 1) for r in read if r is not None]
