"""Places in MLIR modules as text: trailing locations, and aliases for them."""

from __future__ import annotations

import json
import re

from tri_core.listings.places import Listing, Place, Places, merged

__all__ = ["read_module"]

_ALIAS = re.compile(r"^(#loc\d*) = loc\((.*)\)$")
#: what a location is made of: a string (with a place behind it or not) or an alias
_PART = re.compile(r'("(?:[^"\\]|\\.)*")(?::(\d+):(\d+))?|(#loc\d*)\b')
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')


def read_module(text: str) -> Listing:
    """The lines of an MLIR module without locations, and their places.

    A line's place is that of its op, the last location on it: those before are of block arguments.  A line that
    opens a region has the place that its op has behind the region's end.
    """
    lines, aliases = _without_aliases(text)
    known: dict[str, Places] = {}
    stripped = [_stripped(line) for line in lines]
    places = [_places(inner, aliases, known) if inner is not None else () for _, inner in stripped]
    kept = tuple(line for line, _ in stripped)
    return Listing(kept, tuple(_with_openings(kept, places)))


def _with_openings(lines: tuple[str, ...], places: list[Places]) -> list[Places]:
    """``places`` with those of ops given to the lines that open their regions."""
    made = list(places)
    open_: list[list[int]] = []  # per op, the lines that open a region of it
    for i, line in enumerate(lines):
        opened = open_.pop() if line.lstrip().startswith("}") and open_ else []
        if line.endswith("{"):
            open_.append([*opened, i])
            continue
        for opening in opened:
            made[opening] = places[i]
    return made


def _without_aliases(text: str) -> tuple[list[str], dict[str, str]]:
    lines, aliases = [], {}
    for line in text.rstrip("\n").split("\n"):
        found = _ALIAS.match(line)
        if found is None:
            lines.append(line)
        else:
            aliases[found[1]] = found[2]
    return lines, aliases


def _stripped(line: str) -> tuple[str, str | None]:
    """``line`` without its locations, and what is in the last one; None where it has none."""
    kept, inner, position = [], None, 0
    while (start := line.find(" loc(", position)) >= 0:
        end = _closing(line, start + len(" loc("))
        kept.append(line[position:start])
        inner = line[start + len(" loc(") : end - 1]
        position = end
    return "".join([*kept, line[position:]]), inner


def _closing(line: str, start: int) -> int:
    """The index behind the parenthesis that closes the one before ``start``; strings may hold any."""
    depth, i = 1, start
    while i < len(line) and depth:
        quoted = _QUOTED.match(line, i) if line[i] == '"' else None
        if quoted is not None:
            i = quoted.end()
            continue
        depth += (line[i] == "(") - (line[i] == ")")
        i += 1
    return i


def _places(location: str, aliases: dict[str, str], known: dict[str, Places]) -> Places:
    """All places that a location names, in the order of its text: the callee is before the caller."""
    found = known.get(location)
    if found is None:
        known[location] = ()  # an alias that names itself ends here
        parts = (_place(part, aliases, known) for part in _PART.finditer(location))
        found = known[location] = merged(parts)
    return found


def _place(part: re.Match[str], aliases: dict[str, str], known: dict[str, Places]) -> Places:
    name, line, column, alias = part.groups()
    if alias is not None:
        return _places(aliases.get(alias, ""), aliases, known)
    return (Place(json.loads(name), int(line), int(column)),) if line is not None and int(line) else ()
