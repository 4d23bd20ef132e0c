"""The modules among the artifacts, as people read them."""

from __future__ import annotations

import re

__all__ = ["is_module", "readable"]

_MODULE = re.compile(r'(?:#[^\n]*\n|\s)*"?(?:builtin\.)?module\b')


def is_module(text: str) -> bool:
    """True if ``text`` is an MLIR module, in whatever form."""
    return _MODULE.match(text) is not None


def readable(content: bytes) -> bytes:
    """Text that MLIR printed for a stage, in the syntax of :mod:`tri_core.text`; the dialects must be
    registered.
    """
    from tri_core.text import to_text

    return to_text(content.decode()).encode()
