"""Listening to a store: which entries a block of code reads and writes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["note", "noting"]

#: one dictionary for each block that listens
_listening: list[dict[str, bytes]] = []


@contextmanager
def noting() -> Iterator[dict[str, bytes]]:
    """Payloads by key of all entries that this process reads or writes, its other threads included, inside the ``with`` block."""
    found: dict[str, bytes] = {}
    _listening.append(found)
    try:
        yield found
    finally:
        # by identity: dictionaries of two blocks may be equal
        _listening[:] = [other for other in _listening if other is not found]


def note(key: str, payload: bytes) -> None:
    """Tell the blocks that listen of an entry."""
    for found in _listening:
        found[key] = payload
