"""What autotuners chose, kept in the cache across processes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tri.tuning.config import Config

if TYPE_CHECKING:
    from tri.jit import JITFunction
    from tri_core.target import Target

__all__ = ["load", "save", "store_key"]

_FORMAT = 1

Timings = dict[Config, list[float]]


def store_key(function: JITFunction, target: Target, key: Sequence[Any], configs: Sequence[Config]) -> str:
    """A hash of everything that a choice depends on: kernel, target and tools, tuning key, configurations."""
    from tri_core.compiler import environment_of

    facts = [
        "autotune",
        _FORMAT,
        function.cache_key,
        environment_of(target),
        repr(tuple(key)),
        [str(config) for config in configs],
    ]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def load(key: str, configs: Sequence[Config]) -> Timings | None:
    """The timings in ms per configuration kept under ``key``; None when there are none."""
    from tri_core.cache import default_store

    payload = default_store().get(key)
    if payload is None:
        return None
    try:
        found = {entry["config"]: entry["ms"] for entry in json.loads(payload)}
        return {config: found[str(config)] for config in configs if str(config) in found} or None
    except (ValueError, KeyError, TypeError):
        return None


def save(key: str, timings: Timings) -> None:
    """Keep ``timings`` under ``key``."""
    from tri_core.cache import default_store

    entries = [{"config": str(config), "ms": ms} for config, ms in timings.items()]
    default_store().put(key, json.dumps(entries).encode())
