"""Legalisation: optimised LLVM IR that the SPIR-V target translates wrongly, spelled out.

InstCombine finds bit reversals in index arithmetic (swizzles), often of two or three bits, and nothing keeps
it from that.  SPIR-V for kernels has no instruction for them, and integers of odd widths are computed in 8 bits
without the bits that they lack being cleared.  Here an odd integer becomes one of the next width that there is,
its upper bits zero.  An instruction on odd integers that is not known here is refused, never passed on.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator

from tri_core.api import Unsupported

__all__ = ["legalize"]

_WIDTHS = (1, 8, 16, 32, 64)
_ODD = re.compile(r"(?<![%@.\w])i(?!(?:1|8|16|32|64)\b)(\d+)\b")
_REVERSE = re.compile(r"@llvm\.bitreverse\.i\d+\(")
_METADATA = re.compile(r"(, ![^\n]*)?$")
_NUMBER = re.compile(r"-?\d+")

#: binary operations that keep the upper bits zero, and those that may set them
_CLEAN = ("and", "or", "xor", "lshr", "udiv", "urem")
_DIRTY = ("add", "sub", "mul", "shl")


def legalize(llvm_ir: str) -> str:
    """``llvm_ir`` without bit reversals and odd integers; Unsupported for an instruction that it cannot rewrite."""
    if not _ODD.search(llvm_ir) and not _REVERSE.search(llvm_ir):
        return llvm_ir
    names = itertools.count()
    lines: list[str] = []
    for line in llvm_ir.split("\n"):
        if line.startswith("declare ") and _REVERSE.search(line):
            continue
        lines.extend(_rewritten(line, names) if _ODD.search(line) or _REVERSE.search(line) else [line])
    return "\n".join(lines)


class _Writer:
    """Writes the instructions that replace one; ``name()`` gives names that nothing else has."""

    def __init__(self, names: Iterator[int], metadata: str) -> None:
        self.lines: list[str] = []
        self._names = names
        self._metadata = metadata

    def name(self) -> str:
        """A new value's name."""
        return f"%tri.odd{next(self._names)}"

    def put(self, text: str, result: str | None = None) -> str:
        """Write ``text`` as the instruction that makes ``result`` (by default a new name)."""
        result = result or self.name()
        self.lines.append(f"  {result} = {text}{self._metadata}")
        return result


def _held(width: int) -> int:
    """The width of the integer that holds one of ``width`` bits."""
    for known in _WIDTHS:
        if width <= known:
            return known
    raise Unsupported(
        f"LLVM made an integer of {width} bits, SPIR-V has 64 at most",
        remedy="use narrower integers in the kernel",
    )


def _value(token: str, width: int) -> str:
    """An operand of ``width`` bits as it is held: constants without sign."""
    return str(int(token) & ((1 << width) - 1)) if _NUMBER.fullmatch(token) else token


def _masked(w: _Writer, value: str, width: int, result: str | None = None) -> str:
    held = _held(width)
    return w.put(f"and i{held} {value}, {(1 << width) - 1}", result)


def _signed(w: _Writer, value: str, width: int) -> str:
    """``value`` with its sign in the upper bits."""
    held = _held(width)
    if held == width:
        return value
    moved = w.put(f"shl i{held} {_value(value, width)}, {held - width}")
    return w.put(f"ashr i{held} {moved}, {held - width}")


def _binary(w: _Writer, found: re.Match[str]) -> None:
    result, name, text, x, y = found.groups()
    width, held = int(text), _held(int(text))
    x, y = _value(x, width), _value(y, width)
    if name in _CLEAN:
        w.put(f"{name} i{held} {x}, {y}", result)
    else:
        _masked(w, w.put(f"{name} i{held} {x}, {y}"), width, result)


def _truncate(w: _Writer, found: re.Match[str]) -> None:
    result, source, x, target = found.groups()
    before, after, width = _held(int(source)), _held(int(target)), int(target)
    value = x if before == after else w.put(f"trunc i{before} {x} to i{after}")
    _masked(w, value, width, result)


