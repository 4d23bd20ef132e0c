"""The parts of source files that a kernel came from."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from pathlib import Path

from tri.explore.records import Excerpt
from tri_core.listings import Listing

__all__ = ["excerpts"]

#: lines between functions up to which they are shown as one
_GAP = 4


def excerpts(listings: Iterable[Listing], given: Mapping[str, str]) -> tuple[Excerpt, ...]:
    """The functions that the lines of ``listings`` came from, file by file in the order of their first mention.

    ``given`` has the text of files that are known already.  Of a file that is no Python all is shown.
    """
    lines: dict[str, set[int]] = {}
    for listing in listings:
        for places in listing.places:
            for place in reversed(places):  # the kernel's file first
                lines.setdefault(place.file, set()).add(place.line)
    return tuple(part for file, numbers in lines.items() for part in _of_file(file, numbers, given.get(file)))


def _of_file(file: str, numbers: set[int], text: str | None) -> list[Excerpt]:
    try:
        text = Path(file).read_text() if text is None else text
    except (OSError, UnicodeDecodeError) as error:
        return [Excerpt(file, 1, (), f"cannot be read: {error}")]
    lines = text.split("\n")
    if max(numbers) > len(lines):
        return [Excerpt(file, 1, (), f"has {len(lines)} lines, line {max(numbers)} is named: it was changed")]
    if not file.endswith(".py"):
        return [Excerpt(file, 1, tuple(lines))]
    return [Excerpt(file, a, tuple(lines[a - 1 : b])) for a, b in _spans(text, numbers, len(lines))]


def _spans(text: str, numbers: set[int], length: int) -> list[tuple[int, int]]:
    """First and last line of the functions around ``numbers``; all of a text that does not parse."""
    try:
        functions = [_span(n) for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef)]
    except SyntaxError:
        return [(1, length)]
    found = set()
    for number in numbers:
        around = [span for span in functions if span[0] <= number <= span[1]]
        found.add(min(around, key=lambda span: span[1] - span[0], default=(number, number)))
    return _joined(sorted(found))


def _span(function: ast.FunctionDef) -> tuple[int, int]:
    first = min([function.lineno, *(d.lineno for d in function.decorator_list)])
    return first, function.end_lineno or function.lineno


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans without overlaps; those with few lines between them are put together."""
    made: list[tuple[int, int]] = []
    for first, last in spans:
        if made and first <= made[-1][1] + _GAP:
            made[-1] = (made[-1][0], max(last, made[-1][1]))
        else:
            made.append((first, last))
    return made
