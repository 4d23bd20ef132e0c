"""The latest compiles of every kernel, kept in memory and in the cache on disk."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from tri.compile_reasons.picture import Picture
from tri_core import forks

if TYPE_CHECKING:
    from tri.kernel import Kernel

__all__ = ["identity", "load", "update"]

#: compiles remembered of one kernel
_KEPT = 32
_FORMAT = 1

_lock = forks.Lock()


def identity(function: Kernel) -> str:
    """Identity of a kernel over time, whatever its source becomes: file and qualified name."""
    return f"{function.python_function.__code__.co_filename}:{function.__qualname__}"


def _key(name: str) -> str:
    return hashlib.sha256(f"explain {_FORMAT} {name}".encode()).hexdigest()


def load(name: str) -> list[Picture]:
    """The remembered compiles of kernel ``name``, oldest first."""
    from tri_core.cache import default_store

    payload = default_store().get(_key(name), is_local=True)
    if payload is None:
        return []
    try:
        return [Picture.from_json(entry) for entry in json.loads(payload)]
    except (ValueError, TypeError):
        return []  # of another version of tri


def update(name: str, judge: Callable[[list[Picture]], Picture]) -> None:
    """Remember what ``judge`` makes of the earlier compiles; what it raises leaves them as they are.

    Two processes at once may lose one of their entries: this is a log, not a ledger.
    """
    from tri_core.cache import default_store

    with _lock:
        kept = load(name)
        kept.append(judge(kept))
        payload = json.dumps([entry.to_json() for entry in kept[-_KEPT:]]).encode()
        default_store().put(_key(name), payload, is_local=True)
