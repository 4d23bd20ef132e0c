"""``cvt``: between integers, floats, and packed floats, in all rounding modes.  PTX ISA 8.7, 9.7.9.21."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tri_backend_nvidia.text.floats import encoded, flushed, numbers
from tri_backend_nvidia.text.operation import Operation, unknown
from tri_backend_nvidia.text.rounding import FORMATS, decoded, rounded
from tri_backend_nvidia.text.syntax import Instruction, bits_of
from tri_backend_nvidia.text.values import Array, dtype_of, is_float, word

__all__ = ["cvt"]

_MODES = ("rn", "rz", "rm", "rp", "rna", "rni", "rzi", "rmi", "rpi")
_TO_INTEGER: dict[str, Callable[[Array], Array]] = {"n": np.rint, "z": np.trunc, "m": np.floor, "p": np.ceil}


def cvt(instruction: Instruction) -> Operation:
    """The conversion that the instruction names."""
    *modifiers, to, from_ = instruction.parts[1:]
    if left := set(modifiers) - {*_MODES, "ftz", "sat", "satfinite", "relu"}:
        raise unknown(instruction, f".{min(left)}")
    mode = next((m for m in modifiers if m in _MODES), "")
    flags = frozenset(modifiers)
    if "x2" in to or "x2" in from_:
        return _packed(instruction, to, from_, mode or "rn", flags)
    if is_float(from_) and is_float(to):
        return Operation(
            (from_,), (to if to != "tf32" else "b32",), lambda x: _float_to_float(x, to, from_, mode, flags)
        )
    if is_float(from_):
        return Operation((from_,), (to,), lambda x: _float_to_integer(x, to, from_, mode, flags))
    if is_float(to):
        return Operation((from_,), (to,), lambda x: _integer_to_float(x, to, mode or "rn", flags))
    return Operation((from_,), (to,), lambda x: _integer_to_integer(x, to, flags))


def _read(x: Array, type_: str, flags: frozenset[str]) -> Array:
    found = numbers(x, type_)
    return (flushed(found) if "ftz" in flags and type_ == "f32" else found).astype(np.float64)


def _float_to_float(x: Array, to: str, from_: str, mode: str, flags: frozenset[str]) -> Array:
    with np.errstate(all="ignore"):
        value = _read(x, from_, flags)
        if mode.endswith("i") and mode:
            value = _TO_INTEGER[mode[1]](value)
        if "sat" in flags:
            value = np.where(np.isnan(value), 0.0, np.clip(value, 0.0, 1.0)) + 0.0
        if "relu" in flags:
            value = np.where(np.isnan(value), value, np.maximum(value, 0.0) + 0.0)
        rounding = mode if mode and not mode.endswith("i") else "rn"
        if to in ("f64",):
            return value
        if to == "tf32" or "satfinite" in flags:
            return rounded(value, FORMATS[to], rounding, saturates="satfinite" in flags)
        made = encoded(value, to, rounding)
    return flushed(made) if "ftz" in flags and to == "f32" else made


def _float_to_integer(x: Array, to: str, from_: str, mode: str, flags: frozenset[str]) -> Array:
    """Beyond the range it is the nearest integer; NaN is 0, or the top bit where one of the types has 64 bits."""
    info = np.iinfo(dtype_of(to))
    with np.errstate(all="ignore"):
        value = _TO_INTEGER[mode[1] if mode else "z"](_read(x, from_, flags))
        beyond, below = value >= float(info.max) + (1 if bits_of(to) < 64 else 0), value < float(info.min)
        inside = np.where(beyond | below | np.isnan(value), 0.0, value)
        made = inside.astype(dtype_of(to))
    wide = from_ == "f64" or bits_of(to) == 64
    nan = (info.min if info.min else (info.max >> 1) + 1) if wide else 0
    made = np.where(np.isnan(value), np.array(nan, made.dtype), made)
    return np.where(
        beyond, np.array(info.max, made.dtype), np.where(below, np.array(info.min, made.dtype), made)
    )


def _integer_to_float(x: Array, to: str, mode: str, flags: frozenset[str]) -> Array:
    if x.dtype.itemsize < 8:
        value = x.astype(np.float64)
    else:  # to odd: bits below the last place only say that there are some
        value = _odd_double(x)
        if to == "f64":
            return _nearest_double(x, mode)
    if "sat" in flags:
        value = np.clip(value, 0.0, 1.0)
    return encoded(value, to, mode)


def _odd_double(x: Array) -> Array:
    """Integers of 64 bits as doubles, rounded to odd."""
    negative = x < 0
    size = np.where(negative, (~x.view(np.uint64)) + np.uint64(1), x.view(np.uint64))
    sticky = (size & np.uint64(0x7FF)) != 0
    big = size >= np.uint64(1) << np.uint64(53)
    kept = np.where(
        big,
        (size & ~np.uint64(0xFFF))
        | (sticky | ((size & np.uint64(0x800)) != 0)).astype(np.uint64) << np.uint64(11),
        size,
    )
    made = kept.astype(np.float64)
    return np.where(negative, -made, made)


def _nearest_double(x: Array, mode: str) -> Array:
    wide = x.astype(np.longdouble)  # which has 64 bits of mantissa
    made = x.astype(np.float64)
    back = made.astype(np.longdouble)
    toward = {"rz": np.abs(back) > np.abs(wide), "rm": back > wide, "rp": back < wide}.get(mode)
    if toward is None:
        return made
    target = {"rz": 0.0, "rm": -np.inf, "rp": np.inf}[mode]
    return np.where(toward, np.nextafter(made, target), made)


def _integer_to_integer(x: Array, to: str, flags: frozenset[str]) -> Array:
    kind = dtype_of(to)
    if "sat" not in flags:
        return x.astype(kind)
    info = np.iinfo(kind)
    low = max(int(info.min), int(np.iinfo(x.dtype).min))
    high = min(int(info.max), int(np.iinfo(x.dtype).max))
    return np.clip(x, x.dtype.type(low), x.dtype.type(high)).astype(kind)


def _packed(instruction: Instruction, to: str, from_: str, mode: str, flags: frozenset[str]) -> Operation:
    """Two floats at once: of two of f32, the first goes to the upper half; of a pair, part by part."""
    scalar, source = to.removesuffix("x2"), from_.removesuffix("x2")
    if scalar not in FORMATS or source not in FORMATS or "x2" not in to:
        raise unknown(instruction)
    half = FORMATS[scalar].bits

    def rounding(value: Array) -> Array:
        if "relu" in flags:
            value = np.where(np.isnan(value), value, np.maximum(value, 0.0) + 0.0)
        return rounded(value, FORMATS[scalar], mode, saturates="satfinite" in flags)

    def put(low: Array, high: Array) -> Array:
        wide = low.astype(np.uint32) | high.astype(np.uint32) << np.uint32(half)
        return wide.astype(word(2 * half))

    if "x2" not in from_:
        return Operation(
            (from_, from_),
            (f"b{2 * half}",),
            lambda a, b: put(*(rounding(_read(v, source, flags)) for v in (b, a))),
        )
    width = FORMATS[source].bits

    def parts(x: Array) -> Array:
        pieces = [(x >> x.dtype.type(width * i)) & x.dtype.type((1 << width) - 1) for i in range(2)]
        return put(*(rounding(decoded(p, FORMATS[source])) for p in pieces))

    return Operation((f"b{2 * width}",), (f"b{2 * half}",), parts)
