"""Types of the kernel language: dtypes, pointers, blocks.  Values, interned, and free of any IR."""

from __future__ import annotations

import enum
import math
import re
from collections.abc import Sequence
from typing import Any, ClassVar, Self

__all__ = [
    "ALL_DTYPES",
    "bfloat16",
    "block_type",
    "const",
    "dtype",
    "float8e4b8",
    "float8e4b15",
    "float8e4nv",
    "float8e5",
    "float8e5b16",
    "float16",
    "float32",
    "float64",
    "foreign_type",
    "int1",
    "int8",
    "int16",
    "int32",
    "int64",
    "parse_type",
    "pi32_t",
    "pointer_type",
    "tensor_descriptor_type",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "void",
]

#: float formats: name -> (bits, mantissa bits, exponent bias)
_FLOATS: dict[str, tuple[int, int, int]] = {
    "fp8e4b15": (8, 3, 15),
    "fp8e4nv": (8, 3, 7),
    "fp8e4b8": (8, 3, 8),
    "fp8e5": (8, 2, 15),
    "fp8e5b16": (8, 2, 16),
    "fp16": (16, 10, 15),
    "bf16": (16, 7, 127),
    "fp32": (32, 23, 127),
    "fp64": (64, 52, 1023),
}
_SIGNED = ("int8", "int16", "int32", "int64")
_UNSIGNED = ("int1", "uint8", "uint16", "uint32", "uint64")


class _Signedness(enum.Enum):
    SIGNED = 0
    UNSIGNED = 1


class _Kind(enum.IntEnum):
    BOOLEAN = 0
    INTEGRAL = 1
    FLOATING = 2


