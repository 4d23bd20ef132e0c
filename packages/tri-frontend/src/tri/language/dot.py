"""Dots."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tri.language import types as t
from tri.language.builtin import builtin
from tri.language.casts import convert
from tri.language.shapes import check_size, reshape_to
from tri.language.tensor import dimensions, tensor
from tri_core.errors import CompilationError, Unsupported

if TYPE_CHECKING:
    from tri.compiler.builder import Builder
    from tri_core.mlir import ir

__all__ = ["check_operands", "dot", "precision_attribute"]

#: names of tt.InputPrecision
_PRECISIONS = {"tf32": 0, "tf32x3": 1, "ieee": 2, "bf16x3": 3, "bf16x6": 4}

_OPERANDS = ("int8", "fp16", "bf16", "fp32", "fp64", "fp8e5", "fp8e4nv", "fp8e5b16", "fp8e4b8", "fp8e4b15")
_ACCUMULATORS = ("int32", "fp16", "fp32", "fp64")
#: the largest limit of imprecise sums that the attribute holds
_MOST = 2**31 - 1


def check_operands(b: Builder, x: Any, y: Any) -> None:
    """CompilationError for operands that no dot takes: of other dtypes, batches or inner dimensions, or too small."""
    for name, value in (("first", x), ("second", y)):
        if not isinstance(value, tensor) or len(dimensions(value)) < 2:
            got = value.type if isinstance(value, tensor) else repr(value)
            raise CompilationError(
                f"dot's {name} operand has 2 dimensions or more (those before are a batch), got {got}",
                remedy="add one with x[:, None]",
            )
        if value.dtype is t.uint8:
            raise CompilationError(
                f"dot's {name} operand is uint8: matrix units of targets multiply signed bytes",
                remedy="cast both operands to tl.float16, which holds 0 to 255 exactly (sums are exact below 2**24)",
            )
        if value.dtype.name not in _OPERANDS:
            raise CompilationError(
                f"dot's {name} operand is {value.dtype}", remedy=f"cast it to one of {', '.join(_OPERANDS)}"
            )
    if x.dtype is not y.dtype and not (x.dtype.is_fp8() and y.dtype.is_fp8()):
        raise CompilationError(
            f"dot's operands have one dtype, got {x.dtype} and {y.dtype}",
            remedy=f"cast one of them, e.g. with .to(tl.{x.dtype.codegen_name()})",
        )
    _check_shapes(b, dimensions(x), dimensions(y))


def _check_shapes(b: Builder, x: tuple[int, ...], y: tuple[int, ...]) -> None:
    if len(x) != len(y) or x[:-2] != y[:-2]:
        raise CompilationError(f"dot's operands have different batches: {list(x)} and {list(y)}")
    if x[-1] != y[-2]:
        raise CompilationError(
            f"dot's inner dimensions differ: {list(x)} and {list(y)} ({x[-1]} and {y[-2]})",
            remedy="the last dimension of the first equals the second-last of the second; transpose with tl.trans",
        )
    least = b.target.spec.min_dot_size
    if any(have < need for have, need in zip((x[-2], y[-1], x[-1]), least, strict=True)):
        raise CompilationError(
            f"dot of M={x[-2]}, N={y[-1]}, K={x[-1]} is too small for {b.target}",
            remedy="use M >= {}, N >= {}, K >= {}, padding with zeros".format(*least),
        )


def precision_attribute(b: Builder, input_precision: str | None) -> ir.Attribute:
    """The attribute of ``input_precision``, None being the launch's default; errors as of :func:`dot`."""
    return b.i32(_PRECISIONS[_precision(b, input_precision, None)])


def _precision(b: Builder, input_precision: str | None, allow_tf32: bool | None) -> str:
    if input_precision is not None and allow_tf32 is not None:
        raise CompilationError("dot takes input_precision or allow_tf32, not both")
    if input_precision is None:
        if allow_tf32 is None:
            return b.options.default_dot_input_precision
        return "tf32" if allow_tf32 else "ieee"
    name = input_precision.lower()
    if name not in _PRECISIONS:
        raise CompilationError(
            f"input_precision {input_precision!r} is unknown",
            remedy=f"use one of {', '.join(b.target.spec.dot_precisions)}",
        )
    if name not in b.target.spec.dot_precisions:
        raise Unsupported(
            f"{b.target} has no input_precision {name!r}",
            remedy=f"use one of {', '.join(b.target.spec.dot_precisions)}",
        )
    return name


def _accumulator_type(operand: t.dtype, out_dtype: t.dtype | None, acc: Any) -> t.dtype:
    """The type of sums: as in Triton, ``out_dtype`` says it for operands of 16 bits and fewer that are no bf16."""
    if operand.is_int():
        return t.int32
    if out_dtype is None and isinstance(acc, tensor):
        out_dtype = acc.dtype
    if out_dtype is not None and out_dtype.is_bf16():
        raise CompilationError(
            "dot does not accumulate in bf16", remedy="use out_dtype=tl.float32 and cast the result"
        )
    if operand.is_fp64():
        return t.float64
    if out_dtype is None or operand.is_fp32() or operand.is_bf16():
        return t.float32
    if out_dtype.name not in _ACCUMULATORS or out_dtype.is_int():
        raise CompilationError(
            f"dot of {operand} does not give {out_dtype}", remedy="use out_dtype=tl.float32"
        )
    return out_dtype


