"""Nesting depth of a text: readers descend once per bracket, on a limited stack."""

from __future__ import annotations

import re
from itertools import accumulate

from tri_core.text.scan import STRING, error_at

__all__ = ["MOST", "check_depth"]

#: brackets within each other; kernels have tens, with locations of inlined calls
MOST = 400

_OTHERS = bytes(sorted(set(range(256)) - set(b"()[]{}<>")))
_STEP = {byte: 1 if byte in b"([{<" else -1 for byte in b"()[]{}<>"}
_NO_BRACKETS = re.compile(rf"{STRING}|//[^\n]*+|->")
_PARTS = re.compile(rf"{STRING}|//[^\n]*+|->|(?P<open>[(\[{{<])|(?P<close>[)\]}}>])")


def check_depth(text: str, path: str = "-") -> None:
    """VerificationError, located in ``text`` that is called ``path``, where brackets nest more than :data:`MOST` deep."""
    if sum(map(text.count, "([{<")) <= MOST:
        return
    brackets = _NO_BRACKETS.sub("", text).encode("utf-8", "replace").translate(None, _OTHERS)
    if max(accumulate(map(_STEP.__getitem__, brackets)), default=0) <= MOST:
        return
    depth = 0
    for found in _PARTS.finditer(text):
        depth += (found["open"] is not None) - (found["close"] is not None)
        if depth > MOST:
            raise error_at(
                text,
                found.start(),
                f"the text nests more than {MOST} brackets within each other",
                path,
                remedy="outline inner regions into functions; types and locations are given a name (#loc1 = ...)",
            )