class dtype:
    """An element type, by Triton's name (``int32``, ``fp16``, ``bf16``, ...); one object per name.

    ``primitive_bitwidth`` counts bits of a value, ``itemsize`` bytes in memory.  Integers have
    ``int_bitwidth`` and ``int_signedness``, floats ``fp_mantissa_width`` and ``exponent_bias``.
    """

    SIGNEDNESS = _Signedness
    KIND = _Kind
    SINT_TYPES: ClassVar[Sequence[str]] = _SIGNED
    UINT_TYPES: ClassVar[Sequence[str]] = _UNSIGNED
    FP_TYPES: ClassVar[Sequence[str]] = tuple(_FLOATS)
    STANDARD_FP_TYPES: ClassVar[Sequence[str]] = ("fp16", "bf16", "fp32", "fp64")
    OTHER_TYPES: ClassVar[Sequence[str]] = ("void",)
    #: the language as programs name it: :func:`repr` is an expression of it, which programs write into kernels
    module: ClassVar[str] = "tri.language"
    _interned: ClassVar[dict[object, dtype]] = {}

    name: str
    primitive_bitwidth: int
    itemsize: int

    def __new__(cls, name: str) -> Self:
        """The one dtype called ``name``."""
        found = cls._interned.get(name)
        if found is None:
            found = cls._interned[name] = super().__new__(cls)
            found._fill(name)
        return found  # type: ignore[return-value]  # interned under its class

    def _fill(self, name: str) -> None:
        self.name = name
        if name in _FLOATS:
            self.primitive_bitwidth, self.fp_mantissa_width, self.exponent_bias = _FLOATS[name]
        elif name in _SIGNED or name in _UNSIGNED:
            signed = name in _SIGNED
            self.int_signedness = _Signedness.SIGNED if signed else _Signedness.UNSIGNED
            self.int_bitwidth = self.primitive_bitwidth = int(name.lstrip("uint"))
        elif name == "void":
            self.primitive_bitwidth = 0
        else:
            del self._interned[name]
            raise TypeError(f"{name!r} is not a dtype; known: {', '.join((*_SIGNED, *_UNSIGNED, *_FLOATS))}")
        self.itemsize = (self.primitive_bitwidth + 7) // 8

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by name, so that types stay interned."""
        return dtype, (self.name,)

    @property
    def value(self) -> dtype:
        """Itself, as of a constexpr: a dtype is a compile-time value."""
        return self

    @property
    def scalar(self) -> dtype:
        """The element type: of a block its element's, else the type itself."""
        return self

    @staticmethod
    def is_dtype(type_str: str) -> bool:
        """True if ``type_str`` is the name of a dtype."""
        return type_str in (*dtype.SINT_TYPES, *dtype.UINT_TYPES, *dtype.FP_TYPES, *dtype.OTHER_TYPES)

    def is_fp8(self) -> bool:
        """True if this is one of the 8-bit floats."""
        return self.name.startswith("fp8")

    def is_fp8e4nv(self) -> bool:
        """True if this is ``fp8e4nv``."""
        return self.name == "fp8e4nv"

    def is_fp8e4b8(self) -> bool:
        """True if this is ``fp8e4b8``."""
        return self.name == "fp8e4b8"

    def is_fp8e4b15(self) -> bool:
        """True if this is ``fp8e4b15``."""
        return self.name == "fp8e4b15"

    def is_fp8e5(self) -> bool:
        """True if this is ``fp8e5``."""
        return self.name == "fp8e5"

    def is_fp8e5b16(self) -> bool:
        """True if this is ``fp8e5b16``."""
        return self.name == "fp8e5b16"

    def is_fp16(self) -> bool:
        """True if this is ``fp16``."""
        return self.name == "fp16"

    def is_bf16(self) -> bool:
        """True if this is ``bf16``."""
        return self.name == "bf16"

    def is_fp32(self) -> bool:
        """True if this is ``fp32``."""
        return self.name == "fp32"

    def is_fp64(self) -> bool:
        """True if this is ``fp64``."""
        return self.name == "fp64"

    def is_int1(self) -> bool:
        """True if this is ``int1``."""
        return self.name == "int1"

    def is_int8(self) -> bool:
        """True if this is ``int8``."""
        return self.name == "int8"

    def is_int16(self) -> bool:
        """True if this is ``int16``."""
        return self.name == "int16"

    def is_int32(self) -> bool:
        """True if this is ``int32``."""
        return self.name == "int32"

    def is_int64(self) -> bool:
        """True if this is ``int64``."""
        return self.name == "int64"

    def is_uint8(self) -> bool:
        """True if this is ``uint8``."""
        return self.name == "uint8"

    def is_uint16(self) -> bool:
        """True if this is ``uint16``."""
        return self.name == "uint16"

    def is_uint32(self) -> bool:
        """True if this is ``uint32``."""
        return self.name == "uint32"

    def is_uint64(self) -> bool:
        """True if this is ``uint64``."""
        return self.name == "uint64"

    def is_floating(self) -> bool:
        """True if this is a float of any width."""
        return self.name in _FLOATS

    def is_standard_floating(self) -> bool:
        """True if this is a float of at least 16 bits."""
        return self.name in self.STANDARD_FP_TYPES

    def is_int_signed(self) -> bool:
        """True if this is a signed integer."""
        return self.name in _SIGNED

    def is_int_unsigned(self) -> bool:
        """True if this is an unsigned integer or ``int1``."""
        return self.name in _UNSIGNED

    def is_int(self) -> bool:
        """True if this is an integer or ``int1``."""
        return self.name in _SIGNED or self.name in _UNSIGNED

    def is_bool(self) -> bool:
        """True if this is ``int1``."""
        return self.name == "int1"

    def is_void(self) -> bool:
        """True if this is the void type."""
        return self.name == "void"

    def is_ptr(self) -> bool:
        """True if this is a pointer."""
        return False

    def is_const(self) -> bool:
        """True if this is a pointer to memory that must not be written."""
        return False

    def is_block(self) -> bool:
        """True if this is a block (a tensor with a shape)."""
        return False

    def kind(self) -> _Kind:
        """The rank in promotion: boolean, then integral, then floating."""
        if self.is_bool():
            return _Kind.BOOLEAN
        return _Kind.INTEGRAL if self.is_int() else _Kind.FLOATING

    def get_int_max_value(self) -> int:
        """The largest value of this integer type."""
        signed = self.int_signedness is _Signedness.SIGNED
        return (1 << (self.int_bitwidth - signed)) - 1

    def get_int_min_value(self) -> int:
        """The smallest value of this integer type."""
        return -(1 << (self.int_bitwidth - 1)) if self.int_signedness is _Signedness.SIGNED else 0

    def with_element_ty(self, element_ty: dtype) -> dtype:
        """The same shape with another element type: for a scalar, ``element_ty``."""
        return element_ty

    def mangle(self) -> str:
        """The type inside the name of a specialised function."""
        if self.is_int():
            return f"{'i' if self.name in _SIGNED else 'u'}{self.int_bitwidth}"
        return "V" if self.is_void() else self.name

    def codegen_name(self) -> str:
        """The name in :mod:`tri.language` (``float32`` for ``fp32``)."""
        if self.name.startswith("fp"):
            return "float" + self.name[2:]
        return "bfloat16" if self.name == "bf16" else self.name

    @property
    def cache_key_part(self) -> str:
        """The type inside a cache key."""
        return self.name

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"{self.module}.{self.codegen_name()}"


