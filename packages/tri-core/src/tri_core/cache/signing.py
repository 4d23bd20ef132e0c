"""Entries that a key vouches for: an HMAC-SHA-256 before what a store's file holds.

Whoever can write to a store that many share could otherwise have programs of theirs run by all who read it.  The HMAC covers
the entry with its key, so that an entry under another one's name is not taken for it.
"""

from __future__ import annotations

import hashlib
import hmac
from pathlib import Path

from tri_core.cache import entry
from tri_core.errors import OptionError
from tri_core.files import read_bytes

__all__ = ["SHORTEST", "secret_of", "sign", "verify"]

MAGIC = b"TRI-SIGNED-1\n"
#: bytes of a key that is no guess
SHORTEST = 16
_REMEDY = "make one: openssl rand -hex 32 > FILE"
_SIZE = hashlib.sha256().digest_size


def secret_of(text: str | None, path: Path | None) -> bytes | None:
    """The key that ``text`` or the file ``path`` gives, without space around it; None without either.

    OptionError where both are given, the file cannot be read, or the key has fewer than 16 bytes.
    """
    if text is not None and path is not None:
        raise OptionError(
            "TRI_CACHE_KEY and TRI_CACHE_KEY_FILE both give a key", remedy="set one of the two variables"
        )
    if text is None and path is None:
        return None
    found = (text.encode() if text is not None else read_bytes(path or Path(), _REMEDY)).strip()
    if len(found) < SHORTEST:
        raise OptionError(f"the key of the cache has fewer than {SHORTEST} bytes", remedy=_REMEDY)
    return found


def sign(key: str, payload: bytes, secret: bytes) -> bytes:
    """The entry of ``payload`` under ``key``, signed by ``secret``."""
    content = entry.pack(key, payload) + payload
    return MAGIC + _mac(content, secret) + content


def verify(key: str, content: bytes, secret: bytes) -> bytes | str:
    """The payload of ``key`` in ``content``; a text that says why it is not to be used, otherwise."""
    if not content.startswith(MAGIC):
        return "is not signed"
    begin = len(MAGIC) + _SIZE
    mac, content = content[len(MAGIC) : begin], content[begin:]
    if not hmac.compare_digest(mac, _mac(content, secret)):
        return "is damaged, or signed by another key"
    found = entry.unpack(content)
    if found is None:
        return "is of another version of tri"
    return found.payload if found.key == key else f"is that of {found.key}"


def _mac(content: bytes, secret: bytes) -> bytes:
    return hmac.new(secret, MAGIC + content, hashlib.sha256).digest()
