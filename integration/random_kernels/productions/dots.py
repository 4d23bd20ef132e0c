"""Dots, alone and in pipelined loops; exact in all types: quarters up to 4, a depth of at most 3 x 32."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from integration.random_kernels.draft import Draft
from integration.random_kernels.production import Production
from integration.random_kernels.program import Loop, Parameters, Step
from integration.random_kernels.values import Array, Shape, Value, is_float, numpy_dtype

__all__ = ["PRODUCTIONS", "matmul_loop"]

_FLOAT8 = {"float8e5": ml_dtypes.float8_e5m2, "float8e4nv": ml_dtypes.float8_e4m3fn}
#: sign and mantissa of a byte, and the exponents put in: numbers of about 1
_FLOAT8_BITS = {"float8e5": (0x83, 0x38), "float8e4nv": (0x87, 0x30)}


def _tile(d: Draft, kind: str, shape: Shape, index: str, inner: int = 1) -> Value:
    """Small numbers of ``kind``; of 8-bit floats, which tensor cores read along k alone, often with that axis inner."""
    if kind in _FLOAT8:
        strides = () if d.one_in(3) else (shape[1], 1) if inner else (1, shape[0])
        x = d.cast(d.load(shape, dtypes=("uint8", "int8"), index=index, strides=strides), "uint8")
        mask, exponent = _FLOAT8_BITS[kind]
        return d.step("float8", (x,), "uint8", shape, exact=False, to=kind, mask=mask, exponent=exponent)
    x = d.load(shape, dtypes=(kind,), index=index)
    if x.dtype == kind and is_float(kind):
        return x
    if kind == "int8":
        return d.step("small_integer", (x,), kind, shape, high=d.integer(1, 120))
    return d.step("small_float", (x,), kind, shape, to=kind)


def _small_float_of(x: Array, to: str) -> Array:
    return np.clip(x.astype(np.float32), -4, 4).astype(numpy_dtype(to))


def _float8_of(x: Array, to: str, mask: int, exponent: int) -> Array:
    del to
    return (x & np.uint8(mask)) | np.uint8(exponent)


def _dot_text(step: Step, parameters: Parameters) -> str:
    del parameters
    a: dict[str, Any] = dict(step.attributes)
    operands = "{0}, {1}" + (", {2}" if len(step.operands) > 2 else "")
    if a["kind"] in ("float32", "float64"):
        operands += ", input_precision='ieee'"
    if a["imprecise"]:
        operands += ", max_num_imprecise_acc={imprecise}"
    return f"tl.dot({operands})"


def _dot_of(x: Array, y: Array, *acc: Array, kind: str, imprecise: int) -> Array:
    del imprecise
    if kind in _FLOAT8:
        x, y = x.view(_FLOAT8[kind]), y.view(_FLOAT8[kind])
    sums = np.int64 if kind == "int8" else np.float64
    made = x.astype(sums) @ y.astype(sums) + (acc[0].astype(sums) if acc else 0)
    return made.astype(_result(kind))


def _result(kind: str) -> str:
    return {"int8": "int32", "float64": "float64"}.get(kind, "float32")


def _imprecise(d: Draft, kind: str, depth: int) -> int:
    """Number of products that may be summed short: of fp8 always few enough for sums that are exact."""
    return d.choose((32, depth)) if kind in _FLOAT8 and depth >= 32 else 0


def _full(shape: Shape, value: int, to: str) -> Array:
    return np.full(shape, value, numpy_dtype(to))


def _dot(d: Draft) -> None:
    kind = d.text("float16", "float32", "int8", "int8", "float16", "bfloat16", "float64")
    a, b = _tile(d, kind, (16, 32), ""), _tile(d, kind, (32, 16), "")
    d.step("dot", (a, b), _result(kind), (16, 16), kind=kind, imprecise=0)


def matmul_loop(d: Draft) -> None:
    """``acc = dot(tile, tile, acc)`` in a loop, stored; exact in all types."""
    kind = d.text("float16", "float32", "int8", "float8e5", "float8e4nv", "bfloat16", "float16", "float8e5")
    m, n, k = (d.choose((16, 32)) for _ in range(3))
    if kind in _FLOAT8:
        m, n, k = d.choose(((64, 64, 32), (64, 64, 64), (16, 32, 32)))
    elif d.one_in(8):
        m = 64
    sums = _result(kind)
    acc = d.step("zeros", (), sums, (m, n), shape=(m, n), value=d.choose((0, 16384)), to=sums)
    index = d.fresh("i")
    outer, values = d.body, list(d.values)
    d.body = []
    left, right = _tile(d, kind, (m, k), index), _tile(d, kind, (k, n), index, inner=0)
    if d.one_in(4):
        d.step("scaled_integer" if sums == "int32" else "scaled_float", (acc,), sums, (m, n), name=acc.name)
    d.step(
        "dot", (left, right, acc), sums, (m, n), name=acc.name, kind=kind, imprecise=_imprecise(d, kind, k)
    )
    options = f", num_stages={d.integer(1, 4)}" if d.one_in(2) else ""
    outer.append(Loop("tl.range" if options else "range", index, options, tuple(d.body)))
    d.body = outer
    d.values[:] = [v for v in values if v.name != acc.name] + [acc]
    d.store(acc)


PRODUCTIONS = (
    Production("zeros", "tl.full({shape}, {value}, tl.{to})", _full, matmul_loop, weight=4),
    Production(
        "small_integer",
        "tl.where({0} > 0, {high}, -2).to(tl.int8)",
        lambda x, high: np.where(x > 0, high, -2).astype(np.int8),
    ),
    Production(
        "small_float", "tl.minimum(tl.maximum({0}.to(tl.float32), -4.0), 4.0).to(tl.{to})", _small_float_of
    ),
    Production("float8", "(({0} & {mask}) | {exponent}).to(tl.{to}, bitcast=True)", _float8_of),
    Production("scaled_integer", "{0} + {0} // 4", lambda x: x + (x - np.fmod(x, 4)) // 4),
    Production("scaled_float", "{0} * 0.5", lambda x: x * np.float32(0.5)),
    Production("dot", _dot_text, _dot_of, _dot),
)
