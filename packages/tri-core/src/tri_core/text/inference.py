"""Types that a format leaves out, made from the text of those that it gives."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

__all__ = ["RULES", "infer"]

_TENSOR = re.compile(r"tensor<((?:\d+x)*)(.*)>", re.DOTALL)
_POINTER = re.compile(r"!tt\.ptr<(.*)>", re.DOTALL)


def _tensor(text: str) -> tuple[str, str, str] | None:
    """Sizes (``8x16x``), element and encoding (with its comma) of a tensor type; None for a scalar."""
    found = _TENSOR.fullmatch(text)
    if found is None:
        return None
    element, encoding = _cut(found[2])
    return found[1], element, encoding


def _cut(text: str) -> tuple[str, str]:
    """``text`` before its first outermost comma, and from there."""
    depth = 0
    for i, c in enumerate(text):
        depth += (c in "<{[(") - (c in ">}])")
        if c == "," and depth == 0:
            return text[:i], text[i:]
    return text, ""


def _pointee(text: str) -> str:
    """Pointee type; for a tensor of pointers a tensor."""
    parts = _tensor(text)
    if parts is not None:
        return f"tensor<{parts[0]}{_pointee(parts[1])}{parts[2]}>"
    found = _POINTER.fullmatch(text)
    if found is None:
        raise ValueError(f"a pointer is expected, found {text}")
    return _cut(found[1])[0]


def _bool(text: str) -> str:
    """The same shape, of i1."""
    parts = _tensor(text)
    return "i1" if parts is None else f"tensor<{parts[0]}i1{parts[2]}>"


def _ints(text: str) -> str:
    """The same shape, of i32."""
    parts = _tensor(text)
    return "i32" if parts is None else f"tensor<{parts[0]}i32{parts[2]}>"


def _element(text: str) -> str:
    """The element of a tensor."""
    parts = _tensor(text)
    if parts is None:
        raise ValueError(f"a tensor is expected, found {text}")
    return parts[1]


#: what a rule ``name=rule(other)`` may say
RULES: dict[str, Callable[[str], str]] = {
    "bool": _bool,
    "ints": _ints,
    "pointee": _pointee,
    "element": _element,
    "same": lambda text: text,
}


@lru_cache(maxsize=8192)
def infer(rule: str, source: str) -> str:
    """The type that ``rule`` makes of type ``source``; ValueError when it makes none."""
    return RULES[rule](source)
