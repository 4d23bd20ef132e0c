"""Texts of IR compared without regard to how values are called."""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["renamed"]

_DEFINED = re.compile(r"^(\s*)((?:%[\w.$-]+(?::\d+)?(?:, )?)+) = ", re.MULTILINE)
_DEFINITION = re.compile(r"%[\w.$#-]+(?=(?:, %[\w.$#-]+)* = |: )")
_VALUE = re.compile(r"%[\w.$-]+(?:#\d+)?")


def renamed(text: str) -> str:
    """``text`` with values numbered as they appear, and the definitions of aliases in alphabetical order.

    ``%r:2 = `` and ``%a, %b = `` become the same; names of locations are not touched.
    """
    lines = _DEFINED.sub(_each_result, text).splitlines()
    aliases = sorted(line for line in lines if line.startswith("#"))
    body = [line for line in lines if line.strip() and not line.startswith("#")]
    return "\n".join([*aliases, *_numbered(body)])


def _each_result(found: re.Match[str]) -> str:
    names: list[str] = []
    for group in found[2].split(", "):
        name, _, count = group.partition(":")
        names += [f"{name}#{i}" for i in range(int(count))] if count else [name]
    return f"{found[1]}{', '.join(names)} = "


def _numbered(lines: list[str]) -> Iterator[str]:
    """Names may be used again in another region, for another value: each definition gets a new number."""
    numbers: dict[str, str] = {}
    count = 0

    def define(found: re.Match[str]) -> str:
        nonlocal count
        count += 1
        numbers[found.group()] = f"%{count}"
        return found.group()

    for line in lines:
        _DEFINITION.sub(define, line)
        yield _VALUE.sub(lambda found: numbers.get(found.group(), found.group()), line)
