"""IR as text in Triton's own syntax: printed, parsed, and the tables that both are made from.

A dialect's package describes its text with :class:`DialectSyntax` and registers it with :func:`add_syntax`;
:func:`print_module` and :func:`parse_module` then know it.
"""

from __future__ import annotations

from tri_core.text.kinds import Flags, Integer, Integers, Keyword, Plain
from tri_core.text.module import parse_module, print_module
from tri_core.text.reader import from_text
from tri_core.text.syntax import (
    DialectSyntax,
    Fold,
    OpSyntax,
    Partitions,
    TypeSyntax,
    add_syntax,
    op,
    syntaxes,
)
from tri_core.text.tt import CACHE_POLICY, TT
from tri_core.text.writer import to_text

__all__ = [
    "CACHE_POLICY",
    "DialectSyntax",
    "Flags",
    "Fold",
    "Integer",
    "Integers",
    "Keyword",
    "OpSyntax",
    "Partitions",
    "Plain",
    "TypeSyntax",
    "add_syntax",
    "from_text",
    "op",
    "parse_module",
    "print_module",
    "syntaxes",
    "to_text",
]

add_syntax(TT)
