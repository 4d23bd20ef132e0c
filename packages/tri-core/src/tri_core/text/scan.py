"""Reading text piece by piece: what MLIR's tokens look like, and where an error is."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NoReturn

from tri_core.errors import SourceLocation, VerificationError
from tri_core.lazy_dataclasses import dataclass

__all__ = ["BALANCED", "STRING", "Cursor", "dictionary", "error_at", "split", "split_pairs"]

STRING = r'"(?:[^"\\\n]|\\.)*+"'


def _nested(opening: str, closing: str, depth: int) -> str:
    """A pattern for a balanced pair; ``depth`` pairs deep, which is more than types have."""
    inner = ""
    for _ in range(depth):
        nested = f"|{inner}" if inner else ""
        inner = rf'{opening}(?:[^{opening}{closing}"\-]++|->|-|{STRING}{nested})*+{closing}'
    return inner


#: the angle brackets of a type or attribute with everything in them
BALANCED = _nested("<", ">", 8)
_BRACES = _nested("{", "}", 6).replace("[^{}", r"[^\{\}").replace("{(?", r"\{(?").replace("*+}", r"*+\}")
_BLANK = re.compile(r"(?:[ \t\r\n]++|//[^\n]*+)*+")
_BLANKS = tuple(" \t\r\n/")
_VALUE = re.compile(r"%[\w.$-]++(?:#\d+)?")
_WORD = re.compile(r"[A-Za-z_][\w.$]*+")
_INTEGER = re.compile(r"-?\d++")
_SYMBOL = re.compile(rf"@(?:[A-Za-z_][\w.$-]*+|{STRING})(?:::@(?:[A-Za-z_][\w.$-]*+|{STRING}))*")
_TYPE = re.compile(rf"(?:![A-Za-z_][\w$]*+(?:\.[\w$]++)*+|[A-Za-z_]\w*+)(?:{BALANCED})?")
_ANGLED = re.compile(BALANCED)
_STRING = re.compile(STRING)
_DICTIONARY = re.compile(_BRACES)
_LOCATION = re.compile(r"loc\(")
_PARTS = re.compile(rf"{STRING}|->|[<(\[{{]|[>)\]}}]|,|=")


def error_at(
    text: str, position: int, message: str, path: str, remedy: str | None = None
) -> VerificationError:
    """The error ``message`` at offset ``position`` of ``text``, which is called ``path``."""
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    line = text[start : end if end >= 0 else len(text)]
    where = SourceLocation(path, text.count("\n", 0, position) + 1, position - start, line)
    return VerificationError(message, location=where, remedy=remedy)


@dataclass
class Cursor:
    """A place in a text; every method reads one thing after blanks and comments, or fails with its place."""

    text: str
    position: int
    path: str = "-"

    def fail(self, expected: str) -> NoReturn:
        """Say what was expected here."""
        self.blank()
        found = self.text[self.position : self.position + 20].split("\n")[0].strip()
        shown = f"found {found!r}" if found else "found the end of the line"
        raise error_at(self.text, self.position, f"{expected} is expected, {shown}", self.path)

    def blank(self) -> int:
        """Skip blanks and comments; the position after them."""
        position = self.position
        if self.text[position : position + 1] == " ":
            position += 1
        if self.text[position : position + 1] in _BLANKS:
            found = _BLANK.match(self.text, position)
            position = found.end() if found else position
        self.position = position
        return position

    def _take(self, pattern: re.Pattern[str], expected: str) -> str:
        found = pattern.match(self.text, self.blank())
        if found is None:
            self.fail(expected)
        self.position = found.end()
        return found.group()

    def sees(self, literal: str) -> bool:
        """True if ``literal`` comes next; a word must end where it ends."""
        before = self.position
        here = self.blank()
        if not self.text.startswith(literal, here):
            self.position = before  # the blanks may be another reader's
            return False
        if not literal[-1].isalnum():
            return True
        after = self.text[here + len(literal) : here + len(literal) + 1]
        return not after or not (after.isalnum() or after in "_.$")

    def accept(self, literal: str) -> bool:
        """Read ``literal`` if it comes next."""
        if self.sees(literal):
            self.position += len(literal)
            return True
        return False

    def expect(self, literal: str) -> None:
        """Read ``literal``."""
        if not self.accept(literal):
            self.fail(f"`{literal}`")

    def value(self) -> str:
        """A value such as ``%3`` or ``%r#1``."""
        return self._take(_VALUE, "a value such as %0")

    def values(self) -> list[str]:
        """Values separated by commas; none when the next thing is no value."""
        if not self.sees("%"):
            return []
        found = [self.value()]
        while self.accept(","):
            found.append(self.value())
        return found

    def word(self, expected: str = "a keyword") -> str:
        """A bare word."""
        return self._take(_WORD, expected)

    def integer(self) -> str:
        """A decimal integer."""
        return self._take(_INTEGER, "an integer")

    def symbol(self) -> str:
        """A symbol such as ``@kernel``."""
        return self._take(_SYMBOL, "a symbol such as @name")

    def string(self) -> str:
        """A string, in its quotes."""
        return self._take(_STRING, "a string")

    def type(self) -> str:
        """A type."""
        return self._take(_TYPE, "a type")

    def angled(self) -> str:
        """Text in angle brackets, including them."""
        return self._take(_ANGLED, "a type's parameters in <>")

    def types(self) -> list[str]:
        """Types separated by commas."""
        found = [self.type()]
        while self.accept(","):
            found.append(self.type())
        return found

    def braces(self) -> str:
        """A dictionary of attributes, with its braces."""
        return self._take(_DICTIONARY, "a dictionary of attributes")

    def type_list(self) -> list[str]:
        """Types in parentheses, or a single type without."""
        if not self.accept("("):
            return [self.type()]
        if self.accept(")"):
            return []
        found = self.types()
        self.expect(")")
        return found

    def location(self) -> str:
        """``loc(...)`` if it comes next, else nothing."""
        before = self.position
        found = _LOCATION.match(self.text, self.blank())
        if found is None:
            self.position = before
            return ""
        depth, position = 1, found.end()
        for part in re.compile(rf"{STRING}|[()]").finditer(self.text, position):
            depth += {"(": 1, ")": -1}.get(part.group(), 0)
            if depth == 0:
                self.position = part.end()
                return self.text[found.start() : part.end()]
        return self.fail("`)`")


@lru_cache(maxsize=4096)
def split(text: str) -> tuple[str, ...]:
    """``text`` cut at its outermost commas; nothing for blank text."""
    parts, depth, start = [], 0, 0
    for found in _PARTS.finditer(text):
        token = found.group()
        if token in "<([{":
            depth += 1
        elif token in ">)]}":
            depth -= 1
        elif token == "," and depth == 0:
            parts.append(text[start : found.start()].strip())
            start = found.end()
    last = text[start:].strip()
    return (*parts, last) if last or parts else ()


@lru_cache(maxsize=4096)
def split_pairs(text: str) -> tuple[tuple[str, str], ...]:
    """The entries of a dictionary ``{a = 1 : i32, b}`` by name; a unit attribute has an empty value."""
    entries = []
    for entry in split(text.strip()[1:-1]):
        name, equals, value = entry.partition("=")
        entries.append((name.strip(), value.strip() if equals else ""))
    return tuple(entries)


def dictionary(attributes: dict[str, str]) -> str:
    """``attributes`` as text, sorted as MLIR sorts them; empty when there are none."""
    if not attributes:
        return ""
    bare = sorted(attributes.items(), key=lambda item: item[0].strip('"'))
    return "{" + ", ".join(f"{name} = {value}" if value else name for name, value in bare) + "}"
