"""A code object that carries what the stand-in runs, behind its end, where no loader looks: sizes are in the ELF header."""

from __future__ import annotations

import ctypes
import struct

from tri_core.api import Stage
from tri_gpu_dialect.lowering.carried import Carried, carrying, passing, with_comment

__all__ = ["carried_by", "carrying_stages", "code_object_at", "with_carried"]

_MARK = b"tri.machine"
_SIZE = struct.Struct("<Q")
#: where the ELF header has the section headers' place, and size and number of them; they are the last of a linked file
_PLACE, _SHAPE, _HEADER = struct.Struct("<40xQ"), struct.Struct("<58xHH"), 64


def carrying_stages(llir: Stage, amdgcn: Stage, hsaco: Stage) -> tuple[Stage, Stage, Stage]:
    """The three stages, so that code objects carry what the stand-in runs."""
    return carrying(llir), passing(amdgcn, with_comment), passing(hsaco, with_carried)


def with_carried(data: bytes, carried: Carried) -> bytes:
    """Code object ``data`` with ``carried`` behind it."""
    packed = carried.packed().encode()
    return data + _MARK + _SIZE.pack(len(packed)) + packed


def carried_by(data: bytes) -> Carried | None:
    """The simulated module that code object ``data`` carries; None without one, ToolchainError when it is damaged."""
    end = _size(data)
    if data[end : end + len(_MARK)] != _MARK:
        return None
    start = end + len(_MARK) + _SIZE.size
    (size,) = _SIZE.unpack_from(data, end + len(_MARK))
    return Carried.unpacked(data[start : start + size].decode(errors="replace"))


def code_object_at(address: int) -> bytes:
    """The code object at ``address`` with what it carries; empty for what is no ELF file."""
    if ctypes.string_at(address, 4) != b"\x7fELF":
        return b""
    end = _size(ctypes.string_at(address, _HEADER))
    # byte for byte: nothing may be read behind an object that carries nothing
    for i, expected in enumerate(_MARK):
        if ctypes.string_at(address + end + i, 1)[0] != expected:
            return ctypes.string_at(address, end)
    (size,) = _SIZE.unpack(ctypes.string_at(address + end + len(_MARK), _SIZE.size))
    return ctypes.string_at(address, end + len(_MARK) + _SIZE.size + size)


def _size(header: bytes) -> int:
    (place,), (each, number) = _PLACE.unpack_from(header), _SHAPE.unpack_from(header)
    return int(place + each * number)
