"""Conversions: Python scalars to values, dtypes to dtypes, pointers to integers and back."""

from __future__ import annotations

import reprlib
from typing import TYPE_CHECKING, Any

from tri.language import types as t
from tri.language.builtin import builtin, member
from tri.language.constexpr import constexpr
from tri.language.e4b15 import convert_e4b15
from tri.language.promotion import scalar_dtype
from tri.language.tensor import tensor
from tri_core.errors import CompilationError

if TYPE_CHECKING:
    from tri.compiler.builder import Builder

__all__ = ["bitcast", "cast", "convert", "is_plain", "to", "to_tensor", "value_of"]

_ROUNDINGS = {"rtz": 0, "rtne": 1}


def is_plain(value: object) -> bool:
    """True if ``value`` is a plain scalar: a Python number, not a run-time value."""
    return isinstance(value, (bool, int, float))


def value_of(b: Builder, value: Any) -> tensor:
    """``value`` as a tensor: a run-time value as it is, a plain scalar as a constant of its own dtype."""
    if isinstance(value, tensor):
        return value
    if isinstance(value, constexpr):
        value = value.value
    if is_plain(value):
        return b.constant(value, scalar_dtype(value))
    raise CompilationError(
        f"{_describe(value)} is not a value that a kernel can compute with",
        remedy="pass a number, a constexpr number or a tensor",
    )


def _describe(value: object) -> str:
    return f"{type(value).__name__} {reprlib.repr(value)}" if not callable(value) else repr(value)


def convert(b: Builder, x: tensor, dtype: t.dtype, rounding: str | None = None) -> tensor:
    """``x`` with elements converted to ``dtype`` (a scalar type); the value is kept as far as it can be."""
    source, target = x.type.scalar, dtype.scalar
    if rounding is not None and source is not target:
        _check_rounding(source, target, rounding)
    if source is target:
        return x
    result = x.type.with_element_ty(target)
    if source.is_ptr() or target.is_ptr():
        return _convert_pointer(b, x, source, target, result)
    if source.is_floating() and target.is_floating():
        return _convert_float(b, x, source, target, result, rounding)
    if target.is_bool():
        return _not_zero(b, x, result)
    if source.is_floating():
        return _from_float(b, x, source, target, result)
    if target.is_floating():
        return _to_float(b, x, source, target, result)
    return _convert_integer(b, x, source, target, result)


def _check_rounding(source: t.dtype, target: t.dtype, rounding: str) -> None:
    if rounding not in _ROUNDINGS:
        raise CompilationError(
            f"fp_downcast_rounding is {rounding!r}", remedy=f"one of {', '.join(map(repr, _ROUNDINGS))}"
        )
    narrows = source.is_floating() and target.is_floating()
    if not narrows or source.primitive_bitwidth <= target.primitive_bitwidth:
        raise CompilationError(
            f"fp_downcast_rounding is for casts to a narrower float, not from {source} to {target}",
            remedy="leave it out",
        )


def _convert_float(
    b: Builder, x: tensor, source: t.dtype, target: t.dtype, result: t.dtype, rounding: str | None
) -> tensor:
    narrow = target.primitive_bitwidth < source.primitive_bitwidth
    if t.float8e4b15 in (source, target):
        return convert_e4b15(b, x, target, rounding, convert)
    if source.is_fp8() or target.is_fp8() or (rounding is not None and rounding != "rtne"):
        attributes = {"rounding": b.i32(_ROUNDINGS[rounding or "rtne"])} if narrow else None
        return b.value("tt.fp_to_fp", result, x, attributes=attributes)
    if source.primitive_bitwidth == target.primitive_bitwidth:  # fp16 and bf16 meet in fp32
        return convert(b, convert(b, x, t.float32), target)
    return b.value("arith.truncf" if narrow else "arith.extf", result, x)


def _not_zero(b: Builder, x: tensor, result: t.dtype) -> tensor:
    if x.type.scalar.is_fp8e4b15():
        x = convert(b, x, t.float16)
    zero = b.constant(0, x.type)
    if x.type.scalar.is_floating():
        return b.value("arith.cmpf", result, x, zero, attributes={"predicate": b.i64(13)})
    return b.value("arith.cmpi", result, x, zero, attributes={"predicate": b.i64(1)})


