"""Integer ops on NumPy: two's complement, signedness chosen by the op, wrap-around kept track of."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tri.interpreter.arrays import Array, Data, unsigned, wide
from tri.interpreter.calls import Call, Rule

__all__ = ["INTEGERS", "RULES"]

_Binary = Callable[[Data, Data], Data]

#: names of arith.addi and its like for int1, whose sums are modulo 2
_BOOLEAN: dict[str, _Binary] = {
    "arith.addi": np.logical_xor, "arith.subi": np.logical_xor, "arith.muli": np.logical_and,
}  # fmt: skip
_EXACT: dict[str, _Binary] = {
    "arith.addi": np.add, "arith.subi": np.subtract, "arith.muli": np.multiply,
    "arith.minsi": np.minimum, "arith.maxsi": np.maximum,
}  # fmt: skip


def _tracked(call: Call) -> Array:
    """An op that addresses are computed with: what it would be without wrap-around is kept where it differs."""
    function = _EXACT[call.name]
    x, y = call.operands
    if x.data.dtype == np.bool_:
        return Array(np.asarray(_BOOLEAN.get(call.name, function)(x.data, y.data)))
    data = np.asarray(function(x.data, y.data))
    origin = x.origin or y.origin
    if data.dtype.itemsize == 8:
        if x.exact is None and y.exact is None:
            return Array(data)
        return Array(data, np.asarray(function(wide(x, signed=True), wide(y, signed=True))), origin)
    signed = call.result.scalar.is_int_signed()
    exact = np.asarray(function(wide(x, signed=signed), wide(y, signed=signed)))
    if bool((exact == (data if signed else unsigned(data))).all()):
        return Array(data)
    return Array(data, exact, origin or call.machine.here())


def _extend(call: Call) -> Array:
    (x,) = call.operands
    data = x.data if call.name == "arith.extsi" else unsigned(x.data)
    if call.name == "arith.extsi" and data.dtype == np.bool_:
        data = -data.astype(np.int8)
    return Array(data.astype(call.dtype), x.exact, x.origin)


def _quotient(x: Data, y: Data) -> Data:
    floor = np.floor_divide(x, y)
    up = (np.remainder(x, y) != 0) & ((x < 0) != (y < 0))
    return np.asarray(floor + up.astype(floor.dtype))


def _by_unsigned(function: _Binary) -> _Binary:
    def apply(x: Data, y: Data) -> Data:
        made = np.asarray(function(unsigned(x), unsigned(y)))
        return made if made.dtype == np.bool_ else made.view(x.dtype)

    return apply


def _shift(function: _Binary, *, keep_sign: bool = False) -> _Binary:
    """A shift by too many places leaves no bits, of an arithmetic one only the sign."""

    def apply(x: Data, y: Data) -> Data:
        bits = 8 * x.dtype.itemsize
        places = unsigned(y)
        inside = places < bits
        shifted = function(x, np.minimum(places, bits - 1).astype(x.dtype))
        return np.asarray(shifted if keep_sign else np.where(inside, shifted, np.zeros((), shifted.dtype)))

    return apply


def high_product(x: Data, y: Data) -> Data:
    """The high half of the unsigned product of 32- or 64-bit integers."""
    a, b = unsigned(x), unsigned(y)
    if x.dtype.itemsize == 4:
        product = a.astype(np.uint64) * b.astype(np.uint64)
        return np.asarray((product >> np.uint64(32)).astype(np.uint32)).view(np.int32)
    half, mask = np.uint64(32), np.uint64(0xFFFFFFFF)
    low = (a & mask) * (b & mask)
    first = (a >> half) * (b & mask) + (low >> half)
    second = (a & mask) * (b >> half) + (first & mask)
    return np.asarray((a >> half) * (b >> half) + (first >> half) + (second >> half)).view(np.int64)


def _count_leading(x: Data) -> Data:
    bits = 8 * x.dtype.itemsize
    lengths = [bits - int(v).bit_length() for v in unsigned(x).ravel()]
    return np.array(lengths, x.dtype).reshape(x.shape)


def _count_trailing(x: Data) -> Data:
    bits = 8 * x.dtype.itemsize
    places = [(int(v) & -int(v)).bit_length() - 1 if v else bits for v in unsigned(x).ravel()]
    return np.array(places, x.dtype).reshape(x.shape)


def _count_ones(x: Data) -> Data:
    return np.array([int(v).bit_count() for v in unsigned(x).ravel()], x.dtype).reshape(x.shape)


#: ops whose result follows from the elements alone
INTEGERS: dict[str, Callable[..., Data]] = {
    "arith.divsi": _quotient,
    "arith.divui": _by_unsigned(np.floor_divide),
    "arith.remsi": np.fmod,
    "arith.remui": _by_unsigned(np.remainder),
    "arith.andi": np.bitwise_and,
    "arith.ori": np.bitwise_or,
    "arith.xori": np.bitwise_xor,
    "arith.shli": _shift(np.left_shift),
    "arith.shrsi": _shift(np.right_shift, keep_sign=True),
    "arith.shrui": _shift(_by_unsigned(np.right_shift)),
    "arith.minui": _by_unsigned(np.minimum),
    "arith.maxui": _by_unsigned(np.maximum),
    "math.absi": np.abs,
    "math.ctlz": _count_leading,
    "math.cttz": _count_trailing,
    "math.ctpop": _count_ones,
    "tt.mulhiui": high_product,
}

_COMPARISONS: tuple[_Binary, ...] = (
    np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal,
)  # fmt: skip


def _compare(call: Call) -> Array:
    x, y = (v.data for v in call.operands)
    predicate = call.attributes["predicate"]
    if predicate >= 6:  # the unsigned ones follow the signed ones
        return Array(np.asarray(_COMPARISONS[predicate - 4](unsigned(x), unsigned(y))))
    if x.dtype == np.bool_ and predicate >= 2:  # a signed 1-bit integer counts from -1 to 0
        x, y = y, x
    return Array(np.asarray(_COMPARISONS[predicate](x, y)))


RULES: dict[str, Rule] = {
    **dict.fromkeys(_EXACT, _tracked),
    "arith.extsi": _extend,
    "arith.extui": _extend,
    "arith.trunci": lambda call: Array(_truncate(call.operands[0].data, call)),
    "arith.cmpi": _compare,
}


def _truncate(data: Data, call: Call) -> Data:
    return data & 1 != 0 if call.dtype == np.bool_ else data.astype(call.dtype)
