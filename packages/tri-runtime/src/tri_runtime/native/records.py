"""Records that the launcher's code reads: a call of a kernel that it may launch alone, as bytes.

Objects are named by their addresses (``id``, which in CPython is one); a :class:`Call` keeps them alive.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from types import CellType
from typing import Any, Protocol

from tri_core.api import Argument, HiddenNumbers, LaunchPlan
from tri_core.lazy_dataclasses import dataclass
from tri_runtime.native.arrays import Exchange
from tri_runtime.native.code import Limit
from tri_runtime.native.layouts import (
    ARRAY_ITEM,
    BOOL_ITEM,
    CALL,
    CONDITION,
    CONSTANT_ITEM,
    INT_ITEM,
    ITEM,
    OBJECT_ITEM,
    PAIR,
    PART,
    PARTS_ITEM,
    PROBE,
    ConditionKind,
    ItemKind,
)
from tri_runtime.packing import ArgumentTable, argument_table
from tri_runtime.schema import Record

__all__ = [
    "AnyItem",
    "ArrayItem",
    "BoolItem",
    "Call",
    "Captured",
    "Condition",
    "ConstantItem",
    "EmptyList",
    "Entry",
    "FloatItem",
    "IntItem",
    "Item",
    "Part",
    "PartsItem",
    "Pattern",
    "Variable",
    "table_of",
]

_ADDRESS = struct.Struct("@P")
#: the header alone
_HEADER = Record("header", ITEM.fields[:3])
_SIGNED = {size: (-(1 << (8 * size - 1)), (1 << (8 * size - 1)) - 1) for size in (1, 2, 4, 8)}


def _item(record: Record, kind: ItemKind, offset: int = 0, size: int = 0, **fields: int) -> bytes:
    """An item of ``kind``, as long as each item of an array is."""
    return record.pack(kind=kind, offset=offset, size=size, **fields).ljust(ITEM.size, b"\0")


def _bare_item(kind: ItemKind, offset: int = 0, size: int = 0) -> bytes:
    """An item that has nothing behind its header."""
    return _item(_HEADER, kind, offset, size)


class Item(Protocol):
    """Requirement on one argument, and its place in the block of parameters."""

    @property
    def objects(self) -> tuple[Any, ...]:
        """Objects to keep alive."""
        ...

    def encode(self) -> bytes:
        """The record."""
        ...


@dataclass(frozen=True)
class ArrayItem:
    """An array of class ``cls`` on ``device`` (DLPack's type and index), of ``dtype``, whose address has no bit of ``mask`` (or some)."""

    offset: int
    cls: type
    exchange: Exchange
    device: int
    dtype: int
    mask: int
    aligned: bool
    #: name of the attribute and the object it has to be, for dtypes that DLPack does not tell apart
    named: tuple[str, Any] | None = None
    #: where the bytes that it spans are stored, behind the parameters; 0: nobody asks
    extent: int = 0
    _names: Any = field(init=False, repr=False, compare=False, default=None)

    def __post_init__(self) -> None:
        if self.named is not None:
            object.__setattr__(self, "_names", (ctypes.c_void_p * 2)(*map(id, self.named)))

    @property
    def objects(self) -> tuple[Any, ...]:
        """The class, what reads it, the dtype."""
        return self.cls, self.exchange, self.named, self._names

    def encode(self) -> bytes:
        """The record."""
        names = 0 if self._names is None else ctypes.addressof(self._names)
        return _item(
            ARRAY_ITEM,
            ItemKind.ARRAY,
            self.offset,
            8,
            type=id(self.cls),
            device=self.device,
            dtype=self.dtype,
            mask=self.mask,
            aligned=self.aligned,
            read=self.exchange.read,
            attribute=names,
            extent=self.extent,
        )


@dataclass(frozen=True)
class IntItem:
    """An int that is equal to one, within 32 bits, divisible by 16 as ``properties`` says, where ``care`` does.

    It is stored in ``size`` bytes (0: not at all), with a sign or without one.
    """

    offset: int
    size: int
    properties: tuple[bool, bool, bool]
    care: tuple[bool, bool, bool]
    signed: bool = True

    objects = ()

    @classmethod
    def like(
        cls, value: int, offset: int, size: int, care: tuple[bool, bool, bool], signed: bool = True
    ) -> IntItem:
        """One that looks as ``value`` does where that matters."""
        one, small, divisible = value == 1, -(1 << 31) <= value < 1 << 31, value % 16 == 0
        properties = one and care[0], small and care[1], divisible and care[2]
        return cls(offset, size, properties, care, signed)

    def encode(self) -> bytes:
        """The record."""
        wanted, care = (sum(on << i for i, on in enumerate(flags)) for flags in (self.properties, self.care))
        low, high = _SIGNED[self.size or 8]
        if not self.signed:
            low, high = 0, min((1 << 8 * self.size) - 1, _SIGNED[8][1])
        where = self.offset, self.size
        return _item(INT_ITEM, ItemKind.INT, *where, properties=wanted, care=care, low=low, high=high)


@dataclass(frozen=True)
class FloatItem:
    """A float in ``size`` bytes, 4 or 8."""

    offset: int
    size: int

    objects = ()

    def encode(self) -> bytes:
        """The record."""
        return _bare_item(ItemKind.FLOAT, self.offset, self.size)


@dataclass(frozen=True)
class BoolItem:
    """A bool in one byte."""

    offset: int

    objects = ()

    def encode(self) -> bytes:
        """The record."""
        return _item(BOOL_ITEM, ItemKind.BOOL, self.offset, 1, true=id(True), false=id(False))


@dataclass(frozen=True)
class ConstantItem:
    """An argument that is part of the code: an int of 64 bits, a float or a string by type and value, all else by identity."""

    value: Any

    @property
    def objects(self) -> tuple[Any, ...]:
        """The value."""
        return (self.value,)

    def encode(self) -> bytes:
        """The record."""
        if type(self.value) is int:
            return _item(CONSTANT_ITEM, ItemKind.INT_CONSTANT, bits=self.value)
        if type(self.value) is float:
            (bits,) = struct.unpack("@q", struct.pack("@d", self.value))
            return _item(CONSTANT_ITEM, ItemKind.FLOAT_CONSTANT, bits=bits)
        kind = ItemKind.TEXT if type(self.value) is str else ItemKind.OBJECT
        return _item(OBJECT_ITEM, kind, object=id(self.value))


@dataclass(frozen=True)
class AnyItem:
    """Something that nothing depends on."""

    objects = ()

    def encode(self) -> bytes:
        """The record."""
        return _bare_item(ItemKind.ANY)


@dataclass(frozen=True)
class Part:
    """An attribute of an object: a sequence of class ``sequence``, ``items`` saying what each has to be; or, None, the one item."""

    name: str
    sequence: type | None
    items: tuple[Item, ...]


@dataclass(frozen=True)
class PartsItem:
    """An object of class ``cls``, by its attributes, which are plain ones."""

    cls: type
    parts: tuple[Part, ...]
    _blocks: list[Any] = field(init=False, repr=False, compare=False, default_factory=list)
    _record: int = field(init=False, repr=False, compare=False, default=0)

    def __post_init__(self) -> None:
        records = b"".join(
            PART.pack(
                name=id(p.name),
                sequence=0 if p.sequence is None else id(p.sequence),
                count=len(p.items),
                items=self._items(p),
            )
            for p in self.parts
        )
        object.__setattr__(self, "_record", self._put(records))

    def _items(self, part: Part) -> int:
        return self._put(b"".join(item.encode() for item in part.items))

    def _put(self, data: bytes) -> int:
        self._blocks.append(ctypes.create_string_buffer(data, max(len(data), 1)))
        return ctypes.addressof(self._blocks[-1])

    @property
    def objects(self) -> tuple[Any, ...]:
        """The class, the parts, and what the records of these are in."""
        return (
            self.cls,
            self.parts,
            [item.objects for part in self.parts for item in part.items],
            self._blocks,
        )

    def encode(self) -> bytes:
        """The record."""
        fields = {"type": id(self.cls), "count": len(self.parts), "parts": self._record}
        return _item(PARTS_ITEM, ItemKind.PARTS, **fields)


#: order in which items are looked at
_COSTS: dict[type, int] = {ConstantItem: 0, ArrayItem: 2, PartsItem: 3}


# --- what has to be as it was -----------------------------------------------------------------------------


class Condition(Protocol):
    """Something outside of the arguments that a launch depends on."""

    def encode(self) -> bytes:
        """The record."""
        ...


@dataclass(frozen=True, eq=False)
class EmptyList:
    """A list that is empty."""

    items: list[Any]

    def encode(self) -> bytes:
        """The record."""
        return CONDITION.pack(kind=ConditionKind.EMPTY_LIST, subject=id(self.items), key=0, value=0)


@dataclass(frozen=True, eq=False)
class Variable:
    """A context variable whose value is an object."""

    variable: Any
    value: Any

    def encode(self) -> bytes:
        """The record."""
        return CONDITION.pack(
            kind=ConditionKind.CONTEXT_VARIABLE, subject=id(self.variable), key=0, value=id(self.value)
        )


@dataclass(frozen=True, eq=False)
class Entry:
    """A dictionary that has an object under a name."""

    names: dict[str, Any]
    name: str
    value: Any

    def encode(self) -> bytes:
        """The record."""
        return CONDITION.pack(
            kind=ConditionKind.DICTIONARY_ENTRY,
            subject=id(self.names),
            key=id(self.name),
            value=id(self.value),
        )


@dataclass(frozen=True, eq=False)
class Captured:
    """A cell (a variable of an enclosing function) that holds an object."""

    cell: CellType
    value: Any

    def encode(self) -> bytes:
        """The record."""
        return CONDITION.pack(kind=ConditionKind.CELL, subject=id(self.cell), key=0, value=id(self.value))


_DESCRIPTOR_FIELDS = (
    "encode",
    "argument_bytes",
    "last_arguments",
    "descriptor_bytes",
    "descriptors",
    "descriptor_offset",
)


# --- a call -----------------------------------------------------------------------------------------------


def table_of(plan: LaunchPlan) -> ArgumentTable:
    """The layout of what a launch by ``plan`` passes."""
    return argument_table(plan.parameters, plan.descriptors)


def _ends(plan: LaunchPlan) -> list[int]:
    """Parameters of ``plan`` whose arrays must not overlap others, by number."""
    return sorted({number for first, second, _ in plan.apart or () for number in (first, second)})


def _extents(plan: LaunchPlan) -> dict[int, int]:
    """Of each of these, where the bytes that it spans are stored behind the parameters."""
    begin = -(-table_of(plan).size // 8) * 8 + 8
    return {number: begin + 8 * i for i, number in enumerate(_ends(plan))}


def with_extents(plan: LaunchPlan, items: Sequence[Item]) -> list[Item]:
    """``items``, those of arrays that must not overlap storing what they span; ValueError where one is no array of its own."""
    offsets = table_of(plan).offsets
    wanted = {offsets[number]: place for number, place in _extents(plan).items()}
    found = [
        replace(item, extent=wanted.pop(item.offset))
        if isinstance(item, ArrayItem) and item.offset in wanted
        else item
        for item in items
    ]
    if wanted:
        raise ValueError(f"no arrays for the parameters at {sorted(wanted)}, which must not overlap")
    return found


@dataclass(frozen=True, eq=False)
class Pattern:
    """Calls of one kernel that look alike.

    ``names``: of all arguments in order, the last ``keywords`` given as keywords; ``items``: what each has to be;
    ``conditions``: what else; ``arguments``: of one such launch (the values of parameters that no argument decides), and ``numbers``,
    the hidden ones of its stream, which ``exchange`` reads for ``device``.  ``result``: what a call gives;
    ``defaults``: what a grid that is a function finds beside the arguments.
    """

    items: Sequence[Item]
    names: Sequence[str]
    keywords: int
    conditions: Sequence[Condition]
    arguments: Sequence[Argument]
    numbers: HiddenNumbers
    exchange: Exchange
    device: int
    result: Any
    defaults: dict[str, Any]


class Call:
    """A pattern, ready for the launcher's code; ``record`` is the address of what it reads."""

    def __init__(self, plan: LaunchPlan, pattern: Pattern) -> None:
        pattern = replace(pattern, items=with_extents(plan, pattern.items))
        self._alive: list[Any] = [plan, pattern, [item.objects for item in pattern.items]]
        self.record = self._put(
            CALL.pack(
                **self._of_arguments(pattern),
                **self._of_pairs(plan),
                **self._of_launch(plan, pattern),
                **self._of_parameters(plan, pattern),
                **self._of_device(plan, pattern),
                **self._of_descriptors(plan, pattern),
            )
        )

    @staticmethod
    def possible(plan: LaunchPlan) -> bool:
        """True if the code has room for the parameters of a launch by ``plan``."""
        table = table_of(plan)
        count = len(table.offsets) + plan.descriptors
        extents = 8 * (len(_ends(plan)) + 1)
        return (
            table.size + extents <= Limit.BLOCK_BYTES and count <= Limit.PARAMETERS and not table.conversions
        )

    def _put(self, data: bytes) -> int:
        """The address of ``data``, which lives as long as this object."""
        block = ctypes.create_string_buffer(data, max(len(data), 1))
        self._alive.append(block)
        return ctypes.addressof(block)

    def _of_arguments(self, pattern: Pattern) -> dict[str, int]:
        """Fields about how the arguments are given, and what they have to be."""
        positional = len(pattern.items) - pattern.keywords
        names = self._put(b"".join(_ADDRESS.pack(id(name)) for name in pattern.names))
        # what is cheap to look at first: most records that do not fit differ in a constant
        order = sorted(range(len(pattern.items)), key=lambda i: _COSTS.get(type(pattern.items[i]), 1))
        return {
            "positional": positional,
            "keywords": pattern.keywords,
            "names": names,
            "keyword_names": names + positional * _ADDRESS.size,
            "items": self._put(b"".join(pattern.items[i].encode() for i in order)),
            "order": self._put(struct.pack(f"@{len(order)}q", *order)),
            "condition_count": len(pattern.conditions),
            "conditions": self._put(b"".join(condition.encode() for condition in pattern.conditions)),
        }

    def _of_pairs(self, plan: LaunchPlan) -> dict[str, int]:
        """Fields about arrays that may not overlap."""
        offsets, extents = table_of(plan).offsets, _extents(plan)
        records = [
            PAIR.pack(
                first=offsets[i],
                second=offsets[j],
                first_extent=extents[i],
                second_extent=extents[j],
                same=same,
            )
            for i, j, same in plan.apart or ()
        ]
        return {"pair_count": len(records), "pairs": self._put(b"".join(records))}

    def _of_launch(self, plan: LaunchPlan, pattern: Pattern) -> dict[str, int]:
        """Fields about the driver's call, and Python's objects around it."""
        return {
            "owner": id(self),
            "result": id(pattern.result),
            "note": 0 if plan.note is None else id(plan.note),
            "note_argument": 0 if plan.note is None else id(plan.name),
            "defaults": id(pattern.defaults),
            "start": plan.start,
            "function": plan.function,
            "threads": plan.threads,
            "shared": plan.shared,
            "attributes": plan.attributes,
            "attribute_count": plan.attribute_count,
            "cluster": plan.cluster,
        }

    def _of_parameters(self, plan: LaunchPlan, pattern: Pattern) -> dict[str, int]:
        """Fields about the block of parameters."""
        table = table_of(plan)
        grid = (1, 1, 1) if plan.resident else ()
        values = ctypes.create_string_buffer(max(table.size, 1))
        table.pack_into(values, [*pattern.arguments, *grid, *pattern.numbers.values])
        offsets = (*table.offsets, *table.descriptor_offsets)
        return {
            "parameter_bytes": table.size,
            "parameter_values": self._put(values.raw),
            "parameter_count": len(offsets),
            "parameter_offsets": self._put(struct.pack(f"@{len(offsets)}q", *offsets)),
        }

    def _of_device(self, plan: LaunchPlan, pattern: Pattern) -> dict[str, int]:
        """Fields about stream, context and size of the device."""
        probes = pattern.numbers.probes
        records = b"".join(PROBE.pack(function=probe.function, expected=probe.value) for probe in probes)
        current, context = plan.context or (0, 0)
        return {
            "current_stream": pattern.exchange.current_stream,
            "device": pattern.device,
            "max_ctas": plan.most_ctas,
            "resident": plan.resident,
            "grid_offset": table_of(plan).offsets[len(pattern.arguments)] if plan.resident else 0,
            "probe_count": len(probes),
            "probes": self._put(records),
            "current_context": current,
            "context": context,
        }

    def _of_descriptors(self, plan: LaunchPlan, pattern: Pattern) -> dict[str, int]:
        """Fields about descriptors, which are encoded again where the arguments differ from the last ones."""
        if plan.encode is None:
            return dict.fromkeys(_DESCRIPTOR_FIELDS, 0)
        own = argument_table(plan.parameters[: len(pattern.arguments)]).layout
        encode = _Encoder(own, plan.encode)
        self._alive.append(encode)
        last = own.pack(*pattern.arguments)
        encoded = encode(last)
        offset = table_of(plan).descriptor_offsets[0]
        values = id(encode), len(last), self._put(last), len(encoded), self._put(encoded), offset
        return dict(zip(_DESCRIPTOR_FIELDS, values, strict=True))


@dataclass(frozen=True)
class _Encoder:
    """The descriptors for packed arguments, one after the other."""

    layout: struct.Struct
    encode: Callable[[Sequence[Argument]], Sequence[bytes]]

    def __call__(self, data: bytes) -> bytes:
        return b"".join(self.encode(self.layout.unpack(data)))
