"""Functions of elements: operators, mathematics, conversions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import tri.language as tl
from tri_conformance.contracts import Contract, Exact, Ulp
from tri_conformance.dtypes import FLOATS, FP8, INTEGERS, NUMPY, SIGNED, Array, integers, is_float, normals
from tri_conformance.features import Feature, Point, Trial
from tri_conformance.kernels import elements as k
from tri_conformance.oracles import exact_of

__all__ = ["FEATURES"]

#: elements per program and in all: the last program's block is partly masked
BLOCK = 256
SHAPES = ((256,), (1000,))
#: what stands in memory that must be left alone
GUARD = 77

Draw = Callable[[Point], list[Array]]
Oracle = Callable[..., Array]


@dataclass(frozen=True)
class Row:
    """A function: ``draw`` its operands, ``oracle`` in float64 for floats, exact for integers."""

    name: str
    function: Any
    oracle: Oracle
    draw: Draw
    dtypes: tuple[str, ...]
    contract: Contract = Exact()  # noqa: RUF009  frozen, without fields
    result: str = ""


def _guarded(point: Point, dtype: str, values: Array) -> tuple[Array, Array]:
    """Memory for ``values`` and what it must hold afterwards: eight more elements, left alone."""
    kind = NUMPY[dtype]
    before = np.full(values.size + 8, GUARD).astype(kind)
    after = before.astype(values.dtype if values.dtype.kind in "iub" else np.float64)
    after[: values.size] = values
    return before, after


def _exactly(oracle: Oracle, operands: list[Array]) -> Array:
    wide = [o.astype(np.float64) if o.dtype.kind not in "iub" else o for o in operands]
    with np.errstate(all="ignore"):
        return np.asarray(oracle(*wide))


def _make(row: Row) -> Callable[[Point], Trial]:
    def make(point: Point) -> Trial:
        operands = row.draw(point)
        made = _exactly(row.oracle, operands)
        out, exact = _guarded(point, row.result or point.dtype, made)
        grid = (-(-point.count // BLOCK),)
        constants = {"F": row.function, "B": BLOCK}
        return Trial(
            arguments=[out, *operands, point.count], exact={0: exact}, constants=constants, grid=grid
        )

    return make


def between(low: float, high: float, count: int = 1) -> Draw:
    """``count`` operands of floats uniform between ``low`` and ``high``."""
    return lambda p: [p.rng.uniform(low, high, p.count).astype(p.numpy) for _ in range(count)]


def anything(count: int) -> Draw:
    """``count`` operands of every size and sign."""
    return lambda p: [normals(p.rng, p.dtype, p.count) for _ in range(count)]


def _special(p: Point, count: int) -> list[Array]:
    values = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5, -2.5, 3.5])
    return [p.rng.choice(values, p.count).astype(p.numpy) for _ in range(count)]


def special(count: int) -> Draw:
    """``count`` operands of zeros of both signs, infinities, NaN and halves."""
    return lambda p: _special(p, count)


def divisible(p: Point) -> list[Array]:
    """Any dividend, and a divisor that is neither 0 nor -1 (the smallest integer by -1 is not defined)."""
    y = integers(p.rng, p.dtype, p.count, -100, 100)
    return [
        integers(p.rng, p.dtype, p.count),
        np.where((y == 0) | (y == -1 % 2**64), 3, np.where(y == -1, 5, y)).astype(p.numpy),
    ]


def shifts(p: Point) -> list[Array]:
    """Any integer, and a distance below its number of bits."""
    return [integers(p.rng, p.dtype, p.count), integers(p.rng, p.dtype, p.count, 0, p.numpy.itemsize * 8 - 1)]


def _quotient(x: Array, y: Array) -> Array:
    quotient = [
        abs(int(a)) // abs(int(b)) * (1 if (a < 0) == (b < 0) else -1) for a, b in zip(x, y, strict=True)
    ]
    return np.array(quotient, dtype=object).astype(x.dtype)


def _remainder(x: Array, y: Array) -> Array:
    return (x - _quotient(x, y) * y).astype(x.dtype)


def _max_number(x: Array, y: Array) -> Array:
    return np.asarray(np.fmax(x, y))


def _chosen(a: Array, b: Array, c: Array) -> Array:
    return np.asarray(np.where(a > b, b, c))


def _fused(x: Array, y: Array, z: Array) -> Array:
    """``x y + z``, rounded once to fp64."""
    rows = zip(x, y, z, strict=True)
    return np.array([float(exact_of(a) * exact_of(b) + exact_of(c)) for a, b, c in rows])


def _high_half(x: Array, y: Array) -> Array:
    """Of the product of the operands' bits, as unsigned numbers."""
    bits, unsigned = 8 * x.itemsize, np.dtype(f"u{x.itemsize}")
    pairs = zip(x.view(unsigned), y.view(unsigned), strict=True)
    return np.array([int(a) * int(b) >> bits for a, b in pairs], unsigned).view(x.dtype)