class pointer_type(dtype):
    """A pointer to ``element_ty`` in ``address_space``; ``const`` ones cannot be stored through."""

    element_ty: dtype
    address_space: str
    const: bool

    def __new__(cls, element_ty: dtype, address_space: str = "global", const: bool = False) -> Self:
        """The one type with these properties."""
        if not isinstance(element_ty, dtype):
            raise TypeError(f"a pointer's element type is a dtype, not {element_ty!r}")
        key = (cls, element_ty, address_space, const)
        found = cls._interned.get(key)
        if found is None:
            found = cls._interned[key] = object.__new__(cls)
            found._fill_pointer(element_ty, address_space, const)
        return found  # type: ignore[return-value]

    def _fill_pointer(self, element_ty: dtype, address_space: str, const: bool) -> None:
        self.element_ty, self.address_space, self.const = element_ty, address_space, const
        self.name = f"const_pointer<{element_ty}>" if const else f"pointer<{element_ty}>"
        self.primitive_bitwidth, self.itemsize = 64, 8

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by name, so that types stay interned."""
        return pointer_type, (self.element_ty, self.address_space, self.const)

    def is_ptr(self) -> bool:
        """True."""
        return True

    def is_const(self) -> bool:
        """True if stores through the pointer are refused."""
        return self.const

    def mangle(self) -> str:
        """The type inside the name of a specialised function."""
        return f"P{self.element_ty.mangle()}"

    def __repr__(self) -> str:
        return self.name


class const:
    """Annotate a pointer parameter with it when the kernel only reads through it."""


class foreign_type(dtype):
    """A type that a dialect brings to the language; it makes its own IR type."""

    def make_ir_type(self) -> Any:
        """The MLIR type, in the current context."""
        raise NotImplementedError


class block_type(dtype):
    """A tensor of ``shape`` (a tuple of positive ints) with elements of ``element_ty``."""

    element_ty: dtype
    shape: tuple[int, ...]
    numel: int

    def __new__(cls, element_ty: dtype, shape: Sequence[int]) -> Self:
        """The one type with these properties."""
        key = (cls, element_ty, tuple(shape))
        found = cls._interned.get(key)
        if found is None:
            if not shape:
                raise TypeError("a block has at least one dimension; a scalar's type is its dtype")
            found = cls._interned[key] = object.__new__(cls)
            found._fill_block(element_ty, tuple(shape))
        return found  # type: ignore[return-value]

    def _fill_block(self, element_ty: dtype, shape: tuple[int, ...]) -> None:
        self.element_ty, self.shape, self.numel = element_ty, shape, math.prod(shape)
        self.name = f"<[{', '.join(map(str, shape))}], {element_ty}>"
        self.primitive_bitwidth, self.itemsize = element_ty.primitive_bitwidth, element_ty.itemsize

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by name, so that types stay interned."""
        return block_type, (self.element_ty, self.shape)

    @property
    def scalar(self) -> dtype:
        """The element type."""
        return self.element_ty

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.numel * self.element_ty.itemsize

    def is_block(self) -> bool:
        """True."""
        return True

    def make_ir_type(self) -> Any:
        """The MLIR type where a dialect's kind of block has one of its own; None: a plain tensor type."""
        return None

    def get_block_shapes(self) -> tuple[int, ...]:
        """The shape."""
        return self.shape

    def with_element_ty(self, element_ty: dtype) -> dtype:
        """The same shape with another element type."""
        return block_type(element_ty, self.shape)

    def mangle(self) -> str:
        """The type inside the name of a specialised function."""
        return f"{self.element_ty.mangle()}S{'_'.join(map(str, self.shape))}S"

    def __repr__(self) -> str:
        return self.name


