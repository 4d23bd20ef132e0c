"""Cache controls in SPIR-V: calls that stand for them become decorations of the pointers.

LLVM's SPIR-V target makes ``OpDecorate`` of the metadata ``spirv.Decorations`` of an instruction.  It folds instructions that only copy
a pointer, so the one that computes it has the metadata; a pointer that no instruction computes (a parameter, the choice of a
branch) stays without a control, which is a hint.  Between that pointer and an access of another type stands an ``OpBitcast``, and
drivers look at the pointer of the access alone: :func:`on_casts` decorates the casts, too.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

from tri_backend_intel.dialect import CACHE_MARKER
from tri_backend_intel.spirv.reader import instructions_of

__all__ = ["on_casts", "with_cache_controls"]

_CALL = re.compile(
    rf"^  (%\S+) = (?:tail )?call spir_func (?:\w+ )*ptr addrspace\(1\) @{CACHE_MARKER}_(\d+)_(\d+)\("
    r"ptr addrspace\(1\) (?:\w+ )*(%[\w.$-]+)\).*$"
)
_DECLARATION = re.compile(rf"^declare .*@{CACHE_MARKER}_\d+_\d+\(.*$")
_ADDRESS = re.compile(r"^  (%\S+) = getelementptr ")
_VALUE = re.compile(r"%[\w.$-]+")
_NUMBERED = re.compile(r"^!(\d+) = ", re.MULTILINE)
#: SPIR-V's level of the first cache
_FIRST = 0
#: CacheControlLoadINTEL, CacheControlStoreINTEL
_DECORATIONS = (6442, 6443)
#: the extension's capability, and opcodes of the SPIR-V specification, section 3.52
_CONTROLS, _CAPABILITY, _DECORATE, _BITCAST = 6441, 17, 71, 124
_HEADER_BYTES = 20


def with_cache_controls(llvm_ir: str) -> str:
    """``llvm_ir`` with decorated pointers in place of the calls; of two controls of one kind, a pointer has the first."""
    if CACHE_MARKER not in llvm_ir:
        return llvm_ir
    sources: dict[str, str] = {}
    wanted: dict[str, dict[int, int]] = {}
    kept: list[str] = []
    for line in llvm_ir.split("\n"):
        call = _CALL.match(line)
        if call is not None:
            name, decoration, control, source = call.groups()
            sources[name] = source = sources.get(source, source)
            wanted.setdefault(source, {}).setdefault(int(decoration), int(control))
        elif not _DECLARATION.match(line):
            kept.append(line)
    first = max(map(int, _NUMBERED.findall(llvm_ir)), default=-1) + 1
    nodes: dict[tuple[tuple[int, int], ...], int] = {}
    lines = [_decorated(_renamed(line, sources), wanted, nodes, first) for line in kept]
    return "\n".join([*lines, *_metadata(nodes, first)])


def _renamed(line: str, sources: dict[str, str]) -> str:
    return _VALUE.sub(lambda found: sources.get(found[0], found[0]), line) if line.startswith("  ") else line


def _decorated(
    line: str, wanted: dict[str, dict[int, int]], nodes: dict[tuple[tuple[int, int], ...], int], first: int
) -> str:
    address = _ADDRESS.match(line)
    controls = wanted.get(address[1]) if address is not None else None
    if controls is None:
        return line
    number = nodes.setdefault(tuple(sorted(controls.items())), len(nodes))
    return f"{line}, !spirv.Decorations !{first + number}"


def _metadata(nodes: dict[tuple[tuple[int, int], ...], int], first: int) -> list[str]:
    """A node for each set of decorations: ``{decoration, level, control}`` each."""
    return [
        f"!{first + number} = !{{"
        + ", ".join(f"!{{i32 {decoration}, i32 {_FIRST}, i32 {control}}}" for decoration, control in controls)
        + "}"
        for controls, number in nodes.items()
    ]


def on_casts(data: bytes) -> bytes:
    """The module ``data`` with the controls of pointers on what they are cast to, too."""
    instructions = list(instructions_of(data))
    if (_CAPABILITY, (_CONTROLS,)) not in instructions:
        return data
    casts: dict[int, list[int]] = {}
    for opcode, operands in instructions:
        if opcode == _BITCAST:
            _, made, source = operands
            casts.setdefault(source, []).append(made)
    words = (word for opcode, operands in instructions for word in _spread(opcode, operands, casts))
    body = list(words)
    return data[:_HEADER_BYTES] + struct.pack(f"<{len(body)}I", *body)


def _spread(opcode: int, operands: tuple[int, ...], casts: dict[int, list[int]]) -> Iterator[int]:
    """An instruction as SPIR-V's 32-bit units, once for its pointer and for each cast where it decorates with a control."""
    head = len(operands) + 1 << 16 | opcode
    yield from (head, *operands)
    if opcode == _DECORATE and operands[1] in _DECORATIONS:
        for cast in casts.get(operands[0], ()):
            yield from (head, cast, *operands[1:])
