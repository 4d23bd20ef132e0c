"""How an entry lies in its file: a header with the payload's length and SHA-256, then the payload.

An entry is complete exactly when the header fits the rest of the file, so a file that was cut, padded or
damaged anywhere is distinguished from a good one without any knowledge of the payload.
"""

from __future__ import annotations

import hashlib
import struct

__all__ = ["HEADER", "pack", "unpack"]

MAGIC = b"TRI-CACHE-1\n"
HEADER = struct.Struct(f"<{len(MAGIC)}sQ32s")


def pack(payload: bytes) -> bytes:
    """The header for ``payload``, to be written before it."""
    return HEADER.pack(MAGIC, len(payload), hashlib.sha256(payload).digest())


def unpack(content: bytes) -> bytes | None:
    """The payload of a whole file's ``content``; None unless it is complete and undamaged."""
    if len(content) < HEADER.size:
        return None
    magic, length, digest = HEADER.unpack_from(content)
    payload = content[HEADER.size :]
    if magic != MAGIC or len(payload) != length or hashlib.sha256(payload).digest() != digest:
        return None
    return payload
