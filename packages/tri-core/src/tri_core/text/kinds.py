"""Kinds of attributes in formats: keywords, flags, numbers, strings, symbols."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import IntEnum

from tri_core.lazy_dataclasses import dataclass

__all__ = ["Flags", "Integer", "Integers", "Keyword", "Plain"]

_I32 = re.compile(r"(-?\d+) : i32")


def _number(value: str) -> int:
    found = _I32.fullmatch(value)
    if found is None:
        raise ValueError(f"an i32 attribute is expected, found {value}")
    return int(found[1])


@dataclass(frozen=True)
class Keyword:
    """A value of an enumeration as a word, stored as an i32."""

    words: Mapping[int, str]
    token: str = "word"

    @classmethod
    def of(cls, enum: type[IntEnum], **other: str) -> Keyword:
        """The names of ``enum`` in lower case, except those given otherwise."""
        return cls({int(e): other.get(e.name, e.name.lower()) for e in enum})

    def write(self, value: str) -> str:
        """The word of a number."""
        number = _number(value)
        if number not in self.words:
            raise ValueError(f"{number} has no name; known: {dict(self.words)}")
        return self.words[number]

    def read(self, text: str) -> str:
        """The number of a word."""
        for number, word in self.words.items():
            if word == text:
                return f"{number} : i32"
        raise ValueError(f"one of {', '.join(self.words.values())}")


@dataclass(frozen=True)
class Flags:
    """A set of bits as words between bars, stored as an i32; ``whole`` names certain sets."""

    bits: Mapping[int, str]
    whole: Mapping[int, str]
    token: str = "words"

    def write(self, value: str) -> str:
        """Text of a number."""
        number = _number(value)
        if number in self.whole:
            return self.whole[number]
        words = [word for bit, word in self.bits.items() if number & bit]
        if number & ~sum(self.bits):
            raise ValueError(f"{number} has unknown bits; known: {dict(self.bits)}")
        return "|".join(words)

    def read(self, text: str) -> str:
        """The number of words."""
        known = {word: bit for bit, word in {**self.bits, **self.whole}.items()}
        number = 0
        for word in text.split("|"):
            if word not in known:
                raise ValueError(f"one of {', '.join(known)}")
            number |= known[word]
        return f"{number} : i32"


@dataclass(frozen=True)
class Integer:
    """An i32 without its type."""

    token: str = "integer"

    def write(self, value: str) -> str:
        """The number."""
        return str(_number(value))

    def read(self, text: str) -> str:
        """The attribute."""
        return f"{text} : i32"


@dataclass(frozen=True)
class Integers:
    """An array of integers of ``bits`` between square brackets."""

    token: str = "integers"
    bits: int = 32

    def write(self, value: str) -> str:
        """The numbers in brackets."""
        found = re.fullmatch(rf"array<i{self.bits}(?:: ([-\d, ]+))?>", value)
        if found is None:
            raise ValueError(f"an array of i{self.bits} is expected, found {value}")
        return f"[{found[1] or ''}]"

    def read(self, text: str) -> str:
        """The attribute."""
        inside = text[1:-1].strip()
        return f"array<i{self.bits}: {inside}>" if inside else f"array<i{self.bits}>"


@dataclass(frozen=True)
class Plain:
    """A value that is written in formats as it is elsewhere: a string or a symbol."""

    token: str

    def write(self, value: str) -> str:
        """``value``."""
        return value

    def read(self, text: str) -> str:
        """``text``."""
        return text
