"""``tl.core``: the names of :mod:`tri.language`, for code that spells them so."""

from __future__ import annotations

from typing import Any

__all__: list[str] = []


def __getattr__(name: str) -> Any:
    import tri.language

    if name.startswith("__"):
        raise AttributeError(name)
    try:
        return getattr(tri.language, name)
    except AttributeError:
        raise AttributeError(f"tri.language.core has no attribute {name!r}") from None


def __dir__() -> list[str]:
    import tri.language

    return sorted(tri.language.__all__)
