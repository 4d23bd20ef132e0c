"""Grids of C functions: expressions of integers, read before they are written into C."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tri_core.errors import OptionError

__all__ = ["names_in"]

_TOKEN = re.compile(r"\s*(?:(\d+)|([A-Za-z_][A-Za-z0-9_]*)|(<=|>=|==|!=|&&|\|\||[-+*/%()<>!?:&|]))", re.ASCII)
_BINARY = frozenset(("+", "-", "*", "/", "%", "<", ">", "<=", ">=", "==", "!=", "&&", "||", "&", "|"))
_LONGEST, _DEEPEST = 1000, 50
_LARGEST = 2**31 - 1


def names_in(text: str) -> list[str]:
    """The names in ``text``, in their order; OptionError where it is no arithmetic of integers in C, or too long.

    It may be ``+ - * / % ( )``, comparisons, ``&& || ! & |`` and ``a ? b : c``, of names and of decimal numbers below 2^31.
    """
    if len(text) > _LONGEST or not text.isascii() or not text.isprintable():
        raise _wrong(text, f"it may have {_LONGEST} characters, on one line")
    reader = _Reader(text)
    reader.expression(0)
    if reader.token is not None:
        raise reader.wrong()
    return reader.names


class _Reader:
    """Goes through the tokens; ``names`` are those met."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.names: list[str] = []
        self._tokens = self._split()
        self.token: str | None = next(self._tokens, None)

    def _split(self) -> Iterator[str]:
        at, end = 0, len(self.text.rstrip())
        while at < end:
            found = _TOKEN.match(self.text, at)
            if found is None:
                raise self.wrong()
            yield found[0].strip()
            at = found.end()

    def wrong(self) -> OptionError:
        """The error for what is no expression."""
        return _wrong(self.text, "use + - * / % ( ), comparisons, && || ! and a ? b : c")

    def _next(self) -> str:
        token = self.token
        if token is None:
            raise self.wrong()
        self.token = next(self._tokens, None)
        return token

    def expression(self, depth: int) -> None:
        """Operands between operators, and a choice between two expressions at the end."""
        if depth > _DEEPEST:
            raise _wrong(self.text, f"nest at most {_DEEPEST} deep")
        self._operand(depth)
        while self.token in _BINARY:
            self._next()
            self._operand(depth)
        if self.token == "?":
            self._next()
            self.expression(depth + 1)
            if self._next() != ":":
                raise self.wrong()
            self.expression(depth + 1)

    def _operand(self, depth: int) -> None:
        token = self._next()
        if token in ("-", "!"):
            if token == self.token:  # -- is another operator
                raise self.wrong()
            token = self._next()
        if token == "(":
            self.expression(depth + 1)
            if self._next() != ")":
                raise self.wrong()
        elif token.isdecimal():
            if int(token) > _LARGEST or (token[0] == "0" and token != "0"):
                raise _wrong(self.text, "write numbers in decimal, below 2^31")
        elif token.isidentifier():
            self.names.append(token)
        else:
            raise self.wrong()


def _wrong(text: str, remedy: str) -> OptionError:
    shown = text if len(text) < 80 else f"{text[:77]}..."
    return OptionError(f"{shown!r} in the grid is no arithmetic of integers", remedy=remedy)