def _extend(w: _Writer, found: re.Match[str]) -> None:
    result, name, source, x, target = found.groups()
    before, after = _held(int(source)), _held(int(target))
    value = x if name == "zext" else _signed(w, x, int(source))
    if before != after:
        value = w.put(f"{name} i{before} {value} to i{after}")
    # an odd target of a sign extension has bits to lose; everything else passes through
    _masked(w, value, int(target), result)


def _compare(w: _Writer, found: re.Match[str]) -> None:
    result, predicate, text, x, y = found.groups()
    width, held = int(text), _held(int(text))
    x, y = _value(x, width), _value(y, width)
    if predicate.startswith("s"):
        x, y = _signed(w, x, width), _signed(w, y, width)
    w.put(f"icmp {predicate} i{held} {x}, {y}", result)


def _select(w: _Writer, found: re.Match[str]) -> None:
    result, condition, text, x, y = found.groups()
    width, held = int(text), _held(int(text))
    w.put(f"select i1 {condition}, i{held} {_value(x, width)}, i{held} {_value(y, width)}", result)


def _phi(w: _Writer, found: re.Match[str]) -> None:
    result, text, pairs = found.groups()
    width = int(text)
    values = re.sub(r"\[ (-?\d+),", lambda m: f"[ {_value(m[1], width)},", pairs)
    w.put(f"phi i{_held(width)} {values}", result)


def _reverse(w: _Writer, found: re.Match[str]) -> None:
    """Neighbours, pairs, nibbles, ... change places; the bits wanted end at the top."""
    result, text, x = found.groups()
    width, held = int(text), _held(int(text))
    value = _value(x, width)
    for step in range(held.bit_length() - 1):
        distance = 1 << step
        mask = sum(((1 << distance) - 1) << place for place in range(0, held, 2 * distance))
        high = w.put(f"lshr i{held} {value}, {distance}")
        kept = w.put(f"and i{held} {high}, {mask}")
        low = w.put(f"and i{held} {value}, {mask}")
        moved = w.put(f"shl i{held} {low}, {distance}")
        value = w.put(f"or i{held} {kept}, {moved}")
    w.put(f"lshr i{held} {value}, {held - width}", result)


_V = r"(%\S+)"
_X = r"(\S+)"
_FLAGS = r"(?:(?:nuw|nsw|exact|disjoint|nneg|samesign) )*"
_ATTRIBUTES = r"(?:\w+(?:\([^)]*\))? )*"

#: what an instruction looks like, and what rewrites it
_RULES: tuple[tuple[re.Pattern[str], Callable[[_Writer, re.Match[str]], None]], ...] = (
    (re.compile(rf"  {_V} = ({'|'.join(_CLEAN + _DIRTY)}) {_FLAGS}i(\d+) (\S+), {_X}"), _binary),
    (re.compile(rf"  {_V} = trunc {_FLAGS}i(\d+) {_X} to i(\d+)"), _truncate),
    (re.compile(rf"  {_V} = ([zs]ext) {_FLAGS}i(\d+) {_X} to i(\d+)"), _extend),
    (re.compile(rf"  {_V} = icmp {_FLAGS}(\w+) i(\d+) (\S+), {_X}"), _compare),
    (re.compile(rf"  {_V} = select i1 (\S+), i(\d+) (\S+), i\d+ {_X}"), _select),
    (re.compile(rf"  {_V} = phi i(\d+) (\[.*\])"), _phi),
    (
        re.compile(
            rf"  {_V} = (?:tail )?call {_ATTRIBUTES}i(\d+) @llvm\.bitreverse\.i\d+\(i\d+ {_ATTRIBUTES}([^ )]+)\)(?: #\d+)?"
        ),
        _reverse,
    ),
)


def _rewritten(line: str, names: Iterator[int]) -> list[str]:
    metadata = _METADATA.search(line)
    tail = "" if metadata is None or metadata[1] is None else metadata[1]
    body = line.removesuffix(tail)
    for pattern, rule in _RULES:
        found = pattern.fullmatch(body)
        if found is not None:
            writer = _Writer(names, tail)
            rule(writer, found)
            return writer.lines
    raise Unsupported(
        f"LLVM made an instruction that SPIR-V has no integers for: {line.strip()}",
        remedy="this is a limit of LLVM's SPIR-V target; report it with the kernel",
    )
