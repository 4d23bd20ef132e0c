"""Reads the part of a SPIR-V binary that a loader has to know, and checks that the binary is whole.

A driver may end the process when it is given a damaged module, so nothing unread reaches a driver.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from tri_core.api import ToolchainError
from tri_core.lazy_dataclasses import dataclass

__all__ = ["SpirvModule", "instructions_of", "read_module", "string_of"]

_MAGIC = 0x07230203
_HEADER_WORDS = 5
_KERNEL_MODEL = 6
#: opcodes of the SPIR-V specification, section 3.52
_FUNCTION_END = 56
_OPCODES = {10: "extension", 15: "entry point", 16: "execution mode", 17: "capability"}
#: bytes of an address: modules are of the 64-bit memory model
_ADDRESS = 8
#: execution modes, section 3.6
_LOCAL_SIZE, _CONTRACTION_OFF, _SUBGROUP_SIZE = 17, 31, 35
#: capabilities that a device may lack, section 3.31
_CAPABILITIES = {
    9: "Float16",
    10: "Float64",
    11: "Int64",
    12: "Int64Atomics",
    22: "Int16",
    39: "Int8",
    6033: "AtomicFloat32AddEXT",
    6034: "AtomicFloat64AddEXT",
    6095: "AtomicFloat16AddEXT",
    5612: "AtomicFloat32MinMaxEXT",
    5613: "AtomicFloat64MinMaxEXT",
    5616: "AtomicFloat16MinMaxEXT",
    5568: "SubgroupShuffleINTEL",
    61: "GroupNonUniform",
    64: "GroupNonUniformBallot",
    65: "GroupNonUniformShuffle",
    66: "GroupNonUniformShuffleRelative",
    5055: "ShaderClockKHR",
    5606: "AsmINTEL",
    6115: "BFloat16ConversionINTEL",
    6441: "CacheControlsINTEL",
    6236: "SubgroupMatrixMultiplyAccumulateINTEL",
    6228: "Subgroup2DBlockIOINTEL",
}


@dataclass(frozen=True)
class SpirvModule:
    """Contents of a module's header: ``version`` (major, minor), kernels and their requirements.

    ``local_size`` is the work-group size of each kernel along x, y, z, ``sub_group_size`` the required
    one, where given.  A capability without a name here appears as its number.
    """

    version: tuple[int, int]
    capabilities: frozenset[str]
    extensions: frozenset[str]
    kernels: tuple[str, ...]
    local_size: dict[str, tuple[int, int, int]]
    sub_group_size: dict[str, int]
    #: bytes of each parameter of each kernel, None for one that is no number and no pointer
    parameters: dict[str, list[int | None]]
    #: kernels whose products and sums the driver may fuse
    contracted: frozenset[str]


def _damaged(why: str) -> ToolchainError:
    return ToolchainError(
        f"this is not a whole SPIR-V module: {why}",
        remedy="compile the kernel again; TRI_ALWAYS_COMPILE=1 ignores what is cached",
        tool="SPIR-V",
        returncode=None,
        log="",
    )


def _words(data: bytes) -> tuple[int, ...]:
    if len(data) % 4 or len(data) < 4 * _HEADER_WORDS:
        raise _damaged(f"{len(data)} bytes")
    words: tuple[int, ...] = struct.unpack(f"<{len(data) // 4}I", data)
    if words[0] != _MAGIC:
        raise _damaged(f"it begins with {words[0]:#010x}")
    return words


def _instructions(words: tuple[int, ...]) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Opcode and operand words of each instruction."""
    place, opcode = _HEADER_WORDS, 0
    while place < len(words):
        count, opcode = words[place] >> 16, words[place] & 0xFFFF
        if count == 0 or place + count > len(words):
            raise _damaged(f"the instruction at word {place} is {count} words long, {len(words)} in all")
        yield opcode, words[place + 1 : place + count]
        place += count
    if opcode != _FUNCTION_END:  # a cut between two instructions
        raise _damaged("it does not end with a function")


def instructions_of(data: bytes) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Opcode and operand words of each instruction; ToolchainError when the module is damaged."""
    return _instructions(_words(data))


def string_of(operands: tuple[int, ...]) -> str:
    """The literal string at the start of ``operands``."""
    return struct.pack(f"<{len(operands)}I", *operands).partition(b"\0")[0].decode()


def read_module(data: bytes) -> SpirvModule:
    """Read ``data``; ToolchainError when it is truncated or no SPIR-V at all."""
    words = _words(data)
    capabilities, extensions = set[str](), set[str]()
    kernels: dict[int, str] = {}
    modes: dict[tuple[int, int], tuple[int, ...]] = {}
    for opcode, operands in _instructions(words):
        match _OPCODES.get(opcode):
            case "capability":
                capabilities.add(_CAPABILITIES.get(operands[0], str(operands[0])))
            case "extension":
                extensions.add(string_of(operands))
            case "entry point" if operands[0] == _KERNEL_MODEL:
                kernels[operands[1]] = string_of(operands[2:])
            case "execution mode":
                modes[operands[0], operands[1]] = operands[2:]
    if not kernels:
        raise _damaged("it has no kernel")
    return SpirvModule(
        version=(words[1] >> 16 & 0xFF, words[1] >> 8 & 0xFF),
        capabilities=frozenset(capabilities),
        extensions=frozenset(extensions),
        kernels=tuple(kernels.values()),
        parameters=_parameters(words, kernels),
        contracted=frozenset(n for i, n in kernels.items() if (i, _CONTRACTION_OFF) not in modes),
        local_size={
            n: _extent(modes[i, _LOCAL_SIZE]) for i, n in kernels.items() if (i, _LOCAL_SIZE) in modes
        },
        sub_group_size={
            n: modes[i, _SUBGROUP_SIZE][0] for i, n in kernels.items() if (i, _SUBGROUP_SIZE) in modes
        },
    )


def _parameters(words: tuple[int, ...], kernels: dict[int, str]) -> dict[str, list[int | None]]:
    sizes: dict[int, int] = {}
    found: dict[str, list[int | None]] = {name: [] for name in kernels.values()}
    current: list[int | None] = []
    for opcode, operands in _instructions(words):
        match opcode:
            case 20:  # OpTypeBool
                sizes[operands[0]] = 1
            case 21 | 22:  # OpTypeInt, OpTypeFloat
                sizes[operands[0]] = operands[1] // 8
            case 32:  # OpTypePointer
                sizes[operands[0]] = _ADDRESS
            case 54:  # OpFunction
                name = kernels.get(operands[1])
                current = found[name] if name is not None else []
            case 55:  # OpFunctionParameter
                current.append(sizes.get(operands[0]))
    return found


def _extent(words: tuple[int, ...]) -> tuple[int, int, int]:
    x, y, z = words
    return x, y, z