_ALL = (*INTEGERS, *FLOATS)
_WIDE = ("fp32", "fp64")
_HALF = Ulp(0)

#: 32-bit signed quotients and C's remainders; operators of floats are correctly rounded, whatever the width
OPERATORS = (
    Row("add", k.add, np.add, anything(2), _ALL),
    Row("sub", k.sub, np.subtract, anything(2), _ALL),
    Row("mul", k.mul, np.multiply, anything(2), _ALL),
    Row("floordiv", k.quotient, _quotient, divisible, INTEGERS),
    Row("mod", k.remainder, _remainder, divisible, INTEGERS),
    Row("fmod", k.remainder, np.fmod, between(1, 8, 2), ("fp32",), Ulp(1)),
    Row("truediv", k.division, np.divide, between(0.5, 8, 2), _WIDE, Ulp(2)),
    Row("and", k.both, np.bitwise_and, anything(2), (*INTEGERS, "int1")),
    Row("or", k.either, np.bitwise_or, anything(2), (*INTEGERS, "int1")),
    Row("xor", k.differ, np.bitwise_xor, anything(2), (*INTEGERS, "int1")),
    Row("shl", k.left, np.left_shift, shifts, INTEGERS),
    Row("shr", k.right, np.right_shift, shifts, INTEGERS),
    Row("neg", k.negative, np.negative, anything(1), (*SIGNED, *FLOATS)),
    Row("invert", k.inverse, np.invert, anything(1), INTEGERS),
    Row("where", k.choice, _chosen, anything(3), _ALL),
    Row("clamp", k.bounded, lambda a: np.clip(a, -0.5, 0.75), anything(1), FLOATS),
    Row("clamp-of-integers", k.bounded_integers, lambda a: np.clip(a, 3, 100), anything(1), INTEGERS),
)
#: those of integers are in `mixed-comparisons`
COMPARISONS = tuple(
    Row(name, function, oracle, special(2), FLOATS, result="int1")
    for name, function, oracle in (
        ("lt", k.less, np.less), ("le", k.less_equal, np.less_equal), ("eq", k.equal, np.equal),
        ("ne", k.unequal, np.not_equal), ("gt", k.greater, np.greater), ("ge", k.greater_equal, np.greater_equal),
    )
)  # fmt: skip
EXTREMES = (
    Row("maximum", k.largest, np.maximum, anything(2), _ALL),
    Row("minimum", k.smallest, np.minimum, anything(2), _ALL),
    Row("maximum-of-special", k.largest, _max_number, special(2), FLOATS),
    Row("maximum-propagating-nan", k.largest_or_nan, np.maximum, special(2), FLOATS),
)

#: bounds in units in the last place, beyond correct rounding
MATHEMATICS = (
    Row("exp", tl.exp, np.exp, between(-20, 20), _WIDE, Ulp(3)),
    Row("exp2", tl.exp2, np.exp2, between(-30, 30), _WIDE, Ulp(3)),
    Row("log", tl.log, np.log, between(1e-3, 1e4), _WIDE, Ulp(4)),
    Row("log2", tl.log2, np.log2, between(1e-3, 1e4), _WIDE, Ulp(4)),
    Row("sin", tl.sin, np.sin, between(-100, 100), _WIDE, Ulp(8)),
    Row("cos", tl.cos, np.cos, between(-100, 100), _WIDE, Ulp(8)),
    Row("sqrt", tl.sqrt, np.sqrt, between(0, 1e4), _WIDE, Ulp(3)),
    Row("sqrt_rn", tl.sqrt_rn, np.sqrt, between(0, 1e4), ("fp32",), _HALF),
    Row("rsqrt", tl.rsqrt, lambda x: 1 / np.sqrt(x), between(1e-3, 1e4), _WIDE, Ulp(3)),
    Row("erf", tl.erf, np.vectorize(math.erf), between(-4, 4), _WIDE, Ulp(16)),
    Row("abs", tl.abs, np.abs, anything(1), (*FLOATS, *(d for d in SIGNED))),
    Row("floor", tl.floor, np.floor, between(-100, 100), _WIDE),
    Row("ceil", tl.ceil, np.ceil, between(-100, 100), _WIDE),
    Row("floor-of-special", tl.floor, np.floor, special(1), _WIDE),
    Row("fma", tl.fma, _fused, between(1, 2, 3), FLOATS, _HALF),
    Row("div_rn", tl.div_rn, np.divide, between(0.5, 8, 2), ("fp32",), _HALF),
    Row("fdiv", tl.fdiv, np.divide, between(0.5, 8, 2), _WIDE, Ulp(2)),
    Row("fdiv-narrow", tl.fdiv, np.divide, between(0.5, 8, 2), ("fp16", "bf16"), Ulp(2), "fp32"),
    Row("umulhi", tl.umulhi, _high_half, anything(2), ("int32", "int64", "uint32", "uint64")),
    Row("sigmoid", tl.sigmoid, lambda x: 1 / (1 + np.exp(-x)), between(-8, 8), _WIDE, Ulp(8)),
)  # fmt: skip

