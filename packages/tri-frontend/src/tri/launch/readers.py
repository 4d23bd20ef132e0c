"""Reading run-time arguments: a value for the launch, and what the kernel is specialized on.

A reader takes an argument and gives ``(value, fact)``.  Facts are cheap to hash and tell all that the
compiled code may depend on:

* a pointer: ``(dtype, aligned, place)``, and whether its array is small for targets that ask; * an integer: its dtype, with ``:D`` when divisible, or ``1``;
* a tensor descriptor: :class:`DescriptorFact`; * a tuple: :class:`Items`; * a float or a bool: its dtype;
* what is folded into the code: :class:`Constant`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from tri.kernel import Kernel
from tri.language.constexpr import constexpr
from tri.language.structure import remake
from tri.language.types import dtype
from tri.launch.arrays import ArrayReader, Place, ReadOnly, array_reader, memory_bytes
from tri.launch.tensor_descriptor import TensorDescriptor
from tri_core.errors import ArgumentError, ArgumentOverflow, DescriptorError
from tri_core.lazy_dataclasses import dataclass

__all__ = ["Constant", "DescriptorFact", "Items", "Readers", "Rules", "readers", "static_fact"]

Reader = Callable[[Any], tuple[Any, Any]]

ONE = "1"
DIVISIBLE = ":D"


@dataclass(frozen=True)
class Rules:
    """Specialisation rules of a parameter: on values at all, on divisibility by ``divisibility``, on equality
    to 1.

    ``small_array``: bytes that the memory of a small array has at most, 0 where size does not matter;
    ``type`` fixes the type of a scalar (empty: it follows from the value).
    """

    divisibility: int = 16
    equal_to_one: bool = True
    small_array: int = 0
    alignment: bool = True
    values: bool = True
    type: str = ""


@dataclass(frozen=True)
class Constant:
    """An argument that is part of the code: its value, distinguished by type too (1, 1.0 and True differ)."""

    kind: type
    text: Any
    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant) and self.kind is other.kind and bool(self.text == other.text)

    def __hash__(self) -> int:
        return hash((self.kind, self.text))


class DescriptorFact(NamedTuple):
    """Specialisation of a kernel on a tensor descriptor: all but its numbers.

    ``divisible``: for every dimension, whether its size is; ``rounds``: whether what is read is rounded to TF32;
    ``layout``: how blocks lie in shared memory, where the descriptor says it.
    """

    dtype: str
    block: tuple[int, ...]
    padding: str
    divisible: tuple[bool, ...]
    place: Place | ReadOnly | None
    rounds: bool = False
    layout: str = ""

    @property
    def text(self) -> str:
        """The type of the parameter as signatures write it."""
        tail = f", {self.layout}" if self.layout else ""
        return f"tensordesc<{self.dtype}[{', '.join(map(str, self.block))}]{tail}>"


@dataclass(frozen=True)
class Items:
    """A tuple argument: its class, and the fact of each item."""

    kind: type
    facts: tuple[Any, ...]


NONE = Constant(type(None), None, None)


def static_fact(value: Any) -> Constant:
    """The fact of a constexpr argument; LaunchError for a value that cannot be hashed."""
    if isinstance(value, constexpr):
        value = value.value
    if isinstance(value, (tuple, list)):
        items = tuple(map(static_fact, value))
        kind = tuple if isinstance(value, list) else type(value)
        return Constant(kind, items, remake(value, [i.value for i in items]))
    # -0.0 equals 0.0 and NaN nothing, but their texts are as they should be
    text = repr(value) if isinstance(value, float) else value
    fact = Constant(type(value), text, value)
    try:
        hash(fact)
    except TypeError:
        raise ArgumentError(
            f"a constexpr argument is a {type(value).__name__}, which cannot be hashed",
            remedy="pass a number, a string, a dtype, a function or a tuple of these",
        ) from None
    return fact


class Readers(dict[type, Reader]):
    """Argument class -> its reader, under some :class:`Rules`; filled as classes are met."""

    def __init__(self, rules: Rules) -> None:
        super().__init__()
        self.rules = rules
        if rules.type.startswith("*"):
            self[bool] = self[int] = self[float] = _no_array(rules.type)
        else:
            self[bool] = _fixed(rules.type or "u1")
            self[int] = _integers(rules) if not rules.type or rules.type[0] in "iu" else _fixed(rules.type)
            self[float] = _fixed(rules.type or "fp32")
        self[type(None)] = lambda value: (None, NONE)

    def __missing__(self, cls: type) -> Reader:
        reader = self._find(cls)
        self[cls] = reader
        return reader

    def _find(self, cls: type) -> Reader:
        if issubclass(cls, (constexpr, dtype, Kernel)):
            return lambda value: (None, static_fact(value))
        if _is_numpy_scalar(cls):
            return self._numpy_scalar
        if issubclass(cls, tuple):
            return _tuples(cls, replace(self.rules, alignment=True, values=True, type=""))
        if issubclass(cls, int):
            return lambda value: self[int](int(value))
        if issubclass(cls, float):
            return lambda value: self[float](float(value))
        if issubclass(cls, TensorDescriptor):
            return _descriptors(self.rules)
        try:
            return _pointers(array_reader(cls), self.rules)
        except LookupError:
            if issubclass(cls, (list, dict, set)):
                raise ArgumentError(
                    f"a {cls.__name__} was passed to a kernel",
                    remedy="pass a tuple or a named tuple, whose length and types are part of the kernel",
                ) from None
            raise ArgumentError(
                f"a {cls.__module__}.{cls.__qualname__} was passed to a kernel",
                remedy="pass an array (NumPy, PyTorch, DLPack or a device-array interface), a number, a bool or None; "
                "annotate parameters for other values with tl.constexpr",
            ) from None

    def _numpy_scalar(self, value: Any) -> tuple[Any, Any]:
        """A number of NumPy's as Python's; those that Python has no type for are refused."""
        item = value.item()
        if type(item) is type(value):
            raise ArgumentError(
                f"a {type(value).__module__}.{type(value).__qualname__} was passed to a kernel",
                remedy="convert it with float(), which rounds it to 64 bits",
            )
        return self[type(item)](item)


@lru_cache
def readers(rules: Rules) -> Readers:
    """The readers for ``rules``, shared by all parameters under the same ones."""
    return Readers(rules)


def _tuples(cls: type, rules: Rules) -> Reader:
    """The reader of a tuple: each item as an argument without annotations."""

    def reader(value: tuple[Any, ...]) -> tuple[Any, Items]:
        table = readers(rules)
        read = [table[type(item)](item) for item in value]
        return tuple([v for v, _ in read]), Items(cls, tuple([f for _, f in read]))

    return reader


def _is_numpy_scalar(cls: type) -> bool:
    generic = getattr(sys.modules.get("numpy"), "generic", None)
    return generic is not None and issubclass(cls, generic)


def _no_array(type_: str) -> Reader:
    def reader(value: Any) -> tuple[Any, Any]:
        raise ArgumentError(
            f"{value!r} was passed for a pointer (it is annotated as {type_!r})", remedy="pass an array"
        )

    return reader


def _fixed(type_: str) -> Reader:
    return lambda value: (value, type_)


def _pointers(read: ArrayReader, rules: Rules) -> Reader:
    mask = rules.divisibility - 1 if rules.values and rules.alignment else -1
    if rules.type.startswith("*"):  # the annotation says what the memory holds, as in Triton
        element, read_any = rules.type[1:], read

        def read(array: Any) -> tuple[int, str, Place | ReadOnly | None]:
            address, _, place = read_any(array)
            return address, element, place

    def reader(array: Any) -> tuple[int, Any]:
        address, dtype_, place = read(array)
        return address, (dtype_, not address & mask, place)

    def unaligned(array: Any) -> tuple[int, Any]:
        address, dtype_, place = read(array)
        return address, (dtype_, False, place)

    plain = reader if mask >= 0 else unaligned
    most = rules.small_array
    if not most or not rules.values:
        return plain

    def sized(array: Any) -> tuple[int, Any]:
        address, fact = plain(array)
        return address, (*fact, memory_bytes(array) <= most)

    return sized


def _descriptors(rules: Rules) -> Reader:
    """Of descriptors: the base's address, the sizes, the strides but the last."""
    mask = rules.divisibility - 1 if rules.values and rules.alignment else -1
    known: dict[type, ArrayReader] = {}

    def reader(desc: TensorDescriptor) -> tuple[tuple[int, ...], DescriptorFact]:
        base = desc.base
        cls = type(base)
        read = known.get(cls)
        if read is None:
            read = known[cls] = array_reader(cls)
        address, dtype_, place = read(base)
        if address & 15:
            raise DescriptorError(
                f"the base of a descriptor is at {address:#x}, which is no multiple of 16 bytes"
            )
        divisible = tuple([not size & mask for size in desc.shape])
        if dtype_ == "i1":
            dtype_ = "i8"  # what memory holds, as for descriptors made in kernels
        fact = DescriptorFact(
            dtype_,
            tuple(desc.block_shape),
            desc.padding,
            divisible,
            place,
            desc.round_f32_to_tf32,
            desc.layout_text,
        )
        return (address, *desc.shape, *desc.strides[:-1]), fact

    return reader


def _integers(rules: Rules) -> Reader:
    mask = rules.divisibility - 1
    one = rules.values and rules.equal_to_one and not rules.type  # a 1 of a given type keeps its type
    small, small_divisible = rules.type or "i32", (rules.type or "i32") + DIVISIBLE
    divisible = rules.values and rules.alignment

    def reader(value: int) -> tuple[int, str]:
        if one and value == 1:
            return value, ONE
        if -0x80000000 <= value < 0x80000000 or rules.type:
            return value, small_divisible if divisible and not value & mask else small
        wide = "i64" if -0x8000000000000000 <= value < 0x8000000000000000 else "u64"
        if not -0x8000000000000000 <= value < 0x10000000000000000:
            raise ArgumentOverflow(f"{value} was passed to a kernel: it does not fit in 64 bits")
        return value, wide + DIVISIBLE if divisible and not value & mask else wide

    return reader
