"""The layouts that a text of IR names, and their pictures."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tri.explore.records import Picture
from tri_core.errors import TriError
from tri_core.lazy_dataclasses import dataclass

__all__ = ["Uses", "draw", "find_uses"]

_DEFINITION = re.compile(r"^(#\w+) = (#.+)$", re.M)
_NAME = re.compile(r"#\w+\b(?![.<])")
_TYPE = re.compile(r"\b(?:tensor|memdesc)<((?:\d+x)+)")
_OPEN, _CLOSE = "<{[(", ">}])"


@dataclass(frozen=True)
class Uses:
    """Encodings as a text writes them, with their definitions, and the shapes of the tensors that have them."""

    definitions: Mapping[str, str]
    shapes: frozenset[tuple[str, tuple[int, ...]]]


def find_uses(text: str) -> Uses:
    """The encodings of the tensors and memory descriptors of ``text``; aliases are replaced in the definitions."""
    aliases = {name: body for name, body in _DEFINITION.findall(text) if not name.startswith("#loc")}
    definitions, shapes = {}, set()
    for written, shape in set(_written(text)):
        definition = _expanded(written, aliases)
        if definition.partition("<")[0] in aliases or not definition.endswith(">"):
            continue  # a memory space or an encoding without parameters
        definitions[written] = definition
        shapes.add((definition, shape))
    return Uses(definitions, frozenset(shapes))


def _written(text: str) -> Iterator[tuple[str, tuple[int, ...]]]:
    for found in _TYPE.finditer(text):
        second = _second(text, found.end())
        if second.startswith("#"):
            yield second, tuple(int(n) for n in found[1].rstrip("x").split("x"))


def _second(text: str, start: int) -> str:
    """The second parameter of the type whose first one goes on at ``start``; empty if there is none."""
    depth, begin = 0, -1
    for i in range(start, len(text)):
        character = text[i]
        if depth == 0 and (character == "," or character in _CLOSE):
            if begin >= 0:
                return text[begin:i].strip()
            if character != ",":
                break
            begin = i + 1
        elif character == ">" and text[i - 1] == "-":
            continue
        else:
            depth += (character in _OPEN) - (character in _CLOSE)
    return ""


def _expanded(text: str, aliases: Mapping[str, str]) -> str:
    """``text`` with every alias replaced by what it stands for; they are defined without cycles."""
    for _ in range(len(aliases) + 1):
        made = _NAME.sub(lambda m: aliases.get(m[0], m[0]), text)
        if made == text:
            break
        text = made
    return text


def draw(definition: str, shape: tuple[int, ...]) -> Picture:
    """The picture of a layout; one with a note in place of vectors for what has none.

    Memory descriptors may have a leading dimension that their encoding does not know: the number of buffers.
    """
    try:
        from tri_gpu_dialect import drawing
    except ModuleNotFoundError:
        return Picture(definition, shape, {}, note="tri-gpu-dialect, which draws layouts, is not installed")
    from tri_core import mlir

    note = ""
    with mlir.session():
        for part in (shape, shape[1:]):
            try:
                found = drawing.bases_of(drawing.parse_encoding(definition, len(part)), part)
            except TriError as error:
                note = note or error.message
                continue
            return Picture(definition, shape, found.vectors, found.shared, found.padding)
    return Picture(definition, shape, {}, note=note)
