"""The module that the stand-in runs, carried in the SPIR-V itself: the ``llvm`` dialect with machine ops, as the simulator takes it.

The stage ``llir`` adds it to its text as a comment, the stage ``spv`` to the module as ``OpModuleProcessed``, a text
that no driver looks at (SPIR-V specification, section 2.4, 7c).  So whoever has the module has all of it: a native
image in a store, another process.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from tri_backend_intel.spirv.reader import instructions_of, string_of
from tri_core.api import Stage
from tri_gpu_dialect.lowering.carried import Carried, passing
from tri_gpu_dialect.lowering.carried import carrying as carrying_llir

__all__ = ["Carried", "carried_by", "carrying", "with_carried"]

_MARK = "tri.machine"
_PROCESSED = 330
#: instructions that may stand before it: capabilities to names (SPIR-V specification, section 2.4)
_BEFORE = frozenset({2, 3, 4, 5, 6, 7, 10, 11, 14, 15, 16, 17, _PROCESSED, 331})
_HEADER_BYTES = 20
#: characters of one instruction, which has at most 65535 words
_PIECE = 200_000


def carrying(llir: Stage, spv: Stage) -> tuple[Stage, Stage]:
    """The two stages, so that modules carry what the stand-in runs."""
    return carrying_llir(llir), passing(spv, with_carried)


def with_carried(module: bytes, carried: Carried) -> bytes:
    """SPIR-V ``module`` with ``carried``; ToolchainError when it is damaged."""
    place = _HEADER_BYTES
    for opcode, operands in instructions_of(module):
        if opcode not in _BEFORE:
            break
        place += 4 * (1 + len(operands))
    packed = carried.packed()
    pieces = [packed[i : i + _PIECE] for i in range(0, len(packed), _PIECE)]
    texts = (f"{_MARK} {i} {len(pieces)} {piece}" for i, piece in enumerate(pieces))
    return module[:place] + b"".join(map(_processed, texts)) + module[place:]


def _processed(text: str) -> bytes:
    data = text.encode() + b"\0"
    data = data.ljust(-(-len(data) // 4) * 4, b"\0")
    return struct.pack("<I", (1 + len(data) // 4) << 16 | _PROCESSED) + data


def carried_by(module: bytes) -> Carried | None:
    """The module that SPIR-V ``module`` carries; None where it carries nothing, ToolchainError when it is damaged."""
    pieces = list(_pieces(module))
    return Carried.unpacked("".join(pieces)) if pieces else None


def _pieces(module: bytes) -> Iterator[str]:
    for opcode, operands in instructions_of(module):
        if opcode == _PROCESSED:
            mark, _, rest = string_of(operands).partition(" ")
            if mark == _MARK:
                yield rest.split(" ", 2)[2]
