"""sin and cos: reduction by pi/2, then one of two polynomials."""

from __future__ import annotations

from collections.abc import Callable

from tri_backend_cpu.builder import F32, F64, I1, width_of
from tri_backend_cpu.vector_math.libm import per_lane
from tri_backend_cpu.vector_math.number import Float, Int, polynomial

__all__ = ["cos", "sin"]

TWO_OVER_PI = 0.6366197723675814
#: pi/2 as a sum of three f64
_PI_2 = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33)
#: beyond these magnitudes the reduction loses bits
_LIMIT = {32: 1e8, 64: float(1 << 25)}

#: sin(r) = r + r z S(z) and cos(r) = 1 - z/2 + z**2 C(z) with z = r**2, for abs(r) <= pi/4
_SIN = {
    32: (-0.1666666716337204, 0.008333329111337662, -0.0001983930415008217, 2.718046516747563e-06),
    64: (
        -0.16666666666666666,
        0.008333333333333323,
        -0.0001984126984125465,
        2.7557319213985017e-06,
        -2.5052104860747233e-08,
        1.6058360437145873e-10,
        -7.578403163179699e-13,
    ),
}
_COS = {
    32: (0.04166664555668831, -0.0013887309469282627, 2.443241282890085e-05),
    64: (
        0.041666666666666664,
        -0.0013888888888888872,
        2.480158730157038e-05,
        -2.75573192149269e-07,
        2.08767542706877e-09,
        -1.1470282983440284e-11,
        4.7376668309566156e-14,
    ),
}


def sin(x: Float) -> Float:
    """The sine; arguments too large for the reduction go to the C library."""
    return _unless_large(x, "sin", lambda: x.equals(0.0).choose(x, _circular(x, 0)))


def cos(x: Float) -> Float:
    """The cosine; arguments too large for the reduction go to the C library."""
    return _unless_large(x, "cos", lambda: _circular(x, 1))


def _circular(x: Float, quarter_turns: int) -> Float:
    """sin(x + quarter_turns * pi/2)."""
    r, n = _reduce(x)
    n = n + quarter_turns
    z = r * r
    sine = (r * z).fma(polynomial(z, _SIN[x.dtype.bits]), r)
    cosine = z.fma(polynomial(z, (-0.5, *_COS[x.dtype.bits])), 1.0)
    result = (n & 1).equals(0).choose(sine, cosine)
    sign = (n & 2) << (x.dtype.bits - 2)
    return (result.bits() ^ sign).as_float(x.dtype)


def _reduce(x: Float) -> tuple[Float, Int]:
    """r and n of ``x = n pi/2 + r``, abs(r) <= pi/4: in f64, which is exact enough for f32."""
    b, width = x.b, width_of(x.value)
    wide = x if x.dtype == F64 else Float(b, b.op("arith.extf", b.type(F64, width), x.value), F64)
    magic = 1.5 * 2.0**52
    shifted = wide.fma(TWO_OVER_PI, magic)
    n = shifted - magic
    r = n.fma(-_PI_2[1], n.fma(-_PI_2[0], wide))
    if x.dtype == F64:
        return n.fma(-_PI_2[2], r), shifted.bits()
    count = b.op("arith.trunci", b.type(x.integer, width), shifted.bits().value)
    return Float(b, b.op("arith.truncf", b.type(F32, width), r.value), F32), Int(b, count, x.integer)


def _unless_large(x: Float, name: str, compute: Callable[[], Float]) -> Float:
    """``compute()``, but in lanes with a large argument the C library's function ``name``."""
    b = x.b
    result = compute()
    large = x.abs() > _LIMIT[x.dtype.bits]
    some = large.value
    if width_of(some):
        some = b.op("llvm.intr.vector.reduce.or", b.type(I1), some)
    branch, yes, no = b.branch(some, [x.value.type])
    with b.inside(yes):
        b.yield_(b.select(large.value, per_lane(b, name, x.dtype, x.value), result.value))
    with b.inside(no):
        b.yield_(result.value)
    return Float(b, branch.result, x.dtype)
