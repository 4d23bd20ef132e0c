"""exp and exp2."""

from __future__ import annotations

from tri_backend_cpu.vector_math.number import Float, polynomial
from tri_core.lazy_dataclasses import dataclass

__all__ = ["exp", "exp2"]

LOG2_E = 1.4426950408889634


@dataclass(frozen=True)
class _Format:
    """Constants of one float type.

    ``low`` and ``high``: beyond them exp is 0 and infinity.  ``ln2_high + ln2_low`` is ln 2.
    ``exp``: e**r = 1 + r + r**2 * P(r) for abs(r) <= ln(2)/2.
    """

    mantissa: int
    bias: int
    low: float
    high: float
    ln2_high: float
    ln2_low: float
    exp: tuple[float, ...]

    @property
    def magic(self) -> float:
        """A number whose last place is 1: adding it rounds to an integer, found in the low bits of the sum.

        Twice the exponent's bias is added: half of that integer is the biased exponent of ``2**(n/2)``.
        """
        return 1.5 * 2.0**self.mantissa + 2 * self.bias


_FORMATS = {
    32: _Format(
        mantissa=23,
        bias=127,
        low=-104.0,
        high=89.0,
        ln2_high=0.693145751953125,
        ln2_low=1.428606765330187e-06,
        exp=(
            0.4999999403953552,
            0.1666651964187622,
            0.04166839271783829,
            0.008368780836462975,
            0.001381446374580264,
        ),
    ),
    64: _Format(
        mantissa=52,
        bias=1023,
        low=-746.0,
        high=710.0,
        ln2_high=0.6931471803691238,
        ln2_low=1.9082149292705877e-10,
        exp=(
            0.5000000000000011,
            0.1666666666666641,
            0.04166666666652919,
            0.008333333333495627,
            0.0013888888943922354,
            0.00019841269504757028,
            2.480149276304451e-05,
            2.7557587351524052e-06,
            2.763037854733216e-07,
            2.4999961935536558e-08,
        ),
    ),
}

#: 2**r = 1 + r * P(r) for abs(r) <= 1/2, in f32
_EXP2_F32 = (
    0.6931471824645996,
    0.24022647738456726,
    0.05550331994891167,
    0.00961843878030777,
    0.0013399003073573112,
    0.00015353263006545603,
)


def exp(x: Float) -> Float:
    """e**x: ``x = n ln 2 + r``, so e**x is ``2**n e**r``."""
    f = _FORMATS[x.dtype.bits]
    x = x.at_most(f.high).at_least(f.low)
    shifted = x.fma(LOG2_E, f.magic)
    n = shifted - f.magic
    r = n.fma(-f.ln2_low, n.fma(-f.ln2_high, x))
    return _scale(_exp_reduced(r, f), shifted, f)


def exp2(x: Float) -> Float:
    """2**x: the integer part of x goes to the exponent."""
    f = _FORMATS[x.dtype.bits]
    x = x.at_most(f.high * LOG2_E).at_least(f.low * LOG2_E)
    shifted = x + f.magic
    r = x - (shifted - f.magic)
    if x.dtype.bits == 32:
        return _scale(polynomial(r, _EXP2_F32).fma(r, 1.0), shifted, f)
    return _scale(_exp_reduced(r * 0.6931471805599453, f), shifted, f)


def _exp_reduced(r: Float, f: _Format) -> Float:
    return (r * r).fma(polynomial(r, f.exp), r) + 1.0


def _scale(x: Float, shifted: Float, f: _Format) -> Float:
    """``x * 2**n``, n being in the low bits of ``shifted``.

    In two steps, since ``2**n`` alone may overflow or be subnormal; by multiplication, so that NaN stays.
    """
    n = shifted.bits()
    half = n.shift_right_logical(1)
    first = (half << f.mantissa).as_float(x.dtype)
    second = ((n - half) << f.mantissa).as_float(x.dtype)
    return x * first * second
