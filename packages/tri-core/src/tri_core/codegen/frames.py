"""Messages over a pipe: eight bytes of length (little-endian), then a ``marshal``-ed value.

``marshal`` because both ends are the same interpreter, and because it costs no import: the worker's start is
on the way of a user's first kernel.  The values are dictionaries and tuples of text, bytes and numbers.
"""

from __future__ import annotations

import marshal
from typing import Any

__all__ = ["HEADER_SIZE", "body_size", "decode", "encode"]

HEADER_SIZE = 8


def encode(value: Any) -> bytes:
    """``value`` as one frame; ValueError when it holds anything but plain data."""
    body = marshal.dumps(value)
    return len(body).to_bytes(HEADER_SIZE, "little") + body


def body_size(header: bytes) -> int:
    """The number of bytes that follow ``header``."""
    return int.from_bytes(header, "little")


def decode(body: bytes) -> Any:
    """The value of a frame's body."""
    return marshal.loads(body)
