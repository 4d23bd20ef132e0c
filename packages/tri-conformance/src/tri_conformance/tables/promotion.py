"""Operators of operands of two types: the result's type is that of C's conversions, with the rules for plain scalars.

Both operands become the common type and the operator works there; ``>>`` is arithmetic when the left operand is signed,
whatever the right one is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tri_conformance.contracts import Contract, Exact, Ulp
from tri_conformance.dtypes import FLOATS, INTEGERS, NUMPY, SIGNED, UNSIGNED, Array, is_float
from tri_conformance.features import Feature, Point, Trial
from tri_conformance.kernels import promotion as k
from tri_conformance.tables.libdevice_rows import whole

__all__ = ["FEATURES", "common", "mixture", "outputs"]

COUNT = 32
_INFINITE = ("bf16", "fp32", "fp64")
Oracle = Callable[[Array, Array], Sequence[Array]]


def common(left: str, right: str, *, division: bool = False) -> str:
    """The type in which an operator of blocks of two types computes."""
    pair = {left, right}
    if any(is_float(name) for name in pair):
        if "fp64" in pair:
            return "fp64"
        if "fp32" in pair or division:
            return "fp32"
        return "fp16" if "fp16" in pair else "bf16" if pair == {"bf16"} else "fp32"
    by_width = sorted(pair, key=lambda name: (_bits(name), name.startswith("uint") or name == "int1"))
    return by_width[-1]


def _bits(name: str) -> int:
    return 1 if name == "int1" else NUMPY[name].itemsize * 8


def mixture(rng: np.random.Generator, dtype: str, count: int) -> Array:
    """Integers of every size with the ends of the type, floats of several sizes without subnormal results, booleans."""
    kind = NUMPY[dtype]
    if dtype == "int1":
        return rng.integers(0, 2, count).astype(kind)
    if is_float(dtype):
        x = rng.standard_normal(count) * rng.choice([1.0, 8.0, 100.0], count)
        x[:4] = [0.0, -0.0, 1.0, -1.0]
        return rng.permutation(x).astype(kind)
    return rng.permutation(whole(Point(dtype, (count,), rng), kind))


def outputs(exact: Sequence[Array]) -> tuple[Array, ...]:
    """Memory for results, of their types, that holds something else."""
    return tuple(
        (~e).astype(e.dtype) if e.dtype == np.bool_ else np.full(e.size, 77).astype(e.dtype) for e in exact
    )


def _in(name: str, *operands: Array) -> list[Array]:
    with np.errstate(all="ignore"):
        return [o.astype(NUMPY[name]) for o in operands]


# --- oracles: both operands in the common type ------------------------------------------------------------


def _arithmetic(a: Array, b: Array) -> Sequence[Array]:
    if a.dtype.kind in "iu" or a.dtype == np.float64:
        return a + b, a - b, a * b
    # exact in fp64 but for sums of fp32, which rounding twice does not change: it has more than twice the bits
    x, y = a.astype(np.float64), b.astype(np.float64)
    return [r.astype(a.dtype) for r in (x + y, x - y, x * y)]


def _bitwise(a: Array, b: Array) -> Sequence[Array]:
    return a & b, a | b, a ^ b


def _quotients(a: Array, b: Array) -> Sequence[Array]:
    pairs = [(int(x), int(y)) for x, y in zip(a, b, strict=True)]
    quotient = [abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1) for x, y in pairs]
    rest = [x - q * y for (x, y), q in zip(pairs, quotient, strict=True)]
    return np.array(quotient, object).astype(a.dtype), np.array(rest, object).astype(a.dtype)


def _comparisons(a: Array, b: Array) -> Sequence[Array]:
    return [
        np.asarray(f(a, b))
        for f in (np.less, np.less_equal, np.equal, np.not_equal, np.greater, np.greater_equal)
    ]


def _choices(a: Array, b: Array) -> Sequence[Array]:
    larger = np.where(a > b, a, b)
    return larger, larger, np.where(a < b, a, b)


def _clamped(a: Array, b: Array) -> Sequence[Array]:
    return [np.minimum(np.maximum(a, a.dtype.type(1)), b)]


def _fused(a: Array, b: Array) -> Sequence[Array]:
    x, y = a.astype(np.float64), b.astype(np.float64)
    return [(x * y + 1.5).astype(a.dtype), (2 * x + y).astype(a.dtype)]


def _shifted(left: str, a: Array, b: Array) -> Sequence[Array]:
    """Of operands in the common type: a signed left operand keeps its sign."""
    signed = a.view(np.dtype(f"i{a.itemsize}")) if left in SIGNED else a
    return a << b, (signed >> b.astype(signed.dtype)).astype(a.dtype)


# --- rows -------------------------------------------------------------------------------------------------


def _rights(left: str, among: Sequence[str]) -> list[str]:
    """Types of right operands: fp64 only beside itself, so that targets without it have the others."""
    return [name for name in among if name != "fp64" or left == "fp64"]


def _mixed(
    function: Any, signs: Sequence[str], oracle: Oracle, among: Sequence[str], draw: Callable[..., Array] = mixture,
    division: bool = False,
) -> Callable[[Point], Trial]:  # fmt: skip
    def make(point: Point) -> Trial:
        x = draw(point.rng, point.dtype, point.count)
        operands: list[Array] = []
        exact: list[Array] = []
        names: list[str] = []
        for right in _rights(point.dtype, among):
            if "int1" in (right, point.dtype) and right == point.dtype:
                continue
            y = draw(point.rng, right, point.count)
            with np.errstate(all="ignore"):
                if draw is mixture:  # ties
                    y[::4] = x[::4].astype(y.dtype)
                exact += oracle(*_in(common(point.dtype, right, division=division), x, y))
            operands.append(y)
            names += [f"{point.dtype} {sign} {right}" for sign in signs]
        constants = {"F": function, "RESULTS": len(signs), "N": point.count}
        return Trial(
            arguments=[outputs(exact), x, tuple(operands)],
            exact={0: tuple(exact)},
            names={0: names},
            constants=constants,
        )

    return make


def _shifts(point: Point) -> Trial:
    x = mixture(point.rng, point.dtype, point.count)
    operands: list[Array] = []
    exact: list[Array] = []
    for right in INTEGERS:
        y = point.rng.integers(0, _bits(point.dtype), point.count).astype(NUMPY[right])
        exact += _shifted(point.dtype, *_in(common(point.dtype, right), x, y))
        operands.append(y)
    names = [f"{point.dtype} {sign} {right}" for right in INTEGERS for sign in ("<<", ">>")]
    return Trial(
        arguments=[outputs(exact), x, tuple(operands)],
        exact={0: tuple(exact)},
        names={0: names},
        constants={"F": k.shifts, "RESULTS": 2, "N": point.count},
    )


def _divisible(rng: np.random.Generator, dtype: str, count: int) -> Array:
    """Without 0 and -1: the smallest integer by -1 is not defined."""
    x = mixture(rng, dtype, count)
    return np.where((x == 0) | (x.astype(np.int64) == -1), 3, x).astype(x.dtype)


def _positive(rng: np.random.Generator, dtype: str, count: int) -> Array:
    if is_float(dtype):
        return rng.uniform(0.5, 8, count).astype(NUMPY[dtype])
    return np.maximum(_divisible(rng, dtype, count), 1).astype(NUMPY[dtype])


def _quotient(a: Array, b: Array) -> Sequence[Array]:
    """Integers by way of fp32, each rounded."""
    kind = np.dtype(np.float64) if a.dtype == np.float64 else np.dtype(np.float32)
    x, y = a.astype(kind), b.astype(kind)
    return [(x.astype(np.float64) / y.astype(np.float64)).astype(kind)]


def _float_remainder(a: Array, b: Array) -> Sequence[Array]:
    return [np.fmod(a, b)]


# --- plain scalars ----------------------------------------------------------------------------------------


def _integer_scalars(v: Array) -> list[Array]:
    """Results with scalars of the block's kind, in its type; with a float in fp32."""
    t = v.dtype.type
    three, five, hundred, one = t(3), t(5), t(100), t(1)
    low = v & three
    (third, rest), (quotient, remainder) = (
        _quotients(v, np.full_like(v, 3)),
        _quotients(np.full_like(v, 100), v),
    )
    halves = v.astype(np.float32)
    return [
        v + three, three + v, v - three, hundred - v, v * three, three * v, third, quotient, rest, remainder, v & five, five & v,
        v | five, five | v, v ^ five, five ^ v, v << one, three << low, v >> one, hundred >> low, (t(0) - v), ~v,
        -(-(v & t(63)).astype(np.int64) // 5), halves + np.float32(0.5), np.float32(0.5) - halves, v + three, v - three, v * three,
        np.abs(v), v < three, v > three, v == one,
    ]  # fmt: skip


def _float_scalars(v: Array) -> list[Array]:
    x = v.astype(np.float64)
    made = [
        x + 3, 3 + x, x - 2.5, 2.5 - x, x * 0.5, 2 * x, -x, np.abs(x), x + 3, x - 3, x * 3, x < 0.5, np.maximum(x, 0.5),
        np.minimum(0.5, x), np.where(x > 0, x, 1),
    ]  # fmt: skip
    return [m if m.dtype == np.bool_ else m.astype(v.dtype) for m in made]


_INTEGER_NAMES = (
    "a + 3", "3 + a", "a - 3", "100 - a", "a * 3", "3 * a", "a // 3", "100 // a", "a % 3", "100 % a", "a & 5", "5 & a", "a | 5",
    "5 | a", "a ^ 5", "5 ^ a", "a << 1", "3 << (a & 3)", "a >> 1", "100 >> (a & 3)", "-a", "~a", "cdiv(a & 63, 5)", "a + 0.5",
    "0.5 - a", "add", "sub", "mul", "abs", "a < 3", "3 < a", "a == True",
)  # fmt: skip
_FLOAT_NAMES = (
    "a + 3", "3 + a", "a - 2.5", "2.5 - a", "a * 0.5", "2 * a", "-a", "abs", "add", "sub", "mul", "a < 0.5", "maximum(a, 0.5)",
    "minimum(0.5, a)", "where",
)  # fmt: skip


def _scalars(point: Point) -> Trial:
    floats = is_float(point.dtype)
    x = (
        mixture(point.rng, point.dtype, point.count)
        if floats
        else _divisible(point.rng, point.dtype, point.count)
    )
    with np.errstate(all="ignore"):
        exact = _float_scalars(x) if floats else _integer_scalars(x)
    kinds = [e.dtype if e.dtype in (np.bool_, np.float32) else x.dtype for e in exact]
    exact = [e.astype(kind) for e, kind in zip(exact, kinds, strict=True)]
    function, names = (k.float_scalars, _FLOAT_NAMES) if floats else (k.integer_scalars, _INTEGER_NAMES)
    return Trial(
        arguments=[outputs(exact), x],
        exact={0: tuple(exact)},
        names={0: names},
        constants={"F": function, "RESULTS": len(names), "N": point.count},
    )


def _scalar_division(point: Point) -> Trial:
    x = _positive(point.rng, point.dtype, point.count)
    kind = np.dtype(np.float64 if point.dtype == "fp64" else np.float32)
    wide = x.astype(kind).astype(np.float64)
    exact = (8 / wide, wide / 3, 2.5 / wide)
    return Trial(
        arguments=[tuple(np.full(point.count, 77, kind) for _ in exact), x],
        exact={0: exact},
        names={0: ("8 / a", "a / 3", "2.5 / a")},
        constants={"F": k.scalar_division, "RESULTS": len(exact), "N": point.count},
    )


_NUMBERS = ("int1", *INTEGERS, *FLOATS)
_COMPARED = ("<", "<=", "==", "!=", ">", ">=")


def _row(
    name: str, make: Callable[[Point], Trial], lefts: Sequence[str], rights: Sequence[str], contract: Contract | None = None,
    kernel: Any = k.mixed,
) -> Iterator[Feature]:  # fmt: skip
    """A case for each type of the left operand."""
    yield Feature(
        name=name, kernel=kernel, make=make, dtypes=tuple(lefts), shapes=((COUNT,),), contract=contract or Exact(),
        also=tuple(right for right in rights if right != "fp64"),
    )  # fmt: skip


def _features() -> Iterator[Feature]:
    mixed = _mixed(k.arithmetic, ("+", "-", "*"), _arithmetic, _NUMBERS)
    yield from _row("mixed-arithmetic", mixed, _NUMBERS, _NUMBERS)
    whole_numbers = ("int1", *INTEGERS)
    yield from _row(
        "mixed-bits", _mixed(k.bits, "&|^", _bitwise, whole_numbers), whole_numbers, whole_numbers
    )
    yield from _row("mixed-shifts", _shifts, INTEGERS, INTEGERS)
    for name, group in (("signed", SIGNED), ("unsigned", UNSIGNED)):
        quotients = _mixed(k.quotients, ("//", "%"), _quotients, group, _divisible)
        yield from _row(f"mixed-quotients-{name}", quotients, group, group)
        division = _mixed(k.division, "/", _quotient, (*group, *FLOATS), _positive, division=True)
        yield from _row(f"mixed-division-{name}", division, group, (*group, *FLOATS), Ulp(2))
    division = _mixed(k.division, "/", _quotient, (*INTEGERS, *FLOATS), _positive, division=True)
    yield from _row("mixed-division-floats", division, FLOATS, (*INTEGERS, *FLOATS), Ulp(2))
    remainder = _mixed(k.float_remainder, "%", _float_remainder, FLOATS, _positive, division=True)
    yield from _row("mixed-remainder-floats", remainder, FLOATS, FLOATS, Ulp(1))
    yield from _row(
        "mixed-comparisons", _mixed(k.comparisons, _COMPARED, _comparisons, _NUMBERS), _NUMBERS, _NUMBERS
    )
    choices = _mixed(k.choices, ("where", "maximum", "minimum"), _choices, _NUMBERS)
    yield from _row("mixed-choices", choices, _NUMBERS, _NUMBERS)
    clamped = _mixed(k.clamped, ("clamp by",), _clamped, (*INTEGERS, *FLOATS), _positive)
    yield from _row("mixed-clamp", clamped, (*INTEGERS, *FLOATS), (*INTEGERS, *FLOATS))
    fused = _mixed(k.fused, ("fma with", "fma of a scalar with"), _fused, FLOATS, _positive)
    yield from _row("mixed-fma", fused, FLOATS, FLOATS, Ulp(1))
    yield from _row("plain-scalars", _scalars, (*INTEGERS, *FLOATS), ("fp32",), kernel=k.of_scalars)
    yield from _row(
        "plain-scalars-divided",
        _scalar_division,
        (*INTEGERS, *FLOATS),
        ("fp32",),
        Ulp(2),
        kernel=k.of_scalars,
    )


FEATURES = tuple(_features())
