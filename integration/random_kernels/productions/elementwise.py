"""Operators and casts, element by element; all of them exact."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from integration.random_kernels import semantics
from integration.random_kernels.draft import Draft
from integration.random_kernels.production import Production
from integration.random_kernels.program import Parameters, Step
from integration.random_kernels.values import (
    BOOL,
    INTEGERS,
    VECTORS,
    Array,
    Value,
    bits,
    broadcast,
    is_float,
    is_signed,
    numpy_dtype,
    promoted,
)

__all__ = ["PRODUCTIONS"]


def _both(d: Draft, name: str, x: Value, y: Value, **attributes: Any) -> None:
    d.step(name, (x, y), promoted(x.dtype, y.dtype), broadcast(x.shape, y.shape), **attributes)


def _arithmetic(d: Draft) -> None:
    x = d.pick()
    y = d.partner(x)
    sign = d.text("+", "-", "*")
    if sign != "*":
        # what is added to a dot may become its accumulator, and tensor cores cut sums off
        x, y = _few_bits(d, x, beside=y), _few_bits(d, y, beside=x)
    _both(d, "arithmetic", x, y, sign=sign)


def _few_bits(d: Draft, value: Value, *, beside: Value) -> Value:
    """``value``, of 16 bits beside a dot's sum of floats: both together are exact then."""
    return d.cast(value, "int16") if d.is_dot(beside) and is_float(beside.dtype) else value


def _extreme(d: Draft) -> None:
    x = d.pick()
    _both(d, "extreme", x, d.partner(x), kind=d.text("min", "max"), propagate=d.one_in(3))


def _extreme_text(step: Step, parameters: Parameters) -> str:
    del parameters
    propagate = dict(step.attributes)["propagate"]
    return "tl.{kind}imum({0}, {1}" + (", propagate_nan=tl.PropagateNan.ALL)" if propagate else ")")


def _extreme_of(x: Array, y: Array, kind: str, propagate: bool) -> Array:
    return semantics.extreme(x, y, kind, propagate)


def _bitwise(d: Draft) -> None:
    x = d.pick(floats=False)
    _both(d, "bitwise", x, d.partner(x, floats=False), sign=d.text("&", "|", "^"))


def _of_masks(d: Draft) -> None:
    x = d.condition(d.pick().shape)
    if d.one_in(3):
        d.step("not", (x,), BOOL, x.shape)
    else:
        d.step("bitwise", (x, d.condition(x.shape)), BOOL, x.shape, sign=d.text("&", "|", "^"))


def _shift(d: Draft) -> None:
    x = d.pick(floats=False)
    y = d.partner(x, floats=False)
    if is_signed(x.dtype) and d.one_in(3):
        y = d.cast(y, d.choose([k for k in INTEGERS if not is_signed(k) and bits(k) >= bits(x.dtype)]))
    _both(d, "shift", x, y, sign=d.text("<<", ">>"), most=bits(x.dtype) - 1)


def _shift_of(x: Array, y: Array, sign: str, most: int) -> Array:
    return semantics.shift(x, y & y.dtype.type(most), sign)


def _divide(d: Draft) -> None:
    x = d.pick(floats=False)
    y = d.partner(x, floats=False)
    if is_signed(x.dtype) != is_signed(y.dtype):
        y = d.cast(y, d.choose([k for k in INTEGERS if is_signed(k) == is_signed(x.dtype)]))
    _both(
        d,
        "divide",
        x,
        y,
        sign=d.text("//", "%"),
        divisor="small" if is_signed(x.dtype) else d.text("small", "any"),
    )


def _divide_text(step: Step, parameters: Parameters) -> str:
    del parameters
    small = dict(step.attributes)["divisor"] == "small"
    return "{0} {sign} (({1} & 15) + 1)" if small else "{0} {sign} ({1} | 1)"


def _divide_of(x: Array, y: Array, sign: str, divisor: str) -> Array:
    one = y.dtype.type(1)
    return semantics.divide(x, (y & y.dtype.type(15)) + one if divisor == "small" else y | one, sign)


