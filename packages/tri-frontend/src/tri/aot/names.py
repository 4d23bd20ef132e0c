"""Names that go into C and into file names: identifiers of C and C++ that are no words of theirs; and comments that end where they are to."""

from __future__ import annotations

import re

from tri_core.errors import OptionError

__all__ = ["C_WORDS", "checked_name", "comment", "is_plain"]

#: keywords of C (to C23) and C++ (to C++23), whose programs include the headers, and C++'s words for operators
C_WORDS = frozenset(
    [
        "alignas",
        "alignof",
        "and",
        "and_eq",
        "asm",
        "auto",
        "bitand",
        "bitor",
        "bool",
        "break",
        "case",
        "catch",
        "char",
        "char16_t",
        "char32_t",
        "char8_t",
        "class",
        "co_await",
        "co_return",
        "co_yield",
        "compl",
        "concept",
        "const",
        "const_cast",
        "consteval",
        "constexpr",
        "constinit",
        "continue",
        "decltype",
        "default",
        "delete",
        "do",
        "double",
        "dynamic_cast",
        "else",
        "enum",
        "explicit",
        "export",
        "extern",
        "false",
        "float",
        "for",
        "friend",
        "goto",
        "if",
        "inline",
        "int",
        "long",
        "mutable",
        "namespace",
        "new",
        "noexcept",
        "not",
        "not_eq",
        "nullptr",
        "operator",
        "or",
        "or_eq",
        "private",
        "protected",
        "public",
        "register",
        "reinterpret_cast",
        "requires",
        "restrict",
        "return",
        "short",
        "signed",
        "sizeof",
        "static",
        "static_assert",
        "static_cast",
        "struct",
        "switch",
        "template",
        "this",
        "thread_local",
        "throw",
        "true",
        "try",
        "typedef",
        "typeid",
        "typename",
        "typeof",
        "typeof_unqual",
        "union",
        "unsigned",
        "using",
        "virtual",
        "void",
        "volatile",
        "wchar_t",
        "while",
        "xor",
        "xor_eq",
    ]
)
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: C's own: two underscores, or one before a capital letter
_RESERVED = re.compile(r"__|_[A-Z]")
#: with a hash and a suffix it is a file's name, of at most 255 bytes
_LONGEST = 200


def is_plain(name: str) -> bool:
    """True if ``name`` is an identifier of C without a meaning yet."""
    return (
        _IDENTIFIER.fullmatch(name) is not None
        and _RESERVED.match(name) is None
        and name not in C_WORDS
        and len(name) <= _LONGEST
    )


def checked_name(name: str) -> str:
    """``name`` as that of a C function and of files; OptionError where it cannot be one."""
    if is_plain(name):
        return name
    raise OptionError(
        f"no C function can be called {name[:_LONGEST]!r}",
        remedy=f"give it a name (--name) of at most {_LONGEST} letters, digits and underscores that is no keyword of C or C++",
    )


def comment(text: str) -> str:
    """``text`` as it may stand in a comment of C: on one line, without a comment's begin and end."""
    shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
    return shown.replace("*/", "* /").replace("/*", "/ *")
