"""Nothing compiles while serving: what a run launches is recorded, compiled anywhere, and read from one file.

:func:`record`, :func:`warm` and :func:`serve` are what ``tri record``, ``tri warm`` and ``TRI_BUNDLE`` do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tri.serving.manifest import Choice, LeftOut, Manifest, Version
    from tri.serving.policy import Coverage, Missing, Served, serve
    from tri.serving.recorder import record
    from tri.serving.warming import Warmed, warm

__all__ = [
    "Choice",
    "Coverage",
    "LeftOut",
    "Manifest",
    "Missing",
    "Served",
    "Version",
    "Warmed",
    "record",
    "serve",
    "warm",
]

_HOMES = {
    **dict.fromkeys(("Choice", "LeftOut", "Manifest", "Version"), "manifest"),
    **dict.fromkeys(("Coverage", "Missing", "Served", "serve"), "policy"),
    "record": "recorder",
    **dict.fromkeys(("Warmed", "warm"), "warming"),
}


def __getattr__(name: str) -> Any:
    import importlib

    if name not in _HOMES:
        raise AttributeError(f"module {__name__} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
