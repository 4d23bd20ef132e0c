"""Floating-point instructions: exact, rounded once, in any rounding mode; approximate ones in double precision, rounded.

PTX ISA 8.7, 9.7.3 to 9.7.5.  A float of 16 bits computes in double precision: values of bf16 are arrays of f32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tri_backend_nvidia.text.operation import Meaning, Operation, unknown
from tri_backend_nvidia.text.rounding import FORMATS, odd_sum, rounded
from tri_backend_nvidia.text.syntax import Instruction
from tri_backend_nvidia.text.values import Array
from tri_runtime.simulator.fused import fma_f64

__all__ = ["FLOATS", "encoded", "flushed", "numbers"]

_ROUNDINGS = ("rn", "rz", "rm", "rp", "rna")
_SMALLEST = np.float32(2.0**-126)


def flushed(values: Array) -> Array:
    """Zeros of the same sign for subnormal numbers of f32."""
    return np.where(np.abs(values) < _SMALLEST, np.copysign(values.dtype.type(0), values), values)


def numbers(values: Array, type_: str) -> Array:
    """Values of a scalar type as floats of NumPy: bf16 is given as bits and becomes f32."""
    if type_ == "bf16":
        return (values.view(np.uint16).astype(np.uint32) << np.uint32(16)).view(np.float32)
    return values


def encoded(values: Array, type_: str, mode: str = "rn") -> Array:
    """Doubles rounded to a scalar type, as its dtype; bf16 as bits.  NaN has the bits that hardware gives."""
    if type_ == "f64":
        return values
    if type_ == "bf16":
        return rounded(values, FORMATS["bf16"], mode)
    bits = rounded(values, FORMATS[type_], mode)
    return bits.view(np.float16 if type_ == "f16" else np.float32)


def _halves(word: Array, type_: str) -> list[Array]:
    found = np.ascontiguousarray(word).view(np.uint16 if type_ == "bf16" else np.float16).reshape(-1, 2)
    return [numbers(np.ascontiguousarray(found[:, i]), type_) for i in range(2)]


def _packed(parts: Sequence[Array]) -> Array:
    low, high = (np.ascontiguousarray(part).view(np.uint16).astype(np.uint32) for part in parts)
    return low | high << np.uint32(16)


#: of arrays of doubles (f32 and below exactly), and whether the type is f64, to doubles that rounding once more does not spoil
Exact = Callable[..., Array]


def _float(exact: Exact, count: int, *, signs: Callable[..., Array] | None = None) -> Meaning:
    """An arithmetic instruction on ``count`` operands, of every type of floats, in the rounding mode that it names."""

    def decode(instruction: Instruction) -> Operation:
        *modifiers, type_ = instruction.parts[1:]
        if left := set(modifiers) - {*_ROUNDINGS, "ftz", "sat", "relu", "approx", "full"}:
            raise unknown(instruction, f".{min(left)}")
        mode = next((m for m in modifiers if m in _ROUNDINGS), "rn")
        scalar = type_.removesuffix("x2")
        if type_ == "f64" and mode != "rn":
            raise unknown(instruction, "f64 in this rounding mode")

        def one(*operands: Array) -> Array:
            given = [flushed(v) if "ftz" in modifiers and scalar == "f32" else v for v in operands]
            with np.errstate(all="ignore"):
                made = exact(mode, *[v.astype(np.float64) for v in given])
                if "relu" in modifiers:
                    made = np.where(np.isnan(made), made, np.maximum(made, 0.0))
                if "sat" in modifiers:
                    made = np.where(np.isnan(made), 0.0, np.clip(made, 0.0, 1.0)) + 0.0
                found = encoded(made, scalar, mode)
            return flushed(found) if "ftz" in modifiers and scalar == "f32" else found

        return Operation((type_,) * count, (type_,), _over(one, type_))

    return decode


def _over(one: Callable[..., Array], type_: str) -> Callable[..., Array]:
    """``one`` of values, on registers of ``type_``: both halves of packed ones."""
    scalar = type_.removesuffix("x2")
    if scalar != type_:
        return lambda *words: _packed(
            [one(*part) for part in zip(*(_halves(w, scalar) for w in words), strict=True)]
        )
    if scalar == "bf16":
        return lambda *given: one(*(numbers(v, "bf16") for v in given))
    return one


def _sum(mode: str, x: Array, y: Array) -> Array:
    """To odd, so that rounding to f32 or less in any mode is exact; f64 itself rounds as NumPy does."""
    return _zero_sum(mode, odd_sum(x, y), x, y)


def _zero_sum(mode: str, made: Array, x: Array, y: Array) -> Array:
    """Sums of zero have the sign of the rounding mode."""
    if mode != "rm":
        return made
    negative = (made == 0) & ~((x == 0) & (y == 0) & ~np.signbit(x) & ~np.signbit(y))
    return np.where(negative, -0.0, made)


def _sum_f64(mode: str, x: Array, y: Array) -> Array:
    return x + y


def _fma(mode: str, x: Array, y: Array, z: Array) -> Array:
    """Products of f32 are exact in double precision."""
    product = x * y
    return _zero_sum(mode, odd_sum(product, z), product, z)


def _by_width(narrow: Meaning, wide: Meaning) -> Meaning:
    return lambda instruction: (wide if instruction.parts[-1] == "f64" else narrow)(instruction)


def _root(mode: str, x: Array) -> Array:
    return _to_odd(np.sqrt(x), lambda r: -fma_f64(r, r, -x), mode)


def _quotient(mode: str, x: Array, y: Array) -> Array:
    made = x / y
    return _to_odd(made, lambda q: -fma_f64(q, y, -x) * np.sign(y), mode)


def _to_odd(made: Array, error: Callable[[Array], Array], mode: str) -> Array:
    """``made`` as it is for rounding to nearest (53 bits are more than twice 24 and two); else rounded to odd."""
    if mode == "rn":
        return made
    rest = np.where(np.isfinite(made), error(made), 0.0)
    bits = made.view(np.int64)
    step = np.where((rest > 0) == (made > 0), 1, -1)
    return np.where((rest != 0) & (bits & 1 == 0), bits + step, bits).view(np.float64)


def _sub(exact: Exact) -> Exact:
    return lambda mode, x, y: exact(mode, x, -y)


def _extreme(pick: Callable[[Array, Array], Array], negative_first: bool) -> Meaning:
    def decode(instruction: Instruction) -> Operation:
        *modifiers, type_ = instruction.parts[1:]
        if left := set(modifiers) - {"ftz", "NaN", "xorsign", "abs"}:
            raise unknown(instruction, f".{min(left)}")
        if "xorsign" in modifiers:
            raise unknown(instruction, ".xorsign")
        scalar = type_.removesuffix("x2")

        def one(*operands: Array) -> Array:
            given = [flushed(v) if "ftz" in modifiers and scalar == "f32" else v for v in operands]
            made = given[0]
            for other in given[1:]:
                made = _picked(pick, negative_first, "NaN" in modifiers, made, other)
            return encoded(made.astype(np.float64), scalar)

        return Operation((type_,) * (len(instruction.operands) - 1), (type_,), _over(one, type_))

    return decode


def _picked(
    pick: Callable[[Array, Array], Array], negative_first: bool, keeps_nan: bool, x: Array, y: Array
) -> Array:
    made = pick(x, y)
    zeros = (x == 0) & (y == 0)
    minus = (np.signbit(x) | np.signbit(y)) if negative_first else (np.signbit(x) & np.signbit(y))
    made = np.where(zeros, np.where(minus, made.dtype.type(-0.0), made.dtype.type(0.0)), made)
    return np.where(np.isnan(x) | np.isnan(y), made.dtype.type(np.nan), made) if keeps_nan else made


def _sign(change: Callable[[Array, int], Array]) -> Meaning:
    """``neg`` and ``abs``: bits alone."""

    def decode(instruction: Instruction) -> Operation:
        *modifiers, type_ = instruction.parts[1:]
        bits = 16 if type_ in ("f16", "bf16") else 64 if type_ == "f64" else 32
        mask = 0x80008000 if "x2" in type_ else 1 << bits - 1

        def compute(x: Array) -> Array:
            word = x.view(np.float32) if bits == 32 else x
            if "ftz" in modifiers and type_ == "f32":
                word = flushed(word)
            return change(np.ascontiguousarray(word).view(f"u{bits // 8}"), mask)

        return Operation((f"b{bits}",), (f"b{bits}",), compute)

    return decode


#: approximate functions: exact here but for one rounding; hardware's errors are a few units in the last place (PTX ISA 9.7.3)
_FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "ex2": np.exp2,
    "lg2": np.log2,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "rcp": lambda x: 1 / x,
    "rsqrt": lambda x: 1 / np.sqrt(x),
}


def _function(name: str) -> Meaning:
    return _float(lambda mode, x: _FUNCTIONS[name](x), 1)


def _rcp(instruction: Instruction) -> Operation:
    if "approx" in instruction.parts and instruction.parts[-1] == "f64":
        return _function("rcp")(instruction)
    return _float(lambda mode, x: _quotient(mode, np.ones_like(x), x), 1)(instruction)


def _copysign(instruction: Instruction) -> Operation:
    type_ = instruction.parts[-1]
    return Operation((type_, type_), (type_,), lambda a, b: np.copysign(b, a))


def _testp(instruction: Instruction) -> Operation:
    how, type_ = instruction.parts[1:]
    smallest = {"f32": 2.0**-126, "f64": 2.0**-1022}[type_]
    tests: dict[str, Callable[[Array], Array]] = {
        "finite": np.isfinite,
        "infinite": np.isinf,
        "number": lambda x: ~np.isnan(x),
        "notanumber": np.isnan,
        "normal": lambda x: np.isfinite(x) & (np.abs(x) >= smallest),
        "subnormal": lambda x: (np.abs(x) < smallest) & (x != 0),
    }
    return Operation((type_,), ("pred",), tests[how])


def _fma_f64(mode: str, x: Array, y: Array, z: Array) -> Array:
    return fma_f64(x, y, z)


_FUSED = _by_width(_float(_fma, 3), _float(_fma_f64, 3))
FLOATS: dict[str, Meaning] = {
    "add": _by_width(_float(_sum, 2), _float(_sum_f64, 2)),
    "sub": _by_width(_float(_sub(_sum), 2), _float(_sub(_sum_f64), 2)),
    "mul": _float(lambda mode, x, y: x * y, 2),
    "fma": _FUSED,
    "mad": _FUSED,
    "div": _float(_quotient, 2),
    "min": _extreme(np.fmin, True),
    "max": _extreme(np.fmax, False),
    "neg": _sign(lambda word, mask: word ^ word.dtype.type(mask)),
    "abs": _sign(lambda word, mask: word & ~word.dtype.type(mask)),
    "sqrt": _float(_root, 1),
    "rcp": _rcp,
    **{name: _function(name) for name in _FUNCTIONS if name != "rcp"},
    "copysign": _copysign,
    "testp": _testp,
}
