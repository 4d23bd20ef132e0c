"""Kernel arguments as bytes: one compiled layout per signature, packed in one call per launch.

The layout is the C one (each argument at its natural alignment), which is what device drivers take either
whole or as one pointer per argument: :class:`PackedArguments` gives both views of the same memory.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from functools import lru_cache

from tri_core.api import Argument, LaunchError, Parameter, Unsupported
from tri_core.lazy_dataclasses import dataclass

__all__ = ["ArgumentPool", "ArgumentTable", "PackedArguments", "argument_table", "bfloat16_bits"]

#: an encoded descriptor: its size, and what its offset is a multiple of
DESCRIPTOR_BYTES, DESCRIPTOR_ALIGNMENT = 128, 64

#: scalar type -> struct code; every code packs to the type's own size
_CODES = {
    "i1": "?",
    "u1": "?",
    "i8": "b",
    "u8": "B",
    "i16": "h",
    "u16": "H",
    "i32": "i",
    "u32": "I",
    "i64": "q",
    "u64": "Q",
    "fp16": "e",
    "bf16": "H",
    "fp32": "f",
    "fp64": "d",
}
#: other spellings of the same types
_ALIASES = {"f16": "fp16", "f32": "fp32", "f64": "fp64", "B": "i1"}


def bfloat16_bits(value: float) -> int:
    """The 16 bits of ``value`` rounded to bfloat16, to nearest, ties to even; NaN stays NaN."""
    try:
        (bits,) = struct.unpack("<I", struct.pack("<f", value))
    except OverflowError:  # finite in double, beyond single: bfloat16 has the same range
        return 0x7F80 if value > 0 else 0xFF80
    if bits & 0x7FFFFFFF > 0x7F800000:
        return (bits >> 16) | 0x40
    return (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16


#: scalar types that the struct module has no code for: value -> integer of the type's bits
_CONVERT: dict[str, Callable[[float], int]] = {"bf16": bfloat16_bits}


def _code(parameter: Parameter) -> str:
    if parameter.is_pointer:
        return "P"
    code = _CODES.get(_ALIASES.get(parameter.type, parameter.type))
    if code is None:
        raise Unsupported(
            f"parameter {parameter.name} has type {parameter.type}, which cannot be passed by value",
            remedy=f"pass a pointer to it, or one of {', '.join(_CODES)}",
        )
    return code


@dataclass(frozen=True)
class ArgumentTable:
    """The layout of one signature: ``offsets`` and ``size`` in bytes, in the order of ``parameters``.

    ``layout`` packs the numbers; ``conversions`` gives, by a parameter's number, what makes its bits of a float;
    ``descriptors`` encoded descriptors follow (see :mod:`tri_runtime.descriptors`).
    """

    parameters: tuple[Parameter, ...]
    layout: struct.Struct
    offsets: tuple[int, ...]
    conversions: tuple[tuple[int, Callable[[float], int]], ...] = ()
    descriptors: int = 0

    @property
    def size(self) -> int:
        """Bytes of all arguments, without padding at the end."""
        return self.descriptor_offsets[-1] + DESCRIPTOR_BYTES if self.descriptors else self.layout.size

    @property
    def sizes(self) -> tuple[int, ...]:
        """Bytes of each argument, and of each descriptor."""
        plain = (struct.calcsize(_code(p)) for p in self.parameters)
        return (*plain, *(DESCRIPTOR_BYTES for _ in range(self.descriptors)))

    @property
    def descriptor_offsets(self) -> tuple[int, ...]:
        """Offsets of the descriptors."""
        first = -(-self.layout.size // DESCRIPTOR_ALIGNMENT) * DESCRIPTOR_ALIGNMENT
        return tuple(first + i * DESCRIPTOR_BYTES for i in range(self.descriptors))

    def put_descriptors(self, memory: ctypes.Array[ctypes.c_char], encoded: Sequence[bytes]) -> None:
        """Write the encoded descriptors into ``memory``."""
        address = ctypes.addressof(memory)
        for offset, data in zip(self.descriptor_offsets, encoded, strict=True):
            ctypes.memmove(address + offset, data, DESCRIPTOR_BYTES)

    def pack_into(self, memory: ctypes.Array[ctypes.c_char], arguments: Sequence[Argument]) -> None:
        """Write ``arguments`` into ``memory``; LaunchError naming the one that does not fit its type."""
        if self.conversions:
            arguments = list(arguments)
            for index, convert in self.conversions:
                arguments[index] = convert(arguments[index])
        try:
            self.layout.pack_into(memory, 0, *arguments)
        except (struct.error, OverflowError, TypeError) as error:
            raise self._misfit(arguments) from error

    def _misfit(self, arguments: Sequence[Argument]) -> LaunchError:
        if len(arguments) != len(self.parameters):
            return LaunchError(f"{len(self.parameters)} arguments are expected, {len(arguments)} given")
        for parameter, argument in zip(self.parameters, arguments, strict=True):
            try:
                struct.pack(_code(parameter), argument)
            except (struct.error, OverflowError, TypeError) as error:
                return LaunchError(
                    f"argument {parameter.name} = {argument!r} is not a {parameter.type}: {error}",
                    remedy="annotate the parameter with a wider type, or pass a smaller value",
                )
        return LaunchError("the arguments do not fit the kernel's parameters")


class PackedArguments:
    """Memory for one launch, laid out by ``table``: ``address`` of the packed bytes, ``pointers`` to one pointer per argument."""

    __slots__ = ("_pointers", "address", "memory", "pointers")

    def __init__(self, table: ArgumentTable) -> None:
        self.memory = ctypes.create_string_buffer(max(table.size, 1))
        self.address = ctypes.addressof(self.memory)
        places = [self.address + offset for offset in (*table.offsets, *table.descriptor_offsets)]
        self._pointers = (ctypes.c_void_p * max(len(places), 1))(*places)
        self.pointers = ctypes.addressof(self._pointers)


class ArgumentPool:
    """Packed arguments of layout ``table`` for concurrent launches of one kernel: :meth:`take` one, :meth:`give` it back.

    Drivers copy arguments during the launch call, so one block per thread inside a launch suffices.
    """

    __slots__ = ("_free", "table")

    def __init__(self, table: ArgumentTable) -> None:
        self.table = table
        self._free = [PackedArguments(table)]

    def take(self) -> PackedArguments:
        """A block that no other launch uses."""
        try:
            return self._free.pop()
        except IndexError:
            return PackedArguments(self.table)

    def give(self, block: PackedArguments) -> None:
        """Return ``block`` for the next launch."""
        self._free.append(block)


@lru_cache(maxsize=1024)
def argument_table(parameters: tuple[Parameter, ...], descriptors: int = 0) -> ArgumentTable:
    """The layout of ``parameters`` and ``descriptors``; Unsupported for a type that cannot be passed by value."""
    codes = [_code(p) for p in parameters]
    offsets, end = [], 0
    for code in codes:
        size = struct.calcsize(code)
        offsets.append(-(-end // size) * size)
        end = offsets[-1] + size
    conversions = tuple((i, _CONVERT[p.type]) for i, p in enumerate(parameters) if p.type in _CONVERT)
    return ArgumentTable(
        parameters, struct.Struct("@" + "".join(codes)), tuple(offsets), conversions, descriptors
    )
