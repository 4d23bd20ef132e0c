"""Byte strings on a pipe, each behind its length."""

from __future__ import annotations

import struct
from typing import IO

__all__ = ["read_frame", "write_frames"]


def write_frames(stream: IO[bytes], *parts: bytes) -> None:
    """Write ``parts`` and flush."""
    for part in parts:
        stream.write(struct.pack("<Q", len(part)) + part)
    stream.flush()


def read_frame(stream: IO[bytes]) -> bytes | None:
    """The next byte string; None at the end, also in the middle of one."""
    head = stream.read(8)
    if len(head) < 8:
        return None
    (length,) = struct.unpack("<Q", head)
    body = stream.read(length)
    return body if len(body) == length else None
