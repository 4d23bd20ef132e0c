"""Results of autotuners, kept in the cache across processes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tri.tuning.config import Config

if TYPE_CHECKING:
    from tri.jit import JITFunction
    from tri_core.target import Target

__all__ = ["among", "load", "save", "save_texts", "store_key", "text_of"]

_FORMAT = 2

Timings = dict[Config, list[float]]


def text_of(key: Sequence[Any]) -> str:
    """A tuning key as text."""
    return repr(tuple(key))


def among(configs: Sequence[Config]) -> str:
    """A digest of the configurations that a choice was made from."""
    return hashlib.sha256(json.dumps([str(config) for config in configs]).encode()).hexdigest()


def store_key(function: JITFunction, target: Target, key: str, among: str) -> str:
    """A hash of everything that a choice depends on: kernel, target and tools, tuning key and configurations (:func:`text_of`, :func:`among`)."""
    from tri_core.compiler import environment_of

    facts = [
        "autotune",
        _FORMAT,
        function.cache_key,
        environment_of(target),
        key,
        among,
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
    save_texts(key, {str(config): ms for config, ms in timings.items()})


def save_texts(key: str, timings: Mapping[str, Sequence[float]]) -> None:
    """Keep ``timings``, of configurations by their texts, under ``key``."""
    from tri_core.cache import default_store

    entries = [{"config": config, "ms": list(ms)} for config, ms in timings.items()]
    default_store().put(key, json.dumps(entries).encode())
