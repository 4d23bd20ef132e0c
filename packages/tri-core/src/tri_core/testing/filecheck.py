"""Checks of text written beside it, in the manner of LLVM's FileCheck.

::

    filecheck(text, '''
        CHECK-LABEL: "tt.func"
        CHECK: %[[P:.*]] = "tt.splat"
        CHECK-NEXT: "tt.load"(%[[P]])
        CHECK-NOT: "tt.store"
    ''')

Directives: ``CHECK`` (somewhere after the last match), ``CHECK-NEXT`` (on the line after it), ``CHECK-SAME`` (on
its line), ``CHECK-DAG`` (neighbouring ones in any order), ``CHECK-NOT`` (not before the next match),
``CHECK-COUNT-n`` (n times) and ``CHECK-LABEL`` (first of all: it cuts the text into parts, and what follows it is
looked for in its part).  In a pattern ``{{regex}}`` is a regular expression, ``[[X:regex]]`` one whose match is
called X, ``[[X]]`` that text again; the rest is literal, runs of blanks being equal.  Lines that hold no
directive are comments.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field

from tri_core.lazy_dataclasses import dataclass

__all__ = ["FileCheckError", "filecheck"]

_DIRECTIVE = re.compile(
    r"\bCHECK(?:-(?P<kind>NEXT|SAME|DAG|NOT|LABEL|COUNT-(?P<count>\d+)))?:[ \t]*(?P<pattern>.*)"
)
_UNKNOWN = re.compile(r"\bCHECK-[A-Z\d-]+:")
_PART = re.compile(
    r"\{\{(?P<regex>.*?)\}\}(?!\})|\[\[(?P<name>\w+)(?::(?P<define>.*?))?\]\](?!\])|(?P<blank>[ \t]+)|(?P<text>.)"
)


class FileCheckError(AssertionError):
    """A directive does not hold; the message shows it and where in the text it was looked for."""


@dataclass(frozen=True)
class _Check:
    kind: str
    pattern: str
    count: int = 1

    def __str__(self) -> str:
        return f"CHECK{'-' + self.kind if self.kind else ''}: {self.pattern}"


@dataclass
class _Matcher:
    """The text, the part of it that is looked at, and how far it has been matched."""

    text: str
    position: int = 0
    end: int = 0
    variables: dict[str, str] = field(default_factory=dict)

    def find(self, check: _Check, start: int, end: int) -> re.Match[str] | None:
        """The first match of ``check`` in ``text[start:end]``."""
        return re.compile(_compiled(check, self.variables), re.MULTILINE).search(self.text, start, end)

    def take(self, check: _Check, start: int, end: int) -> re.Match[str]:
        """As :meth:`find`, keeping what it calls by name; FileCheckError when there is none."""
        found = self.find(check, start, end)
        if found is None:
            raise self.failure(check, start, "no match")
        self.variables.update({k: v for k, v in found.groupdict().items() if v is not None})
        return found

    def failure(self, check: _Check, at: int, what: str) -> FileCheckError:
        """The error for ``check``, which was looked for from ``at``."""
        line = self.text.count("\n", 0, at) + 1
        lines = self.text.splitlines()[line - 1 : line + 14]
        known = "".join(f"\n  with {name} = {value!r}" for name, value in self.variables.items())
        shown = "\n".join(f"{line + i:5}: {content}" for i, content in enumerate(lines))
        return FileCheckError(f"{check}: {what}{known}\nlooking from line {line}:\n{shown}")


def filecheck(text: str, checks: str) -> None:
    """Raise :class:`FileCheckError` unless ``text`` is as the directives in ``checks`` say."""
    parsed = _parse(checks)
    if not parsed:
        raise FileCheckError("no CHECK directive: nothing would be checked")
    matcher = _Matcher(text, end=len(text))
    for label, group, end in _parts(matcher, parsed):
        matcher.end = len(text)
        if label is not None:
            matcher.position = matcher.take(label, matcher.position, len(text)).end()
        matcher.end = end
        _check_part(matcher, group)


def _parse(checks: str) -> list[_Check]:
    parsed = []
    for line in checks.splitlines():
        found = _DIRECTIVE.search(line)
        if found is not None:
            kind = "COUNT" if found["count"] else found["kind"] or ""
            parsed.append(_Check(kind, found["pattern"].rstrip(), int(found["count"] or 1)))
        elif _UNKNOWN.search(line):
            raise FileCheckError(f"unknown directive: {line.strip()}")
    return parsed


def _parts(matcher: _Matcher, checks: Sequence[_Check]) -> list[tuple[_Check | None, list[_Check], int]]:
    """Each label with the directives after it and where its part of the text ends."""
    groups: list[tuple[_Check | None, list[_Check]]] = [(None, [])]
    for check in checks:
        if check.kind == "LABEL":
            groups.append((check, []))
        else:
            groups[-1][1].append(check)
    starts = []
    position = 0
    for label, _ in groups[1:]:
        assert label is not None
        found = matcher.find(label, position, len(matcher.text))
        if found is None:
            raise matcher.failure(label, position, "no match")
        starts.append(found.start())
        position = found.end()
    ends = [*starts, len(matcher.text)]
    return [(label, group, end) for (label, group), end in zip(groups, ends, strict=True)]


def _check_part(matcher: _Matcher, checks: Sequence[_Check]) -> None:
    forbidden: list[_Check] = []
    index = 0
    while index < len(checks):
        check = checks[index]
        if check.kind == "NOT":
            forbidden.append(check)
            index += 1
            continue
        if check.kind == "DAG":
            stop = next((i for i in range(index, len(checks)) if checks[i].kind != "DAG"), len(checks))
            first, last = _match_in_any_order(matcher, checks[index:stop])
            index = stop
        else:
            first, last = _match_in_order(matcher, check)
            index += 1
        _forbid(matcher, forbidden, first)
        forbidden = []
        matcher.position = last
    _forbid(matcher, forbidden, matcher.end)


def _match_in_order(matcher: _Matcher, check: _Check) -> tuple[int, int]:
    """Start of the match (the first of several) and end of the last one."""
    if check.kind in ("NEXT", "SAME"):
        return _match_on_line(matcher, check)
    first, position = None, matcher.position
    for _ in range(check.count):
        found = matcher.take(check, position, matcher.end)
        first = found.start() if first is None else first
        position = found.end()
    return matcher.position if first is None else first, position


def _match_on_line(matcher: _Matcher, check: _Check) -> tuple[int, int]:
    start = matcher.position
    if check.kind == "NEXT":
        start = matcher.text.find("\n", start, matcher.end) + 1
        if start == 0:
            raise matcher.failure(check, matcher.position, "there is no next line")
    stop = matcher.text.find("\n", start, matcher.end)
    found = matcher.take(check, start, matcher.end if stop < 0 else stop)
    return found.start(), found.end()


def _match_in_any_order(matcher: _Matcher, checks: Sequence[_Check]) -> tuple[int, int]:
    """Every directive has a match of its own, none overlapping another's."""
    taken: list[tuple[int, int]] = []
    for check in checks:
        position = matcher.position
        while True:
            found = matcher.find(check, position, matcher.end)
            if found is None:
                raise matcher.failure(check, matcher.position, "no match")
            clash = next((t for t in taken if found.start() < t[1] and t[0] < found.end()), None)
            if clash is None:
                break
            position = clash[1]
        taken.append(matcher.take(check, position, matcher.end).span())
    return min(start for start, _ in taken), max(end for _, end in taken)


def _forbid(matcher: _Matcher, forbidden: Sequence[_Check], end: int) -> None:
    for check in forbidden:
        found = matcher.find(check, matcher.position, end)
        if found is not None:
            raise matcher.failure(check, found.start(), f"found {found.group()!r}")


def _compiled(check: _Check, variables: dict[str, str]) -> str:
    """The pattern as a regular expression."""
    defined: set[str] = set()
    parts = []
    for part in _PART.finditer(check.pattern):
        name = part["name"]
        if part["regex"] is not None:
            parts.append(f"(?:{part['regex']})")
        elif part["define"] is not None:
            parts.append(f"(?P<{name}>{part['define']})")
            defined.add(name)
        elif name is not None and name in defined:
            parts.append(f"(?P={name})")
        elif name is not None:
            if name not in variables:
                raise FileCheckError(f"{check}: {name} is not defined")
            parts.append(re.escape(variables[name]))
        elif part["blank"] is not None:
            parts.append(r"[ \t]+")
        else:
            parts.append(re.escape(part["text"]))
    return "".join(parts)