def _constant(d: Draft) -> None:
    x = d.pick()
    if is_float(x.dtype):
        number: float = d.choose((0.5, 2, 1.5, 0.25, 7, 3, 1))
        dtype = x.dtype
    elif d.one_in(8):
        number, dtype = d.choose((0.5, 1.5)), "float32"
    else:
        top = 2 ** (bits(x.dtype) - is_signed(x.dtype)) - 1
        number, dtype = d.choose((1, 2, 3, 7, 100, top, top - 1, min(top, 2**33), min(top, 2**31))), x.dtype
    d.step("constant", (x,), dtype, x.shape, sign=d.text("+", "-", "*"), number=number, left=d.one_in(3))


def _constant_text(step: Step, parameters: Parameters) -> str:
    del parameters
    return "{number} {sign} {0}" if dict(step.attributes)["left"] else "{0} {sign} {number}"


def _constant_of(x: Array, sign: str, number: float, left: bool) -> Array:
    if isinstance(number, float) and not is_float(semantics.name_of(x)):
        x = semantics.cast(x, "float32")
    other = (
        np.asarray(number).astype(x.dtype) if is_float(semantics.name_of(x)) else np.asarray(number, x.dtype)
    )
    return semantics.binary(other, x, sign) if left else semantics.binary(x, other, sign)


def _compare(d: Draft) -> None:
    x = d.pick()
    y = d.partner(x)
    shape = broadcast(x.shape, y.shape)
    d.step("compare", (x, y), BOOL, shape, sign=d.text("<", "<=", ">", ">=", "==", "!="))


def _choice(d: Draft) -> None:
    x = d.pick()
    y = d.partner(x)
    shape = broadcast(x.shape, y.shape)
    d.step("choice", (d.condition(shape), x, y), promoted(x.dtype, y.dtype), shape)


def _choice_of(taken: Array, x: Array, y: Array) -> Array:
    common = promoted(semantics.name_of(x), semantics.name_of(y))
    return np.where(taken, semantics.cast(x, common), semantics.cast(y, common))


def _cast(d: Draft) -> None:
    x = d.pick()
    d.cast(x, d.dtype() if d.one_in(2) else d.choose((*INTEGERS, BOOL)))


def _narrowed(d: Draft) -> None:
    # inputs have numbers near the middle between two floats, where two roundings are not one
    x = d.load(d.choose(VECTORS[:2]), dtypes=("int32", "uint32", "int64", "uint64"))
    through = d.text("float32", "float64")
    to = d.choose(("float16", "bfloat16") if through == "float32" else ("float16", "float32"))
    d.step("narrowed", (x,), to, x.shape, through=through, to=to)


def _narrowed_of(x: Array, through: str, to: str) -> Array:
    return semantics.cast(semantics.cast(x, through), to)


def _truncate_of(x: Array, to: str) -> Array:
    least = -100.0 if is_signed(to) else 0.0
    x = semantics.cast(x, "float64")
    return np.minimum(np.maximum(np.where(np.isnan(x), 0.0, x), least), 100.0).astype(numpy_dtype(to))


def _truncate_text(step: Step, parameters: Parameters) -> str:
    del parameters
    least = "-100.0" if is_signed(dict(step.attributes)["to"]) else "0.0"
    return f"tl.minimum(tl.maximum(tl.where({{0}} == {{0}}, {{0}}, 0.0), {least}), 100.0).to(tl.{{to}})"


def _bitcast(d: Draft) -> None:
    # of inputs alone, whose zeros and NaNs have one form
    x = d.load(d.choose(VECTORS[:2]))
    to = f"{d.text('int', 'uint')}{bits(x.dtype)}"
    if to != x.dtype:
        d.step("bitcast", (x,), to, x.shape, to=to)


def _bitcast_of(x: Array, to: str) -> Array:
    return np.ascontiguousarray(x).view(numpy_dtype(to)).reshape(x.shape)


def _unary(d: Draft) -> None:
    x = d.pick()
    if is_float(x.dtype):
        kinds = ["-{0}", "tl.abs({0})"]
        kinds += ["tl.floor({0})", "tl.ceil({0})"] if x.dtype in ("float32", "float64") else []
    else:
        kinds = ["~{0}", "tl.abs({0})", "-{0}"]
    d.step("unary", (x,), x.dtype, x.shape, form=d.choose(kinds))


