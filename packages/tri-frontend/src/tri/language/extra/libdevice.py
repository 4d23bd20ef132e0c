"""``tl.extra.libdevice``: mathematical functions by the names of libdevice, on every target."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tri.language.libdevice import FUNCTIONS

__all__ = sorted(FUNCTIONS)

globals().update(FUNCTIONS)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...