#: the class has an attribute of the same name
_Block = block_type


class tensor_descriptor_type(dtype):
    """A descriptor of a tensor in memory that is read and written in blocks of ``block_type``.

    ``layout``: how a block lies in shared memory, as the IR writes it; empty where the compiler decides.
    """

    block_type: _Block
    layout: str

    def __new__(cls, block: _Block, layout: str = "") -> Self:
        """The one type of descriptors of ``block`` with ``layout``."""
        key = (cls, block, layout)
        found = cls._interned.get(key)
        if found is None:
            found = cls._interned[key] = object.__new__(cls)
            found.block_type, found.layout = block, layout
            shape = ", ".join(map(str, block.shape))
            tail = f", {layout}" if layout else ""
            found.name = f"tensordesc<{block.element_ty.mangle()}[{shape}]{tail}>"
            found.primitive_bitwidth = found.itemsize = 0
        return found  # type: ignore[return-value]

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by name, so that types stay interned."""
        return tensor_descriptor_type, (self.block_type, self.layout)

    def mangle(self) -> str:
        """The type inside the name of a specialised function."""
        return f"TD{self.block_type.mangle()}{self.layout}"

    def __repr__(self) -> str:
        return self.name


void = dtype("void")
int1 = dtype("int1")
int8 = dtype("int8")
int16 = dtype("int16")
int32 = dtype("int32")
int64 = dtype("int64")
uint8 = dtype("uint8")
uint16 = dtype("uint16")
uint32 = dtype("uint32")
uint64 = dtype("uint64")
float8e5 = dtype("fp8e5")
float8e5b16 = dtype("fp8e5b16")
float8e4nv = dtype("fp8e4nv")
float8e4b8 = dtype("fp8e4b8")
float8e4b15 = dtype("fp8e4b15")
float16 = dtype("fp16")
bfloat16 = dtype("bf16")
float32 = dtype("fp32")
float64 = dtype("fp64")
pi32_t = pointer_type(int32)

#: every element type, in the order of the documentation
ALL_DTYPES: tuple[dtype, ...] = tuple(dtype(n) for n in (*_UNSIGNED[:1], *_SIGNED, *_UNSIGNED[1:], *_FLOATS))

#: the names that signatures use (``i32``, ``u8``, ``fp16``, ``B``)
_SIGNATURE: dict[str, dtype] = {t.mangle(): t for t in ALL_DTYPES} | {"i1": int1, "u1": int1, "B": int1}

#: ``tensordesc<fp16[64, 64]>``, or with a layout ``tensordesc<fp16[64, 64], #...>``
_DESCRIPTOR = re.compile(r"tensordesc<(\w+)\[(\d+(?:\s*,\s*\d+)*)\](?:\s*,\s*(#.+))?>")


def parse_type(text: str) -> dtype:
    """The type that a signature writes as ``*fp32``, ``*ki8`` (constant memory), ``i32``, ``tensordesc<fp16[64, 64]>``; ValueError otherwise."""
    if text.startswith("*k"):
        return pointer_type(parse_type(text[2:]), const=True)
    if text.startswith("*"):
        return pointer_type(parse_type(text[1:]))
    descriptor = _DESCRIPTOR.fullmatch(text)
    if descriptor:
        shape = [int(size) for size in descriptor[2].split(",")]
        return tensor_descriptor_type(block_type(parse_type(descriptor[1]), shape), descriptor[3] or "")
    if text not in _SIGNATURE:
        raise ValueError(f"{text!r} is not a type; known: {', '.join(_SIGNATURE)}, and * before them")
    return _SIGNATURE[text]
