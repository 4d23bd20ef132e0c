"""Integer and bit instructions, predicates and selections.  PTX ISA 8.7, 9.7.1, 9.7.6 to 9.7.8."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tri_backend_nvidia.text.operation import Meaning, Operation, rest_of, unknown
from tri_backend_nvidia.text.syntax import Instruction, bits_of
from tri_backend_nvidia.text.values import Array, as_type, dtype_of, is_float, is_signed

__all__ = ["INTEGER", "compared", "wide_product"]


def wide_product(x: Array, y: Array) -> tuple[Array, Array]:
    """High and low words of products of 64 bits, both unsigned, or high ones signed where the operands are."""
    a, b = x.view(np.uint64), y.view(np.uint64)
    low_mask, shift = np.uint64(0xFFFFFFFF), np.uint64(32)
    (al, ah), (bl, bh) = (a & low_mask, a >> shift), (b & low_mask, b >> shift)
    low, cross, other, high = al * bl, ah * bl, al * bh, ah * bh
    middle = (low >> shift) + (cross & low_mask) + (other & low_mask)
    high = high + (cross >> shift) + (other >> shift) + (middle >> shift)
    if x.dtype.kind == "i":
        high = high - np.where(x < 0, b, np.uint64(0)) - np.where(y < 0, a, np.uint64(0))
    return high.view(x.dtype), a * b


def _high(x: Array, y: Array) -> Array:
    bits = 8 * x.dtype.itemsize
    if bits == 64:
        return wide_product(x, y)[0]
    wide = np.dtype(f"{x.dtype.kind}8")
    return (x.astype(wide) * y.astype(wide) >> wide.type(bits)).astype(x.dtype)


def _widened(x: Array, y: Array) -> Array:
    wide = np.dtype(f"{x.dtype.kind}{2 * x.dtype.itemsize}")
    return x.astype(wide) * y.astype(wide)


def _wide_type(type_: str) -> str:
    return f"{type_[0]}{2 * bits_of(type_)}"


def _same(function: Callable[..., Any], count: int) -> Meaning:
    def decode(instruction: Instruction) -> Operation:
        type_ = rest_of(instruction)[-1]
        return Operation((type_,) * count, (type_,), function)

    return decode


def _limits(type_: str) -> tuple[int, int]:
    info = np.iinfo(dtype_of(type_))
    return int(info.min), int(info.max)


def _add(function: Callable[..., Any]) -> Meaning:
    def decode(instruction: Instruction) -> Operation:
        *modifiers, type_ = rest_of(instruction, "sat")
        if "x2" in type_:
            return _packed(function, type_, 2)
        if not modifiers:
            return Operation((type_,) * 2, (type_,), function)
        low, high = _limits(type_)

        def saturated(x: Array, y: Array) -> Array:
            return np.clip(function(x.astype(np.int64), y.astype(np.int64)), low, high).astype(np.int32)

        return Operation((type_,) * 2, (type_,), saturated)

    return decode


def _packed(function: Callable[..., Any], type_: str, count: int) -> Operation:
    kind = dtype_of(type_.removesuffix("x2"))

    def compute(*words: Array) -> Array:
        halves = [w.view(kind) for w in words]
        return np.ascontiguousarray(function(*halves).astype(kind)).view(np.uint32)

    return Operation(("b32",) * count, ("b32",), compute)


def _extreme(function: Callable[..., Any]) -> Meaning:
    def decode(instruction: Instruction) -> Operation:
        *modifiers, type_ = rest_of(instruction, "relu")
        chosen = (lambda x, y: np.maximum(function(x, y), 0)) if modifiers else function
        if "x2" in type_:
            return _packed(chosen, type_, 2)
        return Operation((type_,) * 2, (type_,), chosen)

    return decode


def _mul(instruction: Instruction) -> Operation:
    form, type_ = rest_of(instruction, "lo", "hi", "wide")
    if form == "wide":
        return Operation((type_, type_), (_wide_type(type_),), _widened)
    return Operation((type_, type_), (type_,), operator.mul if form == "lo" else _high)


def _mad(instruction: Instruction) -> Operation:
    form, type_ = rest_of(instruction, "lo", "hi", "wide")
    if form == "wide":
        wide = _wide_type(type_)
        return Operation((type_, type_, wide), (wide,), lambda x, y, z: _widened(x, y) + z)
    product = operator.mul if form == "lo" else _high
    return Operation((type_,) * 3, (type_,), lambda x, y, z: product(x, y) + z)


def _bits24(x: Array) -> Array:
    wide = x.astype(np.int64)
    return ((wide & 0xFFFFFF) ^ 0x800000) - 0x800000 if x.dtype.kind == "i" else wide & 0xFFFFFF


def _mul24(instruction: Instruction) -> Operation:
    form, type_ = rest_of(instruction, "lo", "hi")
    shift = 0 if form == "lo" else 16

    def compute(x: Array, y: Array, z: Any = 0) -> Array:
        return ((_bits24(x) * _bits24(y) >> shift) + z).astype(dtype_of(type_))

    return Operation((type_,) * (3 if instruction.parts[0] == "mad24" else 2), (type_,), compute)


def _quotient(x: Array, y: Array) -> Array:
    """Rounded to zero; by zero all bits are set, which the manual leaves open."""
    divisor = np.where(y == 0, 1, y).astype(y.dtype)
    if x.dtype.kind == "u":
        return np.where(y == 0, np.array(np.iinfo(x.dtype).max, x.dtype), x // divisor)
    floor = x // divisor
    exact = floor + ((floor * divisor != x) & ((x < 0) != (divisor < 0))).astype(x.dtype)
    return np.where(y == 0, x.dtype.type(-1), exact)


def _remainder(x: Array, y: Array) -> Array:
    return np.where(y == 0, x, x - _quotient(x, y) * y)


def _shl(instruction: Instruction) -> Operation:
    type_ = rest_of(instruction)[-1]
    bits = bits_of(type_)

    def compute(x: Array, n: Array) -> Array:
        kept = np.minimum(n, bits - 1).astype(x.dtype)
        return np.where(n >= bits, x.dtype.type(0), x << kept)

    return Operation((type_, "u32"), (type_,), compute)


def _shr(instruction: Instruction) -> Operation:
    type_ = rest_of(instruction)[-1]
    bits, signed = bits_of(type_), is_signed(type_)

    def compute(x: Array, n: Array) -> Array:
        shifted = x >> np.minimum(n, bits - 1).astype(x.dtype)
        return shifted if signed else np.where(n >= bits, x.dtype.type(0), shifted)

    return Operation((type_, "u32"), (type_,), compute)


def _shf(instruction: Instruction) -> Operation:
    way, mode, _ = rest_of(instruction, "l", "r", "wrap", "clamp")

    def compute(low: Array, high: Array, n: Array) -> Array:
        count = (n & 31 if mode == "wrap" else np.minimum(n, 32)).astype(np.uint64)
        whole = low.astype(np.uint64) | high.astype(np.uint64) << np.uint64(32)
        if way == "r":
            return (whole >> count).astype(np.uint32)
        # the upper word of the pair shifted; a shift by 32 gives the lower one
        return np.where(count == 32, low, (whole << count >> np.uint64(32)).astype(np.uint32))

    return Operation(("b32", "b32", "u32"), ("b32",), compute)


def _bfe(instruction: Instruction) -> Operation:
    type_ = rest_of(instruction)[-1]
    bits, signed = bits_of(type_), is_signed(type_)

    def compute(x: Array, position: Array, length: Array) -> Array:
        at, size = (position & 255).astype(np.int64), (length & 255).astype(np.int64)
        unsigned = x.view(f"u{x.dtype.itemsize}").astype(np.uint64)
        field = np.where(at >= bits, 0, unsigned >> np.minimum(at, bits - 1).astype(np.uint64)).astype(
            np.uint64
        )
        kept = np.where(
            size >= 64, ~np.uint64(0), (np.uint64(1) << np.minimum(size, 63).astype(np.uint64)) - np.uint64(1)
        )
        field = field & kept
        if signed:
            last = np.clip(np.minimum(at + size - 1, bits - 1), 0, bits - 1)
            sign = (unsigned >> last.astype(np.uint64)) & np.uint64(1)
            there = np.minimum(size, np.maximum(bits - at, 0))
            above = np.where(
                there >= 64, np.uint64(0), ~np.uint64(0) << np.minimum(there, 63).astype(np.uint64)
            )
            field = np.where((sign == 1) & (size > 0), field | above, field)
        return field.astype(f"u{x.dtype.itemsize}").view(x.dtype)

    return Operation((type_, "u32", "u32"), (type_,), compute)


def _bfi(instruction: Instruction) -> Operation:
    type_ = rest_of(instruction)[-1]
    bits = bits_of(type_)

    def compute(x: Array, into: Array, position: Array, length: Array) -> Array:
        at, size = (position & 255).astype(np.uint64), (length & 255).astype(np.uint64)
        kept = np.where(
            size >= 64, ~np.uint64(0), (np.uint64(1) << np.minimum(size, np.uint64(63))) - np.uint64(1)
        )
        shift = np.minimum(at, np.uint64(63))
        mask = np.where(at >= bits, np.uint64(0), kept << shift)
        made = (into.astype(np.uint64) & ~mask) | (x.astype(np.uint64) << shift & mask)
        return made.astype(x.dtype)

    return Operation((type_, type_, "u32", "u32"), (type_,), compute)


def _prmt(instruction: Instruction) -> Operation:
    mode = instruction.parts[2] if len(instruction.parts) > 2 else ""

    def selectors(c: Array) -> Array:
        if not mode:
            return (c[:, None] >> 4 * np.arange(4, dtype=np.uint32)) & np.uint32(15)
        n = (c & 3).astype(np.int64)[:, None]
        i = np.arange(4)[None, :]
        table = {
            "f4e": n + i, "b4e": (n - i) & 7, "rc8": n + 0 * i, "ecl": np.maximum(n, i), "ecr": np.minimum(n, i),
            "rc16": i % 2 + 2 * (n & 1),
        }  # fmt: skip
        return table[mode]

    def compute(a: Array, b: Array, c: Array) -> Array:
        given = np.ascontiguousarray(np.stack([a, b], axis=1)).view(np.uint8)
        digits = selectors(c)
        found = np.take_along_axis(given, (digits & 7).astype(np.intp), axis=1)
        chosen = np.where(digits & 8, np.where(found >= 128, 255, 0), found).astype(np.uint8)
        return np.ascontiguousarray(chosen).view(np.uint32)[:, 0]

    return Operation(("b32",) * 3, ("b32",), compute)


def _lop3(instruction: Instruction) -> Operation:
    if len(instruction.parts) != 2:
        raise unknown(instruction)

    def compute(a: Array, b: Array, c: Array, table: Array) -> Array:
        made = np.zeros_like(a)
        for i in range(8):
            term = (a if i & 4 else ~a) & (b if i & 2 else ~b) & (c if i & 1 else ~c)
            made |= np.where(table >> np.uint32(i) & np.uint32(1), term, np.uint32(0))
        return made

    return Operation(("b32",) * 4, ("b32",), compute)


def _as_bits(x: Array) -> Array:
    return np.unpackbits(
        np.ascontiguousarray(x).view(np.uint8).reshape(len(x), -1), axis=1, bitorder="little"
    )


def _first_set(rows: Array) -> Array:
    return np.where(rows.any(axis=1), rows.argmax(axis=1), rows.shape[1]).astype(np.uint32)


def _brev(x: Array) -> Array:
    return np.packbits(_as_bits(x)[:, ::-1], axis=1, bitorder="little").view(x.dtype)[:, 0]


def _of_bits(function: Callable[[Array], Array]) -> Meaning:
    return lambda instruction: Operation((rest_of(instruction)[-1],), ("u32",), function)


def _bfind(instruction: Instruction) -> Operation:
    *modifiers, type_ = rest_of(instruction, "shiftamt")

    def compute(x: Array) -> Array:
        rows = _as_bits(np.where(x < 0, ~x, x) if is_signed(type_) else x)
        above = _first_set(rows[:, ::-1])
        top = rows.shape[1]
        place = above if modifiers else np.uint32(top - 1) - above
        return np.where(above == top, np.uint32(0xFFFFFFFF), place).astype(np.uint32)

    return Operation((type_,), ("u32",), compute)


def _dp4a(instruction: Instruction) -> Operation:
    _, a, b = instruction.parts
    narrow = {"u32": np.uint8, "s32": np.int8}

    def compute(x: Array, y: Array, z: Array) -> Array:
        left, right = (
            np.ascontiguousarray(v).view(narrow[t]).reshape(len(v), 4).astype(np.int64)
            for v, t in ((x, a), (y, b))
        )
        return (z.astype(np.int64) + (left * right).sum(axis=1)).astype(np.int64).astype(z.dtype)

    total = "u32" if a == b == "u32" else "s32"
    return Operation((a, b, total), (total,), compute)


# --- comparisons and selections -------------------------------------------------------------------------------

_ORDERED: dict[str, Callable[[Any, Any], Any]] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
    "lo": operator.lt, "ls": operator.le, "hi": operator.gt, "hs": operator.ge,
}  # fmt: skip
_COMBINED: dict[str, Callable[[Any, Any], Any]] = {
    "and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor,
}  # fmt: skip


def compared(how: str, type_: str, x: Array, y: Array) -> Array:
    """``x`` and ``y`` of a scalar type compared, PTX ISA 9.3.1: with NaN only the unordered forms hold, ``ne`` does not."""
    if not is_float(type_):
        return np.asarray(_ORDERED[how](x, y))
    nan = np.isnan(x) | np.isnan(y)
    if how in ("num", "nan"):
        return ~nan if how == "num" else nan
    if how in _ORDERED:
        return np.asarray(_ORDERED[how](x, y)) & ~nan
    return np.asarray(_ORDERED[how.removesuffix("u")](x, y)) | nan


def _values(type_: str, ftz: bool) -> Callable[[Array], Array]:
    from tri_backend_nvidia.text.floats import flushed, numbers

    if not is_float(type_):
        return lambda x: x
    return (lambda x: flushed(numbers(x, type_))) if ftz else (lambda x: numbers(x, type_))


def _setp(instruction: Instruction) -> Operation:
    how, *modifiers, type_ = instruction.parts[1:]
    combine = next((_COMBINED[m] for m in modifiers if m in _COMBINED), None)
    if "x2" in type_:
        return _setp_packed(instruction, how, type_)
    read = _values(type_, "ftz" in modifiers)
    outputs = ("pred",) * instruction.operands[0].count("|") + ("pred",)

    def compute(x: Array, y: Array, *third: Array) -> Any:
        found = compared(how, type_, read(x), read(y))
        both = [found, ~found][: len(outputs)]
        return tuple(np.asarray(combine(each, third[0])) for each in both) if combine else tuple(both)

    return Operation((type_, type_) + (("pred",) if combine else ()), outputs, compute)


def _setp_packed(instruction: Instruction, how: str, type_: str) -> Operation:
    scalar = type_.removesuffix("x2")
    read = _values(scalar, False)

    def compute(x: Array, y: Array) -> Any:
        halves = [[as_type(v >> np.uint32(16 * i), scalar) for i in range(2)] for v in (x, y)]
        return tuple(compared(how, scalar, read(a), read(b)) for a, b in zip(*halves, strict=True))

    return Operation(("b32", "b32"), ("pred", "pred"), compute)


def _set(instruction: Instruction) -> Operation:
    how, *modifiers, result, type_ = instruction.parts[1:]
    combine = next((_COMBINED[m] for m in modifiers if m in _COMBINED), None)
    read = _values(type_, "ftz" in modifiers)
    one: Any = (
        np.float32(1)
        if result == "f32"
        else dtype_of(result).type(-1 if is_signed(result) else ~np.uint32(0))
    )
    if "x2" in type_ or result not in ("f32", "s32", "u32"):
        raise unknown(instruction)

    def compute(x: Array, y: Array, *third: Array) -> Array:
        found = compared(how, type_, read(x), read(y))
        return np.where(combine(found, third[0]) if combine else found, one, one - one)

    return Operation((type_, type_) + (("pred",) if combine else ()), (result,), compute)


def _selp(instruction: Instruction) -> Operation:
    type_ = rest_of(instruction)[-1]
    return Operation((type_, type_, "pred"), (type_,), lambda a, b, p: np.where(p, a, b))


def _slct(instruction: Instruction) -> Operation:
    *_, type_, chooser = rest_of(instruction, "ftz", instruction.parts[-2])
    return Operation((type_, type_, chooser), (type_,), lambda a, b, c: np.where(c >= 0, a, b))


def _not(instruction: Instruction) -> Operation:
    type_ = rest_of(instruction)[-1]
    return Operation((type_,), (type_,), np.invert)


INTEGER: dict[str, Meaning] = {
    "add": _add(operator.add),
    "sub": _add(operator.sub),
    "mul": _mul,
    "mad": _mad,
    "mul24": _mul24,
    "mad24": _mul24,
    "div": _same(_quotient, 2),
    "rem": _same(_remainder, 2),
    "neg": _same(np.negative, 1),
    "abs": _same(np.abs, 1),
    "min": _extreme(np.minimum),
    "max": _extreme(np.maximum),
    "sad": _same(lambda a, b, c: c + np.where(a < b, b - a, a - b), 3),
    "and": _same(np.bitwise_and, 2),
    "or": _same(np.bitwise_or, 2),
    "xor": _same(np.bitwise_xor, 2),
    "not": _not,
    "cnot": _same(lambda x: (x == 0).astype(x.dtype), 1),
    "shl": _shl,
    "shr": _shr,
    "shf": _shf,
    "bfe": _bfe,
    "bfi": _bfi,
    "prmt": _prmt,
    "lop3": _lop3,
    "popc": _of_bits(lambda x: _as_bits(x).sum(axis=1).astype(np.uint32)),
    "clz": _of_bits(lambda x: _first_set(_as_bits(x)[:, ::-1])),
    "brev": _same(_brev, 1),
    "bfind": _bfind,
    "dp4a": _dp4a,
    "setp": _setp,
    "set": _set,
    "selp": _selp,
    "slct": _slct,
}