def _unary_text(step: Step, parameters: Parameters) -> str:
    del parameters
    return str(dict(step.attributes)["form"])


_UNARY = {
    "-{0}": np.negative, "tl.abs({0})": np.abs, "~{0}": np.invert, "tl.floor({0})": np.floor, "tl.ceil({0})": np.ceil,
}  # fmt: skip


def _unary_of(x: Array, form: str) -> Array:
    return np.asarray(_UNARY[form](x))


def _high_product(d: Draft) -> None:
    x = d.pick(dtypes=("int32", "uint32", "int64", "uint64"))
    d.step("high_product", (x, d.like(x)), x.dtype, x.shape)


def _high_product_of(x: Array, y: Array) -> Array:
    width = x.dtype.itemsize * 8
    unsigned = np.dtype(f"uint{width}")
    left, right = (np.asarray(a.view(unsigned)).astype(object) for a in (x, y))
    return np.asarray((left * right) >> width).astype(unsigned).view(x.dtype).reshape(x.shape)


def _fma(d: Draft) -> None:
    x = d.pick(dtypes=("float32",))
    y = d.like(x)
    d.step("fma", (x, y, d.like(x)), "float32", x.shape)


def _rounded(d: Draft) -> None:
    x = d.pick(dtypes=("float32",))
    if d.one_in(2):
        d.step("exact_root", (x,), "float32", x.shape)
    else:
        d.step("exact_quotient", (x, d.like(x)), "float32", x.shape)


def _clamp(d: Draft) -> None:
    x = d.pick(dtypes=("float32", "float64", "int32", "int16", "uint8"))
    low = d.integer(0, 3)
    d.step("clamp", (x,), x.dtype, x.shape, low=low, high=low + d.integer(0, 60))


def _clamp_of(x: Array, low: int, high: int) -> Array:
    return semantics.extreme(
        semantics.extreme(x, np.asarray(low, x.dtype), "max"), np.asarray(high, x.dtype), "min"
    )


PRODUCTIONS = (
    Production("arithmetic", "{0} {sign} {1}", semantics.binary, _arithmetic, weight=5),
    Production("extreme", _extreme_text, _extreme_of, _extreme),
    Production("bitwise", "{0} {sign} {1}", semantics.binary, _bitwise, weight=2),
    Production("not", "~{0}", operator.invert, _of_masks),
    Production("shift", "{0} {sign} ({1} & {most})", _shift_of, _shift, weight=3),
    Production("divide", _divide_text, _divide_of, _divide, weight=2),
    Production("constant", _constant_text, _constant_of, _constant, weight=2),
    Production("compare", "{0} {sign} {1}", semantics.compare, _compare, weight=2),
    Production("choice", "tl.where({0}, {1}, {2})", _choice_of, _choice, weight=2),
    Production("cast", "{0}.to(tl.{to})", lambda x, to: semantics.cast(x, to), _cast, weight=3),
    Production("narrowed", "{0}.to(tl.{through}).to(tl.{to})", _narrowed_of, _narrowed, weight=2),
    Production("truncate", _truncate_text, _truncate_of),
    Production("bitcast", "{0}.to(tl.{to}, bitcast=True)", _bitcast_of, _bitcast),
    Production("unary", _unary_text, _unary_of, _unary, weight=2),
    Production("high_product", "tl.umulhi({0}, {1})", _high_product_of, _high_product),
    Production("fma", "tl.fma({0}, {1}, {2})", semantics.fma, _fma),
    Production("exact_root", "tl.sqrt_rn(tl.abs({0}))", lambda x: np.sqrt(np.abs(x)), _rounded),
    Production(
        "exact_quotient", "tl.div_rn({0}, tl.abs({1}) + 1.0)", lambda x, y: x / (np.abs(y) + np.float32(1))
    ),
    Production("clamp", "tl.clamp({0}, {low}, {high})", _clamp_of, _clamp),
)
