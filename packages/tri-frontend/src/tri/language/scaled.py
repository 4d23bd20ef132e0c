"""Dots of operands in microscaling formats: groups of 32 elements along K share a scale."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tri.language import types as t
from tri.language.builtin import builtin
from tri.language.casts import bitcast
from tri.language.shapes import check_size
from tri.language.tensor import dimensions, tensor
from tri_core.errors import CompilationError
from tri_core.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from tri.compiler.builder import Builder

__all__ = ["dot_scaled"]

#: format -> its tt.ScaleDotElemType, the dtype of its elements, the one that holds their bits
_FORMATS: dict[str, tuple[int, t.dtype, t.dtype]] = {
    "e4m3": (0, t.float8e4nv, t.uint8),
    "e5m2": (1, t.float8e5, t.uint8),
    "e2m1": (4, t.uint8, t.uint8),
    "bf16": (5, t.bfloat16, t.uint16),
    "fp16": (6, t.float16, t.uint16),
}
#: elements that share a scale: of e8m0 scales, and of fp8 ones
_GROUPS = (32, 16)


@dataclass(frozen=True)
class _Operand:
    """An operand of M x K (lhs) or K x N (rhs): ``rows`` is M or N, ``depth`` K, both unpacked."""

    name: str
    value: tensor
    scale: tensor | None
    format: int
    rows: int
    depth: int


def _operand(b: Builder, name: str, value: Any, scale: Any, format_: Any, k_pack: bool) -> _Operand:
    if format_ not in _FORMATS:
        raise CompilationError(
            f"dot_scaled's {name}_format is {format_!r}",
            remedy=f"use one of {', '.join(map(repr, _FORMATS))}",
        )
    if not isinstance(value, tensor) or len(dimensions(value)) not in (2, 3):
        got = value.type if isinstance(value, tensor) else repr(value)
        raise CompilationError(f"dot_scaled's {name} has 2 dimensions (3 with a batch), got {got}")
    if not k_pack and format_ != "e2m1":
        raise CompilationError(
            f"{name}_k_pack=False is for e2m1, which packs two elements, not for {format_}",
            remedy="leave it out",
        )
    number, element, bits = _FORMATS[format_]
    if value.dtype is not element and value.dtype is not bits:
        raise CompilationError(
            f"dot_scaled's {name} of format {format_} is {value.dtype}",
            remedy=f"{element} is needed" + ("" if element is bits else f", or its bits as {bits}"),
        )
    k = -1 if name == "lhs" else -2
    sizes = list(dimensions(value))
    if format_ == "e2m1":
        sizes[k if k_pack else -3 - k] *= 2
    operand = _Operand(name, bitcast(b, value, element), scale, number, sizes[-3 - k], sizes[k])
    _check_scale(operand)
    return operand


def _check_scale(operand: _Operand) -> None:
    scale = operand.scale
    if scale is None:
        return
    if not isinstance(scale, tensor) or scale.dtype not in (t.uint8, t.int8, t.float8e4nv):
        got = scale.type if isinstance(scale, tensor) else repr(scale)
        raise CompilationError(
            f"dot_scaled's {operand.name}_scale is {got}", remedy="give e8m0 scales as a block of uint8"
        )
    fits = [[operand.rows, operand.depth // group] for group in _GROUPS]
    if list(dimensions(scale)[-2:]) not in fits:
        raise CompilationError(
            f"dot_scaled's {operand.name}_scale is {list(dimensions(scale))}; {fits[0]} is needed, "
            "one for each 32 elements along K" + (" (it is not transposed)" if operand.name == "rhs" else "")
        )


def _accumulator(b: Builder, acc: Any, type_: t.dtype) -> tensor:
    if acc is None:
        return b.constant(0, type_)
    if not isinstance(acc, tensor) or acc.type is not type_:
        got = acc.type if isinstance(acc, tensor) else repr(acc)
        raise CompilationError(
            f"dot_scaled's accumulator is {got}; {type_} is expected",
            remedy="make it with tl.zeros of that shape and tl.float32",
        )
    return acc


@builtin
def dot_scaled(
    lhs: Any,
    lhs_scale: Any,
    lhs_format: str,
    rhs: Any,
    rhs_scale: Any,
    rhs_format: str,
    acc: Any = None,
    fast_math: bool = False,
    lhs_k_pack: bool = True,
    rhs_k_pack: bool = True,
    out_dtype: t.dtype = t.float32,
    *,
    _semantic: Builder,
) -> tensor:
    """``(lhs * lhs_scale) @ (rhs * rhs_scale) + acc`` in fp32, blocks of M x K and K x N (with a batch before them).

    Formats: ``e2m1`` (two in a uint8, the first in the low bits, along K unless ``k_pack`` is false), ``e4m3``,
    ``e5m2`` (fp8 or uint8), ``bf16``, ``fp16``.  Scales are e8m0 in uint8 of M x K/32 and N x K/32, or None.
    Where the target has no such instruction, operands are converted to bf16 (to fp16 when one of them is).
    With ``fast_math`` the scale 0xFF need not give NaN.  CompilationError for other formats, dtypes and shapes.
    """
    b = _semantic
    left = _operand(b, "lhs", lhs, lhs_scale, lhs_format, lhs_k_pack)
    right = _operand(b, "rhs", rhs, rhs_scale, rhs_format, rhs_k_pack)
    if left.depth != right.depth or dimensions(lhs)[:-2] != dimensions(rhs)[:-2]:
        raise CompilationError(
            f"dot_scaled's operands do not fit: {list(dimensions(lhs))} has K={left.depth}, "
            f"{list(dimensions(rhs))} has K={right.depth}",
            remedy="K and batch are the same; e2m1 counts two elements in a byte",
        )
    if out_dtype is not t.float32:
        raise CompilationError(f"dot_scaled gives float32, not {out_dtype}", remedy="cast the result")
    type_ = t.block_type(t.float32, check_size(b, (*dimensions(lhs)[:-2], left.rows, right.rows)))
    attributes = {
        "a_elem_type": b.i32(left.format),
        "b_elem_type": b.i32(right.format),
        "fastMath": b.boolean(bool(fast_math)),
        "operandSegmentSizes": b.segments(1, 1, 1, left.scale is not None, right.scale is not None),
    }
    attributes |= {} if lhs_k_pack else {"lhs_k_pack": b.boolean(False)}
    attributes |= {} if rhs_k_pack else {"rhs_k_pack": b.boolean(False)}
    scales = [s for s in (left.scale, right.scale) if s is not None]
    operands = [left.value, right.value, _accumulator(b, acc, type_), *scales]
    return b.value("tt.dot_scaled", type_, *operands, attributes=attributes)