def _from_float(b: Builder, x: tensor, source: t.dtype, target: t.dtype, result: t.dtype) -> tensor:
    if source.is_fp8():
        return convert(b, convert(b, x, t.float32), target)
    return b.value("arith.fptosi" if target.is_int_signed() else "arith.fptoui", result, x)


def _to_float(b: Builder, x: tensor, source: t.dtype, target: t.dtype, result: t.dtype) -> tensor:
    if target.is_fp8():
        return convert(b, convert(b, x, t.float32), target)
    return b.value("arith.sitofp" if source.is_int_signed() else "arith.uitofp", result, x)


def _convert_integer(b: Builder, x: tensor, source: t.dtype, target: t.dtype, result: t.dtype) -> tensor:
    if source.int_bitwidth == target.int_bitwidth:
        return tensor(x.handle, result)  # signedness is in the ops, not in the IR's types
    if source.int_bitwidth > target.int_bitwidth:
        return b.value("arith.trunci", result, x)
    return b.value("arith.extsi" if source.is_int_signed() else "arith.extui", result, x)


def _convert_pointer(b: Builder, x: tensor, source: t.dtype, target: t.dtype, result: t.dtype) -> tensor:
    if source.is_ptr() and target.is_ptr():
        return bitcast(b, x, target)
    if source.is_ptr() and target.is_int():
        address = b.value("tt.ptr_to_int", x.type.with_element_ty(t.int64), x)
        return convert(b, address, target)
    if target.is_ptr() and source.is_int():
        return b.value("tt.int_to_ptr", result, convert(b, x, t.int64))
    raise CompilationError(
        f"cannot convert {source} to {target}", remedy="convert a pointer to an integer first"
    )


def bitcast(b: Builder, x: tensor, dtype: t.dtype) -> tensor:
    """The bits of ``x`` as ``dtype`` of the same width."""
    source, target = x.type.scalar, dtype.scalar
    result = x.type.with_element_ty(target)
    if source is target:
        return x
    if source.is_ptr() != target.is_ptr():
        return convert(b, x, target)
    if source.primitive_bitwidth != target.primitive_bitwidth:
        raise CompilationError(
            f"cannot bitcast {source} ({source.primitive_bitwidth} bits) to {target} ({target.primitive_bitwidth} bits)",
            remedy="bitcast needs equal widths; leave bitcast=True out to convert the value",
        )
    if _bits_in_ir(source) and _bits_in_ir(target):
        return tensor(x.handle, result)
    return b.value("tt.bitcast", result, x)


def _bits_in_ir(type_: t.dtype) -> bool:
    """True if values of ``type_`` are integers in the IR."""
    return type_.is_int() or type_.is_fp8e4b15()


@member
@builtin
def cast(
    input: Any,
    dtype: t.dtype,
    fp_downcast_rounding: str | None = None,
    bitcast: bool = False,
    *,
    _semantic: Builder,
) -> tensor:
    """``input`` converted to ``dtype``, in its shape; with ``bitcast`` its bits reread, else its value converted.

    ``fp_downcast_rounding`` (``"rtne"`` or ``"rtz"``) rounds a cast to a narrower float.  CompilationError for a rounding of
    another cast, for a bitcast to another width, and between floats and pointers.
    """
    if not isinstance(dtype, t.dtype):
        raise CompilationError(f"{dtype!r} is not a dtype", remedy="pass one, e.g. tl.float32")
    x = value_of(_semantic, input)
    if bitcast:
        return _bitcast(_semantic, x, dtype)
    return convert(_semantic, x, dtype, fp_downcast_rounding)


_bitcast = bitcast


@member
@builtin
def to(
    input: tensor,
    dtype: t.dtype,
    fp_downcast_rounding: str | None = None,
    bitcast: bool = False,
    *,
    _semantic: Builder,
) -> tensor:
    """As :func:`cast`; the method ``x.to(dtype)``."""
    return cast(input, dtype, fp_downcast_rounding, bitcast, _semantic=_semantic)


@builtin
def to_tensor(x: Any, *, _semantic: Builder) -> tensor:
    """A Python number as a run-time scalar: int1, float32 (float64 out of its range), or the first of int32, uint32, int64, uint64 that holds it.

    CompilationError for anything else that is no run-time value.
    """
    return value_of(_semantic, x)
