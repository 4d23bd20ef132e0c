"""The kernel cache: a content-addressed store that processes share."""

from __future__ import annotations

from tri_core.cache.default import default_store
from tri_core.cache.store import Store

__all__ = ["Store", "default_store"]
