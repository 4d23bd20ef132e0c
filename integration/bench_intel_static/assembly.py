"""Loops of Intel's machine code, and what stands in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

__all__ = ["Instructions", "instructions"]

_BITS = {
    "b": 8,
    "ub": 8,
    "w": 16,
    "uw": 16,
    "hf": 16,
    "bf": 16,
    "d": 32,
    "ud": 32,
    "f": 32,
    "q": 64,
    "uq": 64,
    "df": 64,
}
_REGISTER = re.compile(r"\br(\d+)(?:\.(\d+))?(?:<([^>]*)>)?:?(\w*)")


@dataclass(frozen=True)
class Instructions:
    """Of a step: all of them, and ``moves``: copies (and messages) of what a block load gave, or of what was computed of it.

    A conversion's arithmetic is no move; each ``mov`` is one, whether it converts or not.
    """

    instructions: int = 0
    dpas: int = 0
    loads: int = 0
    moves: int = 0
    kinds: dict[str, int] = field(default_factory=dict)


def instructions(listing: Sequence[str], register_bytes: int) -> Instructions:
    """Of the shortest loop that multiplies and loads blocks; without one, of the shortest that multiplies."""
    bodies = [body for body in _loops(listing) if any("dpas" in line for line in body)]
    with_loads = [body for body in bodies if any(_is_load(line) for line in body)]
    if not bodies:
        return Instructions()
    body = min(with_loads or bodies, key=len)
    kinds: dict[str, int] = {}
    for line in body:
        kinds[_name(line)] = kinds.get(_name(line), 0) + 1
    return Instructions(
        instructions=len(body),
        dpas=kinds.get("dpas", 0),
        loads=sum(map(_is_load, body)),
        moves=_moves(body, register_bytes),
        kinds=kinds,
    )


def _loops(listing: Sequence[str]) -> Iterator[list[str]]:
    """The instructions from each label to a jump back to it."""
    places: dict[str, int] = {}
    code: list[str] = []
    for line in listing:
        text = line.split("//")[0]
        if label := re.match(r"(\w+):\s*$", text):
            places[label[1]] = len(code)
        elif line.startswith(("(", " ")) and text.strip():
            code.append(_spelt_out(line))
    for at, line in enumerate(code):
        if _name(line) in ("jmpi", "goto", "while"):
            for name in re.findall(r"\b_\w+", line)[:1]:
                if places.get(name, at + 1) <= at:
                    yield code[places[name] : at + 1]


def _spelt_out(line: str) -> str:
    """A message as the load that the comment beside it says it is: how compilers for ptl print them."""
    text, _, comment = line.partition("//")
    said = re.search(r"rd:(\d+);\s*(load_block2d\S*)", comment)
    message = re.match(r"(\s*)send\S*(\s+\(\S+\)\s+)(\w+)\s+(r\d+)", text)
    if said is None or message is None:
        return text
    space, lanes, target, address = message.groups()
    return f"{space}{said[2]}{lanes}{target}:{said[1]} [{address}:1]"


def _name(line: str) -> str:
    return re.sub(r"^\s*(\([^)]*\))?\s*", "", line).split()[0].split(".")[0]


def _is_load(line: str) -> bool:
    return _name(line) == "load_block2d" and "null" not in line


def _moves(body: Sequence[str], register_bytes: int) -> int:
    """Twice around: what is loaded at the end is read at the beginning."""
    loaded: set[int] = set()
    count = 0
    for turn in range(2):
        for line in body:
            if _is_load(line):
                first, more = re.findall(r"\br(\d+):(\d+)", line)[0]
                loaded |= set(range(int(first), int(first) + int(more) + (int(more) == 31)))
                continue
            written, read = _registers(line, register_bytes)
            is_operand = bool(read & loaded) and _name(line) != "dpas"
            count += bool(turn and is_operand and _is_copy(line))
            loaded = loaded | written if is_operand else loaded - written
    return count


def _is_copy(line: str) -> bool:
    """True if the instruction moves its operand; one without a destination only waits."""
    return _name(line).startswith(("mov", "store", "send")) and not re.search(r"\)\s+null", line)


def _registers(line: str, register_bytes: int) -> tuple[set[int], set[int]]:
    """Registers that a line writes, and the first ones of those that it reads."""
    found = [(m.start(), m) for m in _REGISTER.finditer(line)]
    if not found:
        return set(), set()
    lanes = re.search(r"\((\d+)\|M\d+\)", line)
    first = found[0][1]
    written: set[int] = set()
    rest = found
    if re.search(r"\)\s+(\(\w*\)\s*)?r\d", line) and not _name(line).startswith(("store", "send")):
        size = int(lanes[1]) * _BITS.get(first[4], 32) // 8 if lanes else 4
        if _name(line) == "dpas":
            size *= 8
        written = set(range(int(first[1]), int(first[1]) + max(-(-size // register_bytes), 1)))
        rest = found[1:]
    return written, {int(m[1]) for _, m in rest}
