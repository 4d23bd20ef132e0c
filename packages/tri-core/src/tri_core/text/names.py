"""Types and attributes with parameters, in either direction, wherever they stand in a text."""

from __future__ import annotations

import re
from dataclasses import field

from tri_core.lazy_dataclasses import dataclass
from tri_core.text.scan import BALANCED, STRING
from tri_core.text.syntax import TypeSyntax, syntaxes

__all__ = ["Reader", "Writer", "pattern"]


def pattern() -> str:
    """A type or attribute of a dialect that has a text, as a regular expression."""
    names = "|".join(sorted(syntaxes()))
    return rf"[!#](?:{names})\.[\w.]+(?:{BALANCED})?"


@dataclass
class _Names:
    """Rewrites every type and attribute in a text; each different one is worked out once."""

    known: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._search = re.compile(f"{STRING}|{pattern()}")
        self._table = self._syntax_by_name()

    def _syntax_by_name(self) -> dict[str, TypeSyntax]:
        raise NotImplementedError

    def __call__(self, text: str) -> str:
        """``text`` with its types and attributes rewritten; ValueError for one that cannot be."""
        return self._search.sub(self._one, text)

    def _one(self, found: re.Match[str]) -> str:
        text = found.group()
        made = self.known.get(text)
        if made is None:
            made = self.known[text] = text if text[0] == '"' else self._rewrite(text)
        return made

    def _rewrite(self, text: str) -> str:
        name, angle, rest = text.partition("<")
        body = angle + rest
        syntax = self._table.get(name)
        if syntax is None:
            return name + (self(body) if body else "")
        return self._apply(syntax, body)

    def _apply(self, syntax: TypeSyntax, body: str) -> str:
        raise NotImplementedError


class Reader(_Names):
    """From the text to generic form."""

    def _syntax_by_name(self) -> dict[str, TypeSyntax]:
        return {t.name: t for s in syntaxes().values() for t in s.types}

    def _apply(self, syntax: TypeSyntax, body: str) -> str:
        return (syntax.generic or syntax.name) + syntax.read(self(body))


class Writer(_Names):
    """From generic form to the text; attributes that have an alias are replaced by it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.aliases: dict[str, str] = {}
        self._counts: dict[str, int] = {}

    def _syntax_by_name(self) -> dict[str, TypeSyntax]:
        return {t.generic or t.name: t for s in syntaxes().values() for t in s.types}

    def _apply(self, syntax: TypeSyntax, body: str) -> str:
        made = syntax.name + syntax.write(self(body))
        if not syntax.alias:
            return made
        if made not in self.aliases:
            count = self._counts.get(syntax.alias, 0)
            self._counts[syntax.alias] = count + 1
            self.aliases[made] = f"#{syntax.alias}{count or ''}"
        return self.aliases[made]

    def definitions(self) -> list[str]:
        """The lines that define the aliases, sorted as MLIR sorts them."""

        def key(item: tuple[str, str]) -> tuple[str, int]:
            name = item[1].rstrip("0123456789")
            return name, int(item[1][len(name) :] or 0)

        return [f"{alias} = {made}" for made, alias in sorted(self.aliases.items(), key=key)]
