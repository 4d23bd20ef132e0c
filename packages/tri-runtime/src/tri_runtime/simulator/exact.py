"""Ops of the ``llvm`` dialect where floats are integers modulo a power of two: what the level ``exact`` runs in place of float ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tri_core import ring
from tri_core.errors import Unsupported
from tri_core.mlir import ir
from tri_core.ring import Function
from tri_core.target import EXACT_PREFIX
from tri_runtime.simulator.cta import CTA, Step
from tri_runtime.simulator.numbering import External, Numbering
from tri_runtime.simulator.ops import PURE
from tri_runtime.simulator.steps import SPECIAL, Maker, atomic_update, fill
from tri_runtime.simulator.values import Shape, shape_of, to_f32

__all__ = ["EXACT_PURE", "EXACT_SPECIAL", "as_literal"]

Array = npt.NDArray[Any]

#: by the name in :mod:`tri_core.ring`
_NAMES = {
    "llvm.fadd": "add", "llvm.fsub": "sub", "llvm.fmul": "mul", "llvm.fdiv": "div", "llvm.frem": "rem", "llvm.fneg": "neg",
    "llvm.intr.fma": "fma", "llvm.intr.fmuladd": "fma", "llvm.intr.maximum": "max", "llvm.intr.minimum": "min",
    "llvm.intr.maxnum": "max", "llvm.intr.minnum": "min", "llvm.intr.fabs": "absf", "llvm.intr.rint": "roundeven",
    **{f"llvm.intr.{name}": name for name in (
        "floor", "ceil", "trunc", "roundeven", "sqrt", "copysign", "exp", "exp2", "log", "log2", "log10", "sin", "cos",
    )},
}  # fmt: skip
#: LLVM's numbers of atomics that compute on floats
_UPDATES = {11: "add", 12: "sub", 13: "max", 14: "min"}


def _is_float(type_: ir.Type) -> bool:
    element = type_.element_type if isinstance(type_, ir.VectorType) else type_
    return isinstance(element, ir.FloatType)


def _held(function: Function) -> Callable[..., Array]:
    """``function`` of integers on arrays that hold them as floats, or as bits of bf16."""

    def call(*xs: Array) -> Array:
        return np.asarray(function(*map(ring.numbers, xs))).view(xs[0].dtype)

    return call


def _named(name: str) -> Callable[[ir.OpView], Function]:
    return lambda op: _held(ring.function(name))


def _compare(op: ir.OpView) -> Function:
    number = ir.IntegerAttr(op.attributes["predicate"]).value
    return lambda x, y: ring.compare(number, ring.numbers(x), ring.numbers(y))


def _cast(op: ir.OpView) -> Function:
    """Casts of floats and integers: the low bits, or an extension by the sign."""
    to = shape_of(op.results[0].type)
    return lambda x: _as_held(x, to, signed=True)


def _cast_unsigned(op: ir.OpView) -> Function:
    to = shape_of(op.results[0].type)
    return lambda x: _as_held(x, to, signed=False)


def _as_held(x: Array, to: Shape, *, signed: bool) -> Array:
    """``x`` reduced, or extended, to the bits of ``to``, as it holds them."""
    bits = x.astype(np.int8) if x.dtype == np.bool_ else x.view(f"i{x.dtype.itemsize}")
    if x.dtype == np.bool_ and signed:
        bits = -bits
    if not signed:
        bits = bits.view(f"u{bits.dtype.itemsize}")
    if to.bits == 1:
        return (bits & 1).astype(np.bool_)
    return bits.astype(f"i{to.dtype.itemsize}").view(to.dtype)


def as_literal(scalar: Array, type_: ir.Type) -> Array:
    """The element for one number of ``type_``, as it is held; what is no float as it is."""
    if not _is_float(type_):
        return scalar
    shape = shape_of(type_)
    value = float(to_f32(scalar.reshape(1))[0]) if shape.bf16 else float(scalar)
    return np.asarray(ring.literal(value, shape.bits)).astype(f"i{shape.dtype.itemsize}").view(shape.dtype)


# --- ops that know the program --------------------------------------------------------------------------


def _constant(program: Numbering, op: ir.OpView, inputs: list[int], outputs: list[int]) -> Step:
    type_ = op.results[0].type
    if not _is_float(type_):
        return SPECIAL["llvm.mlir.constant"](program, op, inputs, outputs)
    shape, attribute = shape_of(type_), op.attributes["value"]
    values: Any
    if not isinstance(attribute, ir.DenseElementsAttr):
        values = ir.FloatAttr(attribute).value
    elif attribute.is_splat:
        values = np.full(len(attribute), ir.FloatAttr(attribute.get_splat_value()).value)
    else:
        values = np.array(list(attribute))
    made = ring.literals(np.asarray(values, np.float64), shape.bits)
    return fill(outputs[0], made.astype(f"i{shape.dtype.itemsize}").view(shape.dtype))


def _atomic(program: Numbering, op: ir.OpView, inputs: list[int], outputs: list[int]) -> Step:
    name = _UPDATES.get(ir.IntegerAttr(op.attributes["bin_op"]).value)
    if name is None:
        return SPECIAL["llvm.atomicrmw"](program, op, inputs, outputs)
    return atomic_update(program, op, inputs, outputs, _held(ring.function(name)))


def _call(program: Numbering, op: ir.OpView, inputs: list[int], outputs: list[int]) -> Step:
    """Step of a call of a function by its name in the ring; Unsupported for other functions of floats."""
    key = "intrin" if "intrin" in op.attributes else "callee"
    prefix, _, name = str(op.attributes[key].value).partition(EXACT_PREFIX)
    if not prefix and name:
        external = _external(name.partition(".")[0], shape_of(op.results[0].type))

        def step(cta: CTA) -> None:
            cta.write(outputs[0], external(cta, [cta.values[i] for i in inputs])[0])

        return step
    if any(_is_float(value.type) for value in (*op.operands, *op.results)):
        raise Unsupported(
            f"exact passes have no meaning for the function {op.attributes[key].value}",
            remedy="verify the kernel without exact passes",
        )
    return SPECIAL[op.name](program, op, inputs, outputs)


def _external(name: str, to: Shape) -> External:
    if name == "cast":
        return lambda cta, operands: [_as_held(operands[0], to, signed=True)]
    function = ring.function(name)

    def call(cta: CTA, operands: Sequence[Array]) -> Sequence[Array]:
        xs = [x.view(f"i{x.dtype.itemsize}") for x in operands]
        return [_as_held(np.asarray(function(*xs)), to, signed=True)]

    return call


#: instead of :data:`tri_runtime.simulator.ops.PURE`
EXACT_PURE: dict[str, Callable[[ir.OpView], Function]] = {
    **PURE,
    **{name: _named(to) for name, to in _NAMES.items()},
    "llvm.fcmp": _compare,
    **dict.fromkeys(("llvm.fpext", "llvm.fptrunc", "llvm.sitofp", "llvm.fptosi"), _cast),
    "llvm.uitofp": _cast_unsigned,
    "llvm.fptoui": _cast_unsigned,
}
#: instead of :data:`tri_runtime.simulator.steps.SPECIAL`
EXACT_SPECIAL: dict[str, Maker] = {
    **SPECIAL,
    "llvm.mlir.constant": _constant,
    "llvm.atomicrmw": _atomic,
    "llvm.call": _call,
    "llvm.call_intrinsic": _call,
}