_KERNELS = {1: k.map1, 2: k.map2, 3: k.map3}


def _arity(row: Row) -> int:
    sample = Point(row.dtypes[0], (8,), np.random.default_rng(0))
    return len(row.draw(sample))


def _features() -> Iterator[Feature]:
    for row in (*OPERATORS, *COMPARISONS, *EXTREMES, *MATHEMATICS):
        # one type at both sizes says what two do: short types get the small one
        yield Feature(
            name=row.name,
            kernel=_KERNELS[_arity(row)],
            make=_make(row),
            dtypes=row.dtypes,
            shapes=SHAPES if len(row.dtypes) <= 4 else SHAPES[1:],
            contract=row.contract,
        )
    yield from _casts()


# --- conversions ----------------------------------------------------------------------------------------


def _convertible(p: Point, target: str) -> Array:
    """Numbers of ``p.dtype`` that ``target`` holds: what does not fit an integer is not defined."""
    if is_float(target):
        return normals(p.rng, p.dtype, p.count) if is_float(p.dtype) else integers(p.rng, p.dtype, p.count)
    if not is_float(p.dtype):
        return integers(p.rng, p.dtype, p.count)
    low = 0.0 if target.startswith("uint") else -100.0
    return p.rng.uniform(low, 100.0, p.count).astype(p.numpy)


def _rounded(x: Array, target: str) -> Array:
    """``x`` in the type ``target``: to the nearest for floats, toward zero for integers, modulo for narrower ones."""
    if target == "int1":
        return np.asarray(x != 0)
    if is_float(target) or x.dtype.kind in "iub":
        return x.astype(NUMPY[target])
    return np.trunc(x.astype(np.float64)).astype(NUMPY[target])


def _cast_to(target: str) -> Callable[[Point], Trial]:
    def make(point: Point) -> Trial:
        x = _convertible(point, target)
        with np.errstate(all="ignore"):
            out, exact = _guarded(point, target, _rounded(x, target))
        constants = {"ROUNDING": None, "B": BLOCK}
        return Trial(
            arguments=[out, x, point.count],
            exact={0: exact},
            constants=constants,
            grid=(-(-point.count // BLOCK),),
        )

    return make


def _bits_of(point: Point, target: str) -> Trial:
    x = integers(point.rng, point.dtype, point.count, 0, 2**14)
    out, exact = _guarded(point, target, x.view(NUMPY[target]))
    return Trial(
        arguments=[out, x, point.count],
        exact={0: exact},
        constants={"B": BLOCK},
        grid=(-(-point.count // BLOCK),),
    )


_TARGETS = ("int1", "int8", "int32", "int64", "uint8", "uint32", "fp16", "bf16", "fp32", "fp64")
#: all of them are in `conversions-of-each-type`; here they meet more numbers
_SOURCES = ("int8", "int32", "uint32", "int64", "fp16", "bf16", "fp32", "fp64")


def _casts() -> Iterator[Feature]:
    for target in _TARGETS:
        sources = tuple(s for s in _SOURCES if s != target)
        yield Feature(
            name=f"cast-to-{target}",
            kernel=k.cast,
            make=_cast_to(target),
            dtypes=sources,
            shapes=((1000,),),
            also=(target,),
        )
    for target in FP8:
        yield Feature(
            name=f"cast-to-{target}", kernel=k.cast, make=_cast_to(target), dtypes=("fp16", "fp32"),
            shapes=((1024,),), also=(target,),
        )  # fmt: skip
    yield Feature(
        name="cast-from-fp8",
        kernel=k.cast,
        make=_cast_to("fp32"),
        dtypes=FP8,
        shapes=((1024,),),
        also=("fp32",),
    )
    for source, target in (("int32", "fp32"), ("int16", "bf16"), ("int64", "fp64"), ("uint16", "fp16")):
        yield Feature(
            name=f"bitcast-to-{target}", kernel=k.bitcast, make=partial(_bits_of, target=target),
            dtypes=(source,), shapes=((1000,),), also=(target,),
        )  # fmt: skip


FEATURES = tuple(_features())
