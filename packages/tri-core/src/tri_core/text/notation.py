"""The notation of an op's format, and its parts.

A format is the op's text with holes in it; a blank is a blank when printed and any number of them when read::

    "%ptr(?, %mask(?, %other)){} : ^ptr"

=====================  ======================================================================================
``%x``, ``%x*``        operand ``x``; operands ``x`` separated by commas, perhaps none
``^x``, ``^x*``        the type of operand or result ``x``; the types of all of them
``^x<!tt.ptr>``        the type of ``x`` without its name: ``<f32>``
``^^``                 all operand types in parentheses, an arrow and the types of the results
``$a:Kind``            attribute ``a``, written as ``Kind`` says (see :class:`tri_core.text.syntax.Kind`)
``$a!``                unit attribute ``a``: its name if it is there
``{}``                 the other attributes, with a blank before them; nothing when there are none
``(? ... )``           a part that is there when its first hole is filled
`` `(` ``              what is between the backticks
anything else          itself
=====================  ======================================================================================
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field

from tri_core.lazy_dataclasses import dataclass

__all__ = [
    "Attribute",
    "Dictionary",
    "Functional",
    "Group",
    "Literal",
    "Operand",
    "Part",
    "Type",
    "parse_format",
    "walk",
]


@dataclass(frozen=True)
class Literal:
    """Text that stands for itself; ``token`` is it without blanks."""

    text: str

    @property
    def token(self) -> str:
        """Token expected by the reader."""
        return self.text.strip()


@dataclass(frozen=True)
class Operand:
    """``%name`` or, when ``many``, ``%name*``."""

    name: str
    many: bool


@dataclass(frozen=True)
class Type:
    """``^name``, ``^name*`` or ``^name<head>``."""

    name: str
    many: bool
    head: str


@dataclass(frozen=True)
class Functional:
    """``^^``."""


@dataclass(frozen=True)
class Attribute:
    """``$name:kind``; kind ``!`` is a unit attribute."""

    name: str
    kind: str


@dataclass(frozen=True)
class Dictionary:
    """``{}``."""


@dataclass(frozen=True)
class Group:
    """``(? ... )``."""

    parts: tuple[Part, ...] = field(default=())


Part = Literal | Operand | Type | Functional | Attribute | Dictionary | Group

_TOKEN = re.compile(
    r"%(?P<operand>\w+)(?P<operands>\*)?|\^(?P<functional>\^)|\^(?P<type>\w+)(?P<types>\*)?(?:<(?P<head>[\w!.]+)>)?"
    r"|\$(?P<attribute>\w+)(?::(?P<kind>\w+)|(?P<unit>!))|(?P<dictionary>\{\})|(?P<open>\(\?)|(?P<close>\))"
    r"|`(?P<quoted>[^`]+)`"
    r"|(?P<literal>[ ]*(?:->|[A-Za-z]\w*|[^\w\s%^$(){}`])[ ]*|[ ]+)"
)


def parse_format(text: str) -> tuple[Part, ...]:
    """The parts of a format; ValueError for a format that is not well formed."""
    stack: list[list[Part]] = [[]]
    position = 0
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            raise ValueError(f"format {text!r}: cannot read {text[position:]!r}")
        position = found.end()
        if found["open"]:
            stack.append([])
        elif found["close"]:
            parts = stack.pop()
            stack[-1].append(Group(tuple(parts)))
        else:
            stack[-1].append(_part(found))
    if len(stack) != 1:
        raise ValueError(f"format {text!r}: a group is not closed")
    return tuple(stack[0])


def _part(found: re.Match[str]) -> Part:
    if found["operand"]:
        return Operand(found["operand"], bool(found["operands"]))
    if found["functional"]:
        return Functional()
    if found["type"]:
        return Type(found["type"], bool(found["types"]), found["head"] or "")
    if found["attribute"]:
        return Attribute(found["attribute"], found["kind"] or "!")
    return Dictionary() if found["dictionary"] else Literal(found["quoted"] or found["literal"])


def walk(parts: tuple[Part, ...], optional: bool = False) -> Iterator[tuple[Part, bool]]:
    """Every part that is no group, and whether a group holds it."""
    for part in parts:
        if isinstance(part, Group):
            yield from walk(part.parts, True)
        else:
            yield part, optional
