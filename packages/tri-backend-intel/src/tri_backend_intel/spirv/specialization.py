"""Specialization constants: numbers in a SPIR-V module that are set when its device is known."""

from __future__ import annotations

import struct
from collections.abc import Mapping

from tri_backend_intel.clock import CLOCK_FACTOR, clock_factor
from tri_backend_intel.spirv.reader import instructions_of

__all__ = ["CLOCK_FACTOR", "clock_factor", "specialization_ids", "specialized"]

_DECORATE, _SPEC_ID, _SPEC_CONSTANT, _HEADER_WORDS = 71, 1, 50, 5


def specialization_ids(data: bytes) -> dict[int, int]:
    """SpecId -> the id of the constant, of all specialization constants of a module; ToolchainError where it is damaged."""
    return {
        operands[2]: operands[0]
        for opcode, operands in instructions_of(data)
        if opcode == _DECORATE and operands[1] == _SPEC_ID
    }


def specialized(data: bytes, values: Mapping[int, int]) -> bytes:
    """The module ``data`` with ``values`` (by SpecId) in place of the default values of integer constants that it has."""
    ids = specialization_ids(data)
    wanted = {ids[number]: value for number, value in values.items() if number in ids}
    if not wanted:
        return data
    words, place = bytearray(data), 4 * _HEADER_WORDS
    for opcode, operands in instructions_of(data):
        if opcode == _SPEC_CONSTANT and operands[1] in wanted:
            size = 4 * (len(operands) - 2)
            literal = wanted[operands[1]].to_bytes(size, "little", signed=True)
            struct.pack_into(f"<{size}s", words, place + 12, literal)
        place += 4 * (len(operands) + 1)
    return bytes(words)
