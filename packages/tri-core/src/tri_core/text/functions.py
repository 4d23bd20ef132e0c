"""The signature of ``tt.func``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tri_core.text.scan import Cursor, dictionary, split, split_pairs

__all__ = ["divisibilities", "named_location", "read_header", "write_header"]

_IDENTIFIER = re.compile(r'"([A-Za-z_][\w.$]*)"')
_NUMBERED = re.compile(r"(?:arg)?\d+")
_OWN = ("function_type", "sym_name", "sym_visibility", "arg_attrs", "res_attrs")


def write_header(entry: str, attributes: dict[str, str]) -> str:
    """The line that opens a function with first block ``entry`` (``^bb0(%a: T):`` or nothing)."""
    results = _results(attributes["function_type"])
    given = _arguments(entry)
    notes = _dictionaries(attributes.get("arg_attrs", ""), len(given))
    arguments = [
        f"{name}: {type_}{note}{where}" for (name, type_, where), note in zip(given, notes, strict=True)
    ]
    visibility = attributes.get("sym_visibility", "").strip('"')
    head = f"tt.func {visibility}{' ' if visibility else ''}@{_symbol(attributes['sym_name'])}"
    others = dictionary({k: v for k, v in attributes.items() if k not in _OWN})
    tail = f" attributes {others}" if others else ""
    return f"{head}({', '.join(arguments)}){_arrow(results, attributes.get('res_attrs', ''))}{tail}"


def _symbol(name: str) -> str:
    found = _IDENTIFIER.fullmatch(name)
    return found[1] if found else name


def _arguments(entry: str) -> list[tuple[str, str, str]]:
    """Name, type and location of each argument of a block."""
    if not entry or "(" not in entry:
        return []
    cursor = Cursor(entry, entry.index("(") + 1)
    found = []
    while not cursor.accept(")"):
        name = cursor.value()
        cursor.expect(":")
        type_ = cursor.type()
        where = cursor.location()
        found.append((name, type_, f" {where}" if where else ""))
        cursor.accept(",")
    return found


def _results(function_type: str) -> list[str]:
    cursor = Cursor(function_type, 0)
    cursor.type_list()
    cursor.expect("->")
    return cursor.type_list()


def _dictionaries(array: str, count: int) -> list[str]:
    """Each entry of ``[{...}, {}]`` with a blank before it; empty for an empty one."""
    entries = split(array.strip()[1:-1]) if array else ("{}",) * count
    return ["" if entry == "{}" else f" {entry}" for entry in entries]


def _arrow(results: Sequence[str], notes: str) -> str:
    if not results:
        return ""
    parts = [t + n for t, n in zip(results, _dictionaries(notes, len(results)), strict=True)]
    plain = len(parts) == 1 and not notes
    return f" -> {parts[0]}" if plain else f" -> ({', '.join(parts)})"


def read_header(cursor: Cursor) -> tuple[str, dict[str, str]]:
    """The arguments of the first block and the attributes of the function whose signature comes next."""
    attributes: dict[str, str] = {}
    for visibility in ("public", "private", "nested"):
        if cursor.accept(visibility):
            attributes["sym_visibility"] = f'"{visibility}"'
            break
    name = cursor.symbol()[1:]
    attributes["sym_name"] = name if name.startswith('"') else f'"{name}"'
    block, types, notes = _read_arguments(cursor)
    results, result_notes = _read_results(cursor)
    attributes["function_type"] = f"({', '.join(types)}) -> ({', '.join(results)})"
    is_kernel = attributes.get("sym_visibility") == '"public"'
    for key, found in (("arg_attrs", notes), ("res_attrs", result_notes)):
        # the front end gives a kernel's arguments their attributes even when all are empty
        if any(found) or (found and key == "arg_attrs" and is_kernel):
            attributes[key] = f"[{', '.join(n or '{}' for n in found)}]"
    if cursor.accept("attributes"):
        attributes.update(split_pairs(cursor.braces()))
    return block, attributes


def divisibilities(cursor: Cursor) -> list[int]:
    """The ``tt.divisibility`` of each argument of the function whose signature comes next; 0 for none."""
    _, attributes = read_header(cursor)
    notes = split(attributes.get("arg_attrs", "[]")[1:-1])
    found = [re.search(r"tt\.divisibility = (\d+)", note) for note in notes]
    return [int(f[1]) if f else 0 for f in found]


def _read_arguments(cursor: Cursor) -> tuple[str, list[str], list[str]]:
    block: list[str] = []
    types: list[str] = []
    notes: list[str] = []
    cursor.expect("(")
    while not cursor.sees(")"):
        if types:
            cursor.expect(",")
        name = cursor.value()
        cursor.expect(":")
        types.append(cursor.type())
        notes.append(cursor.braces() if cursor.sees("{") else "")
        where = cursor.location() or named_location(name)
        block.append(f"{name}: {types[-1]}{' ' if where else ''}{where}")
    cursor.expect(")")
    return ", ".join(block), types, notes


def named_location(value: str) -> str:
    """A location that keeps the name of a value which has one of its own."""
    name = value[1:]
    return "" if _NUMBERED.fullmatch(name) else f'loc("{name}"(unknown))'


def _read_results(cursor: Cursor) -> tuple[list[str], list[str]]:
    if not cursor.accept("->"):
        return [], []
    if not cursor.accept("("):
        return [cursor.type()], [""]
    types: list[str] = []
    notes: list[str] = []
    while not cursor.sees(")"):
        if types:
            cursor.expect(",")
        types.append(cursor.type())
        notes.append(cursor.braces() if cursor.sees("{") else "")
    cursor.expect(")")
    return types, notes