def _accumulator(b: Builder, acc: Any, type_: t.dtype) -> tensor:
    if acc is None:
        return b.constant(0, type_)
    if not isinstance(acc, tensor) or acc.type is not type_:
        got = acc.type if isinstance(acc, tensor) else repr(acc)
        raise CompilationError(
            f"dot's accumulator is {got}; {type_} is expected",
            remedy="make it with tl.zeros of that shape and dtype, or give out_dtype",
        )
    return acc


@builtin
def dot(
    input: Any,
    other: Any,
    acc: Any = None,
    input_precision: str | None = None,
    allow_tf32: bool | None = None,
    max_num_imprecise_acc: int | None = None,
    out_dtype: t.dtype | None = None,
    *,
    _semantic: Builder,
) -> tensor:
    """``input @ other + acc`` over the last two dimensions (M x K by K x N), batched over those before.

    ``input_precision`` says how fp32 operands are read; the result is fp32, int32 of int8, fp64 of
    fp64; of fp16 and 8-bit floats what ``acc`` or ``out_dtype`` says.  ``max_num_imprecise_acc``: how many products of 8-bit floats
    (0 to K) a target may add in sums shorter than fp32 before they are added to ``acc`` in fp32; K keeps ``acc`` out
    of the short sums, 0 asks for the shortest that the target has, None for no limit.

    CompilationError for operands of different dtypes (8-bit floats may differ), batches or K, for dimensions below the target's
    least and for an ``acc`` of another type; Unsupported for an ``input_precision`` that the target lacks.
    """
    b = _semantic
    check_operands(b, input, other)
    if len(dimensions(input)) > 3:
        return _folded(b, input, other, acc, input_precision, allow_tf32, max_num_imprecise_acc, out_dtype)
    imprecise = None if max_num_imprecise_acc is None else _imprecise(max_num_imprecise_acc, input)
    if any(x.dtype.is_fp8() for x in (input, other)) and not _multiplies(b, input.dtype, other.dtype):
        input, other = convert(b, input, t.float16), convert(b, other, t.float16)
    precision = _precision(b, input_precision, allow_tf32)
    scalar = _accumulator_type(input.dtype, out_dtype, acc)
    shape = check_size(b, (*dimensions(input)[:-1], dimensions(other)[-1]))
    accumulator = _accumulator(b, acc, t.block_type(scalar, shape))
    attributes = {"inputPrecision": b.i32(_PRECISIONS[precision])}
    if imprecise is not None:
        attributes["maxNumImpreciseAcc"] = b.i32(imprecise)
    return b.value("tt.dot", accumulator.type, input, other, accumulator, attributes=attributes)


def _folded(b: Builder, input: tensor, other: tensor, acc: Any, *options: Any) -> tensor:
    """The dot of operands with several dimensions of batches, as one with a single one."""
    batch = dimensions(input)[:-2]
    count = math.prod(batch)

    def folded(x: tensor) -> tensor:
        return reshape_to(b, x, (count, *dimensions(x)[-2:]))

    if isinstance(acc, tensor):
        wanted = (*dimensions(input)[:-1], dimensions(other)[-1])
        if dimensions(acc) != wanted:
            raise CompilationError(
                f"dot's accumulator has shape {list(dimensions(acc))}; {list(wanted)} is expected"
            )
        acc = folded(acc)
    result = dot(folded(input), folded(other), acc, *options, _semantic=b)
    return reshape_to(b, result, (*batch, *dimensions(result)[-2:]))


def _multiplies(b: Builder, left: t.dtype, right: t.dtype) -> bool:
    """True if the target multiplies these 8-bit floats: by a matrix instruction or element by element;
    fp8e4b15 is bytes everywhere.
    """
    spec, names = b.target.spec, {left.name, right.name}
    if "fp8e4b15" in names:
        return False
    return names <= spec.dtypes or any((d.a, d.b) == (left.name, right.name) for d in spec.dot)


def _imprecise(count: object, input: tensor) -> int:
    """Maximum number of products of 8-bit floats that are added imprecisely; other dtypes have no limit."""
    depth = dimensions(input)[-1] if input.dtype.is_fp8() else _MOST
    if not isinstance(count, int) or not 0 <= count <= depth:
        known = f"use 0 to K, which is {depth}" if depth != _MOST else "use an integer of 0 or more"
        if isinstance(count, int) and count > depth:
            raise CompilationError(f"max_num_imprecise_acc ({count}) must be <= K ({depth})", remedy=known)
        raise CompilationError(f"max_num_imprecise_acc is {count!r}", remedy=known)
    return count
