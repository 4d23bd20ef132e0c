"""File format of an entry: a header with lengths and a SHA-256, then the key, then the payload.

An entry is complete exactly when the header fits the rest of the file, so a file that was cut, padded or
damaged anywhere is distinguished from a good one without any knowledge of the payload.  It knows its key, which the
SHA-256 covers, too: under another one's name it is no entry.
"""

from __future__ import annotations

import hashlib
import struct
from typing import NamedTuple

__all__ = ["Entry", "is_of_another_version", "pack", "size_of", "unpack"]

_FAMILY = b"TRI-CACHE-"
MAGIC = _FAMILY + b"2\n"
#: the magic, the bytes of the key and of the payload, and the digest of both
HEADER = struct.Struct(f"<{len(MAGIC)}sHQ32s")


class Entry(NamedTuple):
    """Contents of an entry's file."""

    key: str
    payload: bytes


def size_of(key: str, payload: bytes) -> int:
    """Bytes of the file of ``payload`` under ``key``."""
    return HEADER.size + len(key) + len(payload)


def pack(key: str, payload: bytes) -> bytes:
    """The header of ``payload`` under ``key``, which is ASCII, to be written before it."""
    name = key.encode("ascii")
    return HEADER.pack(MAGIC, len(name), len(payload), _digest(name, payload)) + name


def unpack(content: bytes) -> Entry | None:
    """Entry in a whole file's ``content``; None unless it is complete and undamaged."""
    if len(content) < HEADER.size:
        return None
    magic, name_bytes, length, digest = HEADER.unpack_from(content)
    begin = HEADER.size + name_bytes
    name, payload = content[HEADER.size : begin], content[begin:]
    if magic != MAGIC or len(payload) != length or _digest(name, payload) != digest:
        return None
    return Entry(name.decode("ascii", "replace"), payload)


def is_of_another_version(content: bytes) -> bool:
    """True if ``content`` begins as entries of another version of this format do."""
    return content.startswith(_FAMILY) and not content.startswith(MAGIC)


def _digest(name: bytes, payload: bytes) -> bytes:
    found = hashlib.sha256(struct.pack("<H", len(name)) + name)
    found.update(payload)
    return found.digest()
