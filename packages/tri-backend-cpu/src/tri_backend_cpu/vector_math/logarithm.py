"""log and log2."""

from __future__ import annotations

from tri_backend_cpu.builder import F64, width_of
from tri_backend_cpu.vector_math.number import Float, polynomial
from tri_core.lazy_dataclasses import dataclass
from tri_core.ttir.types import DType

__all__ = ["log", "log2"]

#: log(1 + f) = f - f**2/2 + f**3 * P(f) for 1 + f in [sqrt(1/2), sqrt(2)], in f32
_LOG1P_F32 = (
    0.3333331346511841,
    -0.25000008940696716,
    0.2000211924314499,
    -0.16667994856834412,
    0.14219553768634796,
    -0.12405595183372498,
    0.11888160556554794,
    -0.1167561411857605,
    0.06746598333120346,
)
#: 2 atanh(s) = 2 s + s**3 * P(s**2) for s = f / (2 + f), the same f, in f64
_ATANH_F64 = (
    0.6666666666666735,
    0.3999999999941109,
    0.28571428743262356,
    0.22222198476039906,
    0.18183569736217672,
    0.15313903354342304,
    0.14797506507064906,
)


@dataclass(frozen=True)
class _Format:
    mantissa: int
    #: bits of sqrt(1/2)
    root_half: int
    smallest_normal: float
    ln2_high: float
    ln2_low: float


_FORMATS = {
    32: _Format(23, 0x3F3504F3, 2.0**-126, 0.693145751953125, 1.428606765330187e-06),
    64: _Format(52, 0x3FE6A09E667F3BCD, 2.0**-1022, 0.6931471803691238, 1.9082149292705877e-10),
}


def log(x: Float) -> Float:
    """The natural logarithm: ``x = 2**k (1 + f)``, so it is ``k ln 2 + log(1 + f)``."""
    f = _FORMATS[x.dtype.bits]
    k, fraction = _split(x, f)
    square = fraction * fraction * 0.5
    if x.dtype.bits == 32:
        rest = fraction * (square + square) * polynomial(fraction, _LOG1P_F32)
    else:
        s = fraction / (fraction + 2.0)
        z = s * s
        rest = s * (square + z * polynomial(z, _ATANH_F64))
    small = fraction - (square - k.fma(f.ln2_low, rest))
    return _special(x, k.fma(f.ln2_high, small))


def log2(x: Float) -> Float:
    """The logarithm to base 2, computed in f64: exact for powers of two."""
    wide = _converted(x, F64)
    f = _FORMATS[64]
    k, fraction = _split(wide, f)
    square = fraction * fraction * 0.5
    s = fraction / (fraction + 2.0)
    z = s * s
    small = fraction - (square - s * (square + z * polynomial(z, _ATANH_F64)))
    return _converted(_special(wide, small.fma(1.4426950408889634, k)), x.dtype)


def _split(x: Float, f: _Format) -> tuple[Float, Float]:
    """k and f of ``x = 2**k (1 + f)``, for positive finite x; k as a float."""
    tiny = x < f.smallest_normal
    scaled = tiny.choose(x * 2.0 ** (f.mantissa + 1), x)
    bits = scaled.bits()
    k = (bits - f.root_half) >> f.mantissa
    fraction = (bits - (k << f.mantissa)).as_float(x.dtype) - 1.0
    exponent = k.to_float(x.dtype)
    return tiny.choose(exponent - float(f.mantissa + 1), exponent), fraction


def _special(x: Float, result: Float) -> Float:
    """Zero, negative numbers, infinity and NaN put right."""
    infinity = float("inf")
    result = (x < infinity).choose(result, x)
    result = (x < 0.0).choose(x.lift(float("nan")), result)
    return x.equals(0.0).choose(x.lift(-infinity), result)


def _converted(x: Float, dtype: DType) -> Float:
    if x.dtype == dtype:
        return x
    name = "arith.extf" if dtype.bits > x.dtype.bits else "arith.truncf"
    return Float(x.b, x.b.op(name, x.b.type(dtype, width_of(x.value)), x.value), dtype)
