"""The functions of ``tl.extra.libdevice``, written in the language: the same on every target.

``table`` has names and types, ``catalogue`` says which formula computes which, the others hold the formulas.
"""

from __future__ import annotations

from tri.language.libdevice.dispatch import FUNCTIONS

__all__ = ["FUNCTIONS"]
