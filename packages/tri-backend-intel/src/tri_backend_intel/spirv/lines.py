"""Source lines in SPIR-V: LLVM's target has no ``OpLine``, so calls that stand for it are put in and taken out.

Before code is generated, :func:`with_markers` puts a call of a function of its own before each instruction of another
line than the one before; LLVM keeps calls where they are.  In the binary, :func:`with_lines` makes ``OpLine`` of them
(SPIR-V specification, section 3.52.2) and removes what declares them.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping, Sequence

from tri_backend_intel.spirv.reader import instructions_of, string_of
from tri_core.api import Place
from tri_core.listings import read_llvm

__all__ = ["with_lines", "with_markers"]

_PREFIX = "tri_line_"
_INSTRUCTION = re.compile(r"^  (?:%\S+ = )?(?:tail |musttail |notail )?(\w+)")
#: what must stay first or last in its block
_FIXED = ("phi", "alloca", "br", "ret", "switch", "unreachable")

_HEADER_WORDS = 5
#: opcodes of the SPIR-V specification, section 3.52
_STRING, _LINE, _NAME, _CAPABILITY, _DECORATE, _NO_LINE = 7, 8, 5, 17, 71, 317
_FUNCTION_TYPE, _FUNCTION, _FUNCTION_END, _CALL = 33, 54, 56, 57
#: what the debug strings come before: names, annotations, types
_AFTER_STRINGS = frozenset((5, 6, *range(19, 40), _DECORATE, 72))
_LINKAGE_CAPABILITY, _LINKAGE_DECORATION = 5, 41

Instruction = tuple[int, tuple[int, ...]]


def with_markers(llvm_ir: str) -> tuple[str, tuple[Place, ...]]:
    """``llvm_ir`` without debug information, with a call before each change of line; the calls' places by number.

    Number 0 is that of code which came from no line.
    """
    listing = read_llvm(llvm_ir)
    numbers: dict[Place, int] = {Place("", 0): 0}
    lines: list[str] = []
    now = 0
    for line, places in zip(listing.lines, listing.places, strict=True):
        found = _INSTRUCTION.match(line)
        if found is None:
            now = (
                0 if line.endswith(":") or not line.startswith(" ") else now
            )  # another block, another function
        elif found[1] not in _FIXED:
            wanted = numbers.setdefault(places[0], len(numbers)) if places else 0
            if wanted != now:
                lines.append(f"  call spir_func void @{_PREFIX}{wanted}()")
                now = wanted
        lines.append(line)
    lines += [f"declare spir_func void @{_PREFIX}{number}()" for number in numbers.values()]
    return "\n".join(lines), tuple(numbers)


def with_lines(data: bytes, places: Sequence[Place]) -> bytes:
    """A module made of :func:`with_markers`' text, with ``OpLine`` in place of the calls."""
    header = list(struct.unpack(f"<{_HEADER_WORDS}I", data[: 4 * _HEADER_WORDS]))
    instructions = list(instructions_of(data))
    markers = _markers(instructions)
    first = header[3]
    files = {file: first + i for i, file in enumerate(sorted({p.file for p in places[1:]}))}
    header[3] += len(files)
    kept = _without(instructions, markers)
    made = _replaced(_with_strings(kept, files), markers, places, files)
    words = [*header, *(word for instruction in made for word in _encoded(instruction))]
    return struct.pack(f"<{len(words)}I", *words)


def _markers(instructions: Sequence[Instruction]) -> dict[int, int]:
    """The markers' numbers by the id of their function."""
    names = {operands[0]: string_of(operands[1:]) for opcode, operands in instructions if opcode == _NAME}
    return {id_: int(name.removeprefix(_PREFIX)) for id_, name in names.items() if name.startswith(_PREFIX)}


def _without(instructions: Sequence[Instruction], markers: Mapping[int, int]) -> Iterator[Instruction]:
    """All but what names, decorates and declares the markers, and what only they needed."""
    needless = set(_needless(instructions, markers))
    declaration = False
    for opcode, operands in instructions:
        if opcode == _FUNCTION:
            declaration = operands[1] in markers
        about_marker = opcode in (_NAME, _DECORATE) and operands[0] in markers
        if not (declaration or about_marker or (opcode, operands) in needless):
            yield opcode, operands
        if opcode == _FUNCTION_END:
            declaration = False


def _needless(instructions: Sequence[Instruction], markers: Mapping[int, int]) -> Iterator[Instruction]:
    """The type of the markers and the capability to link, unless another function has it or is linked."""
    types = [
        (operands[1] in markers, operands[3]) for opcode, operands in instructions if opcode == _FUNCTION
    ]
    unused = {type_ for marker, type_ in types if marker} - {type_ for marker, type_ in types if not marker}
    linked = any(
        opcode == _DECORATE and operands[1] == _LINKAGE_DECORATION and operands[0] not in markers
        for opcode, operands in instructions
    )
    keys = {(_FUNCTION_TYPE, type_) for type_ in unused}
    if markers and not linked:
        keys.add((_CAPABILITY, _LINKAGE_CAPABILITY))
    yield from (i for i in instructions if i[1] and (i[0], i[1][0]) in keys)


def _with_strings(instructions: Iterator[Instruction], files: Mapping[str, int]) -> Iterator[Instruction]:
    """The files' names where the debug instructions begin."""
    waiting = True
    for opcode, operands in instructions:
        if waiting and opcode in _AFTER_STRINGS:
            waiting = False
            for file, id_ in files.items():
                data = file.encode() + b"\0"
                data += b"\0" * (-len(data) % 4)
                yield _STRING, (id_, *struct.unpack(f"<{len(data) // 4}I", data))
        yield opcode, operands


def _replaced(
    instructions: Iterator[Instruction],
    markers: Mapping[int, int],
    places: Sequence[Place],
    files: Mapping[str, int],
) -> Iterator[Instruction]:
    for opcode, operands in instructions:
        number = markers.get(operands[2]) if opcode == _CALL else None
        if number is None:
            yield opcode, operands
        elif number == 0:
            yield _NO_LINE, ()
        else:
            place = places[number]
            yield _LINE, (files[place.file], place.line, place.column)


def _encoded(instruction: Instruction) -> tuple[int, ...]:
    opcode, operands = instruction
    return ((len(operands) + 1) << 16 | opcode, *operands)
