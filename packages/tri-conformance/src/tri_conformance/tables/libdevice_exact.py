"""Functions of libdevice whose results are exact, or exactly rounded."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from tri_conformance.dtypes import Array
from tri_conformance.features import Point
from tri_conformance.oracles import MODES, ends, exact_of, root, rounded
from tri_conformance.tables.libdevice_rows import Draw, Entry, floats, mixed, whole

__all__ = ["ENTRIES"]

_F4, _F8 = np.dtype(np.float32), np.dtype(np.float64)

# --- arithmetic in a rounding mode -------------------------------------------------------------------------

_ARITHMETIC: dict[str, Callable[..., Fraction]] = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "div": lambda x, y: x / y,
    "rcp": lambda x: 1 / x, "fma": lambda x, y, z: x * y + z, "sqrt": root,
}  # fmt: skip


def _rounding(exact: Callable[..., Fraction], mode: str, dtype: np.dtype[Any] | None = None) -> Any:
    """The oracle: exact, then rounded to ``dtype`` (that of the operands, if None)."""

    def oracle(*operands: Array) -> Array:
        kind = dtype or operands[0].dtype
        rows = zip(*operands, strict=True)
        return np.array([rounded(exact(*map(exact_of, row)), mode, kind) for row in rows], kind)

    return oracle


def _operands(name: str) -> Draw:
    """Half of them of any magnitude, half near each other, so that sums cancel; a few at the ends of the type."""

    def draw(point: Point, dtypes: Sequence[np.dtype[Any]]) -> list[Array]:
        drawn = []
        for dtype in dtypes:
            x = floats(point, dtype, 140 if dtype == _F4 else 1060)
            x[::2] = floats(point, dtype, 4)[::2]
            at = point.rng.random(point.count) < 0.25
            x[at] = point.rng.choice(ends(dtype), int(at.sum()))
            drawn.append(x)
        if name in ("div", "rcp"):
            drawn[-1] = np.where(drawn[-1] == 0, dtypes[-1].type(7), drawn[-1])
        return [np.abs(x) for x in drawn] if name == "sqrt" else drawn

    return draw


def _arithmetic() -> Iterator[Entry]:
    for name, exact in _ARITHMETIC.items():
        for mode in MODES:
            yield Entry(name=f"{name}_{mode}", oracle=_rounding(exact, mode), draw=_operands(name))


# --- conversions -------------------------------------------------------------------------------------------

_INTEGERS = {"int": np.int32, "uint": np.uint32, "ll": np.int64, "ull": np.uint64}
_TO_INTEGER: dict[str, Callable[[Fraction], int]] = {
    "rn": round, "rd": math.floor, "ru": math.ceil, "rz": math.trunc,
}  # fmt: skip


def _to_integer(mode: str, kind: type) -> Callable[[Array], Array]:
    """Out of range the nearest integer; NaN is 0 from fp32 to 32 bits, else the integer with its highest bit alone."""
    info = np.iinfo(kind)

    def one(x: Any) -> int:
        if np.isnan(x):
            highest = 1 << info.bits - 1
            return 0 if info.bits == 32 and x.dtype == _F4 else -highest if info.min else highest
        if np.isinf(x):
            return int(info.max if x > 0 else info.min)
        return min(max(_TO_INTEGER[mode](Fraction(float(x))), int(info.min)), int(info.max))

    # results are signed in the table, whatever their bits mean
    signed = np.int32 if info.bits == 32 else np.int64
    return lambda x: np.array([one(v) for v in x], kind).view(signed)


def _beyond_integers(point: Point, dtypes: Sequence[np.dtype[Any]]) -> list[Array]:
    x = point.rng.uniform(-1, 1, point.count) * 2.0 ** point.rng.integers(0, 70, point.count)
    x[:8] = [0.5, 1.5, 2.5, -0.5, -1.5, np.inf, -np.inf, np.nan]
    return [x.astype(dtypes[0])]


def _conversions() -> Iterator[Entry]:
    for mode in MODES:
        for name, kind in _INTEGERS.items():
            for source in ("float", "double"):
                yield Entry(
                    name=f"{source}2{name}_{mode}", oracle=_to_integer(mode, kind), draw=_beyond_integers
                )
            yield Entry(name=f"{name}2float_{mode}", oracle=_rounding(lambda x: x, mode, _F4), draw=mixed())
            if name in ("ll", "ull") or mode == "rn":  # 32 bits fit a double in any mode
                yield Entry(
                    name=f"{name}2double_{mode}", oracle=_rounding(lambda x: x, mode, _F8), draw=mixed()
                )
        yield Entry(
            name=f"double2float_{mode}", oracle=_rounding(lambda x: x, mode, _F4), draw=mixed(spread=160)
        )


def _half_up(x: Fraction) -> int:
    half = Fraction(1, 2)
    return math.floor(x + half) if x >= 0 else math.ceil(x - half)


def _long(exact: Callable[[Fraction], int]) -> Callable[[Array], Array]:
    return lambda x: np.array([exact(exact_of(v)) for v in x], np.int64)


def _halves(point: Point, dtypes: Sequence[np.dtype[Any]]) -> list[Array]:
    x = floats(point, dtypes[0], 60)
    x[6:10] = [0.5, -2.5, 1.5, -0.5]
    return [x]


# --- integers ----------------------------------------------------------------------------------------------


def _unsigned(x: Any) -> int:
    return int(x) % (1 << 8 * x.itemsize)


def _low_24(x: Any) -> int:
    low = int(x) & 0xFFFFFF
    return low - (1 << 24) if x.dtype.kind == "i" and low >> 23 else low


def _permuted(x: Any, y: Any, selector: Any) -> int:
    pool = _unsigned(x).to_bytes(4, "little") + _unsigned(y).to_bytes(4, "little")
    return int.from_bytes(bytes(pool[_unsigned(selector) >> 4 * i & 7] for i in range(4)), "little")


_ON_INTEGERS: dict[str, Callable[..., int]] = {
    "brev": lambda x: int(format(_unsigned(x), f"0{8 * x.itemsize}b")[::-1], 2),
    "byte_perm": _permuted,
    "clz": lambda x: 8 * x.itemsize - _unsigned(x).bit_length(),
    "ffs": lambda x: (_unsigned(x) & -_unsigned(x)).bit_length(),
    "hadd": lambda x, y: (int(x) + int(y)) >> 1,
    "mul24": lambda x, y: _low_24(x) * _low_24(y),
    "mulhi": lambda x, y: int(x) * int(y) >> 8 * x.itemsize,
    "popc": lambda x: _unsigned(x).bit_count(),
    "rhadd": lambda x, y: (int(x) + int(y) + 1) >> 1,
    "sad": lambda x, y, z: abs(int(x) - int(y)) + int(z),
}


def _wrapped(exact: Callable[..., int]) -> Callable[..., Array]:
    """Modulo the width of the first operand; counts of bits are small."""

    def oracle(*operands: Array) -> Array:
        bits = 8 * operands[0].itemsize
        made = [exact(*row) % (1 << bits) for row in zip(*operands, strict=True)]
        return np.array(made, f"u{bits // 8}")

    return oracle


# --- functions of floats that are exact --------------------------------------------------------------------


def _round_away(x: Array) -> Array:
    return np.copysign(np.floor(np.abs(x.astype(np.float64)) + 0.5), x)


def _remainder(x: Array, y: Array) -> Array:
    rows = zip(x.tolist(), y.tolist(), strict=True)
    return np.array(
        [math.remainder(a, b) if math.isfinite(a) and b and b == b else math.nan for a, b in rows]
    )


def _positive_difference(x: Array, y: Array) -> Array:
    return np.where(np.isnan(x) | np.isnan(y), np.nan, np.where(x > y, x - y, 0))


def _exponent(x: Array) -> Array:
    return np.array([math.frexp(v)[1] - 1 if v and math.isfinite(v) else 0 for v in x.tolist()])


def _logb(x: Array) -> Array:
    special = np.where(x == 0, -np.inf, np.where(np.isinf(x), np.inf, np.nan))
    return np.where(np.isfinite(x) & (x != 0), _exponent(x), special)


def _ilogb(x: Array) -> Array:
    special = np.where(np.isinf(x), 2**31 - 1, -(2**31))
    return np.where(np.isfinite(x) & (x != 0), _exponent(x), special).astype(np.int32)


def _scaled(x: Array, n: Array) -> Array:
    rows = zip(x, n, strict=True)
    return np.array([rounded(exact_of(v) * Fraction(2) ** int(e), "rn", x.dtype) for v, e in rows], x.dtype)


_ON_FLOATS: dict[str, Callable[..., Array]] = {
    "abs": np.abs, "ceil": np.ceil, "floor": np.floor, "trunc": np.trunc, "rint": np.rint, "nearbyint": np.rint,
    "copysign": np.copysign, "nextafter": np.nextafter, "fmod": np.fmod, "sqrt": np.sqrt, "fdim": _positive_difference,
    "round": _round_away, "isnan": np.isnan, "isinf": np.isinf, "signbit": np.signbit, "finitef": np.isfinite,
    "isfinited": np.isfinite, "saturatef": lambda x: np.nan_to_num(np.clip(x, 0, 1), nan=0), "remainder": _remainder,
    "logb": _logb, "ilogb": _ilogb,
}  # fmt: skip


def _with_specials(name: str) -> Draw:
    def draw(point: Point, dtypes: Sequence[np.dtype[Any]]) -> list[Array]:
        drawn = []
        for number, dtype in enumerate(dtypes):
            x = floats(point, dtype, 30)
            x[6:13] = [np.inf, -np.inf, np.nan, 1.5, 2.5, -0.5, -2.5]
            drawn.append(np.roll(x, 3 * number))
        return [np.abs(x) for x in drawn] if name == "sqrt" else drawn

    return draw


def _scales(point: Point, dtypes: Sequence[np.dtype[Any]]) -> list[Array]:
    n = whole(point, dtypes[1], -2300, 2300)
    n[:60] %= 200
    return [floats(point, dtypes[0], 140 if dtypes[0] == _F4 else 1060), n]


# --- bits --------------------------------------------------------------------------------------------------

_BITS: dict[str, Callable[..., Array]] = {
    "float_as_int": lambda x: x.view(np.int32),
    "float_as_uint": lambda x: x.view(np.int32),
    "int_as_float": lambda x: x.view(np.float32),
    "uint_as_float": lambda x: x.view(np.float32),
    "double_as_longlong": lambda x: x.view(np.int64),
    "longlong_as_double": lambda x: x.view(np.float64),
    "double2loint": lambda x: x.view(np.int32)[::2],
    "double2hiint": lambda x: x.view(np.int32)[1::2],
    "hiloint2double": lambda high, low: np.stack([low, high], -1).view(np.float64).ravel(),
}


def _entries() -> Iterator[Entry]:
    yield from _arithmetic()
    yield from _conversions()
    yield Entry(name="llrint", oracle=_long(round), draw=_halves)
    yield Entry(name="llround", oracle=_long(_half_up), draw=_halves)
    yield Entry(
        name="abs",
        label="abs-of-integers",
        oracle=_wrapped(lambda x: abs(int(x))),
        draw=mixed(),
        integers=(0,),
    )
    for name, exact in _ON_INTEGERS.items():
        yield Entry(name=name, oracle=_wrapped(exact), draw=mixed())
    for name, oracle in _ON_FLOATS.items():
        yield Entry(name=name, oracle=oracle, draw=_with_specials(name), integers=())
    for name in ("ldexp", "scalbn"):
        yield Entry(name=name, oracle=_scaled, draw=_scales)
    for name, oracle in _BITS.items():
        yield Entry(name=name, oracle=oracle, draw=mixed(spread=100))


ENTRIES = tuple(_entries())
