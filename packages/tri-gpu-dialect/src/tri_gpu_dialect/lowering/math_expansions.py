"""Math functions of f32 for targets that have none: plain arithmetic, within 2 ulp, by function name.

Arguments are reduced exactly or in two pieces, a short polynomial does the rest, and powers of two are
applied as bit patterns.  Polynomials are minimax fits made for this file in 40-digit arithmetic; the error
of each is below 2**-27 relative to the function.  Infinities, NaN and denormals come out as IEEE 754 and
C's ``math.h`` have them (denormals as far as the target does not flush them).  No step converts a float
that may be out of range to an integer.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from tri_core.mlir import ir
from tri_gpu_dialect.lowering import trigonometry
from tri_gpu_dialect.lowering.builder import Builder
from tri_gpu_dialect.lowering.polynomials import (
    horner,
    nearest_integer,
    scale_by_power_of_two,
    split_double,
    with_sign_of,
)

__all__ = ["EXPANSIONS"]

_LN2_HIGH, _LN2_LOW = 0.693145751953125, math.log(2) - 0.693145751953125  # the high part has 16 bits
_LOG2E_HIGH, _LOG2E_LOW = split_double(math.log2(math.e))
_LOG10E_HIGH, _LOG10E_LOW = split_double(math.log10(math.e))
_LOG10_2_HIGH, _LOG10_2_LOW = 0.301025390625, math.log10(2) - 0.301025390625

_EXP = (
    0.5,
    0.1666666716337204,
    0.04166625440120697,
    0.008333262987434864,
    0.0013947212137281895,
    0.0001991936151171103,
)
_EXP2 = (0.6931471824645996, 0.24022650718688965, 0.05550410971045494, 0.009618036448955536, 0.0013333430979400873,
         0.0001546710991533473, 1.531494672235567e-05)  # fmt: skip
_LOG1P = (0.3333331346511841, -0.25000008940696716, 0.2000211924314499, -0.1666799634695053, 0.14219550788402557,
          -0.12405591458082199, 0.11888174712657928, -0.11675640940666199, 0.06746601313352585)  # fmt: skip
_TANH = (-0.3333333134651184, 0.13333210349082947, -0.05394720286130905, 0.021702967584133148, -0.008182673715054989,
         0.0021475369576364756)  # fmt: skip
_ERF = (-0.37612637877464294, 0.11283782869577408, -0.02686544507741928, 0.005221074912697077, -0.00084847112884745,
        0.00011270544928265736, -9.680137736722827e-06)  # fmt: skip
_LOG_ERFC = (0.00017055202624760568, -1.1294951438903809, -0.6333866715431213, -0.10823661834001541, 0.025091497227549553,
             -0.004160527139902115, 0.0004323030007071793, -2.0909556042170152e-05)  # fmt: skip


# --- exponentials -----------------------------------------------------------------------------------------


def _clamped(b: Builder, x: ir.Value, low: float, high: float) -> ir.Value:
    """``x`` within bounds beyond which the function is constant; NaN becomes a bound."""
    inside = b.select(b.fcmp("ogt", x, b.float_(low)), x, b.float_(low))
    return b.select(b.fcmp("olt", inside, b.float_(high)), inside, b.float_(high))


def _keep_nan(b: Builder, x: ir.Value, result: ir.Value) -> ir.Value:
    return b.select(b.fcmp("uno", x, x), x, result)


def _reduce_exp(b: Builder, x: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value]:
    """``x = n ln 2 + r``: n as i32 and as f32, and r."""
    n, count = nearest_integer(b, b.fmul(x, b.float_(math.log2(math.e))))
    r = b.fma(n, b.float_(-_LN2_HIGH), x)
    return count, n, b.fma(n, b.float_(-_LN2_LOW), r)


def _expm1_reduced(b: Builder, r: ir.Value) -> ir.Value:
    """``exp(r) - 1`` for ``|r| <= ln 2 / 2``."""
    return b.fma(b.fmul(r, r), horner(b, r, _EXP), r)


def exp(b: Builder, x: ir.Value) -> ir.Value:
    """e to the x."""
    count, _, r = _reduce_exp(b, _clamped(b, x, -104.0, 89.0))
    power = b.fadd(_expm1_reduced(b, r), b.float_(1.0))
    return _keep_nan(b, x, scale_by_power_of_two(b, power, count))


def exp2(b: Builder, x: ir.Value) -> ir.Value:
    """2 to the x."""
    inside = _clamped(b, x, -151.0, 129.0)
    n, count = nearest_integer(b, inside)
    power = _exp2_reduced(b, b.fsub(inside, n))
    return _keep_nan(b, x, scale_by_power_of_two(b, power, count))


def _exp2_reduced(b: Builder, r: ir.Value) -> ir.Value:
    return b.fma(r, horner(b, r, _EXP2), b.float_(1.0))


def expm1(b: Builder, x: ir.Value) -> ir.Value:
    """``exp(x) - 1``, exact for small x: ``2**n expm1(r) + (2**n - 1)``, of half the size so as not to overflow."""
    count, _, r = _reduce_exp(b, _clamped(b, x, -20.0, 89.0))
    half = scale_by_power_of_two(b, b.float_(0.5), count)
    less = b.fsub(half, b.float_(0.5))
    result = b.fmul(b.fma(_expm1_reduced(b, r), half, less), b.float_(2.0))
    tiny = b.fcmp("olt", b.op("llvm.intr.fabs", (x,), b.f32), b.float_(2.0**-25))
    return _keep_nan(b, x, b.select(tiny, x, result))


# --- logarithms -------------------------------------------------------------------------------------------


def _split_log(b: Builder, x: ir.Value) -> tuple[ir.Value, ir.Value]:
    """``x = 2**k (1 + f)`` with 1 + f between sqrt(1/2) and sqrt(2): k as f32, and f; for positive finite x."""
    denormal = b.fcmp("olt", x, b.float_(2.0**-126))
    normal = b.select(denormal, b.fmul(x, b.float_(2.0**24)), x)
    root_half = 0x3F3504F3
    shifted = b.sub(b.bitcast(normal, b.i32), b.int_(root_half))
    exponent = b.sub(b.ashr(shifted, 23), b.select(denormal, b.int_(24), b.int_(0)))
    mantissa = b.add(b.and_(shifted, b.int_(0x7FFFFF)), b.int_(root_half))
    f = b.fsub(b.bitcast(mantissa, b.f32), b.float_(1.0))
    return b.op("llvm.sitofp", (exponent,), b.f32), f


def _log1p_tail(b: Builder, f: ir.Value) -> ir.Value:
    """``log(1 + f) - f`` for f as :func:`_split_log` gives it."""
    square = b.fmul(f, f)
    return b.fma(b.fmul(square, f), horner(b, f, _LOG1P), b.fmul(square, b.float_(-0.5)))


def _special_log(b: Builder, x: ir.Value, result: ir.Value) -> ir.Value:
    """Logarithms of 0 and infinity, negative numbers and NaN."""
    infinity, nan = b.float_(math.inf), b.float_(math.nan)
    result = b.select(b.fcmp("oeq", x, infinity), infinity, result)
    result = b.select(b.fcmp("oeq", x, b.float_(0.0)), b.float_(-math.inf), result)
    return b.select(b.fcmp("ult", x, b.float_(0.0)), nan, result)


def log(b: Builder, x: ir.Value) -> ir.Value:
    """The natural logarithm."""
    k, f = _split_log(b, x)
    tail = b.fma(k, b.float_(_LN2_LOW), _log1p_tail(b, f))
    return _special_log(b, x, b.fma(k, b.float_(_LN2_HIGH), b.fadd(f, tail)))


def _scaled_log(
    b: Builder, x: ir.Value, high: float, low: float, two_high: float, two_low: float
) -> ir.Value:
    """``log(x)`` times a constant in two pieces, of which ``two`` is the value at 2."""
    k, f = _split_log(b, x)
    tail = _log1p_tail(b, f)
    total = b.fadd(f, tail)
    # what the sum f + tail has lost
    lost = b.fsub(tail, b.fsub(total, f))
    small = b.fma(total, b.float_(low), b.fmul(lost, b.float_(high)))
    small = b.fma(k, b.float_(two_low), small)
    product = b.fmul(total, b.float_(high))
    small = b.fadd(small, b.fma(total, b.float_(high), b.fneg(product)))
    whole = b.fmul(k, b.float_(two_high))
    sum_ = b.fadd(whole, product)
    rest = b.fsub(product, b.fsub(sum_, whole))
    return _special_log(b, x, b.fadd(sum_, b.fadd(rest, small)))


def log2(b: Builder, x: ir.Value) -> ir.Value:
    """The logarithm to base 2, exact for powers of 2."""
    return _scaled_log(b, x, _LOG2E_HIGH, _LOG2E_LOW, 1.0, 0.0)


def log10(b: Builder, x: ir.Value) -> ir.Value:
    """The logarithm to base 10."""
    return _scaled_log(b, x, _LOG10E_HIGH, _LOG10E_LOW, _LOG10_2_HIGH, _LOG10_2_LOW)


def log1p(b: Builder, x: ir.Value) -> ir.Value:
    """``log(1 + x)``: what rounding 1 + x loses is put back to first order."""
    one = b.float_(1.0)
    u = b.fadd(one, x)
    # of the two terms the larger is taken from the sum exactly
    large = b.fcmp("ogt", b.op("llvm.intr.fabs", (x,), b.f32), one)
    lost = b.select(large, b.fsub(one, b.fsub(u, x)), b.fsub(x, b.fsub(u, one)))
    k, f = _split_log(b, u)
    correction = b.fdiv(lost, u)
    tail = b.fadd(b.fma(k, b.float_(_LN2_LOW), _log1p_tail(b, f)), correction)
    result = _special_log(b, u, b.fma(k, b.float_(_LN2_HIGH), b.fadd(f, tail)))
    tiny = b.fcmp("olt", b.op("llvm.intr.fabs", (x,), b.f32), b.float_(2.0**-25))
    return b.select(tiny, x, result)


# --- powers -----------------------------------------------------------------------------------------------


def powf(b: Builder, x: ir.Value, y: ir.Value) -> ir.Value:
    """x to the y, by the rules of C."""
    size = b.op("llvm.intr.fabs", (x,), b.f32)
    magnitude = _special_power(b, size, y, _power(b, size, y))
    negative = b.cmp("slt", b.bitcast(x, b.i32), b.int_(0))
    flipped = b.select(b.and_(negative, _is_odd(b, y)), b.fneg(magnitude), magnitude)
    finite = b.fcmp("olt", size, b.float_(math.inf))
    below_zero = b.and_(b.fcmp("olt", x, b.float_(0.0)), finite)
    undefined = b.and_(below_zero, b.not_(_is_integer(b, y)))
    result = b.select(undefined, b.float_(math.nan), flipped)
    result = b.select(b.fcmp("uno", x, y), b.fadd(x, y), result)
    one = b.or_(b.fcmp("oeq", x, b.float_(1.0)), b.fcmp("oeq", y, b.float_(0.0)))
    return b.select(one, b.float_(1.0), result)


def _is_integer(b: Builder, y: ir.Value) -> ir.Value:
    """True (i1) if y is an integer; infinities and large numbers are."""
    return b.fcmp("oeq", b.op("llvm.intr.trunc", (y,), b.f32), y)


def _is_odd(b: Builder, y: ir.Value) -> ir.Value:
    half = b.fmul(y, b.float_(0.5))
    return b.and_(_is_integer(b, y), b.not_(_is_integer(b, half)))


def _special_power(b: Builder, size: ir.Value, y: ir.Value, result: ir.Value) -> ir.Value:
    """Powers of 0 and infinity, and infinite powers; ``size`` is not negative."""
    zero, one, infinity = b.float_(0.0), b.float_(1.0), b.float_(math.inf)
    rises = b.fcmp("ogt", y, zero)
    result = b.select(b.fcmp("oeq", size, zero), b.select(rises, zero, infinity), result)
    result = b.select(b.fcmp("oeq", size, infinity), b.select(rises, infinity, zero), result)
    endless = b.fcmp("oeq", b.op("llvm.intr.fabs", (y,), b.f32), infinity)
    grows = b.xor(b.fcmp("ogt", size, one), b.not_(rises))
    limit = b.select(b.fcmp("oeq", size, one), one, b.select(grows, infinity, zero))
    return b.select(endless, limit, result)


def _power(b: Builder, x: ir.Value, y: ir.Value) -> ir.Value:
    """``2 ** (y log2 x)`` for positive finite x and finite y, the product held in two pieces."""
    high, low = _log2_pieces(b, x)
    product = b.fmul(y, high)
    rest = b.fma(y, low, b.fma(y, high, b.fneg(product)))
    inside = _clamped(b, product, -300.0, 300.0)
    n, count = nearest_integer(b, inside)
    same = b.fcmp("oeq", inside, product)
    fraction = b.fadd(b.fsub(inside, n), b.select(same, rest, b.float_(0.0)))
    return scale_by_power_of_two(b, _exp2_reduced(b, fraction), count)


def _log2_pieces(b: Builder, x: ir.Value) -> tuple[ir.Value, ir.Value]:
    """``log2 x`` as the sum of two f32, to some 36 bits.

    With ``s = f / (2 + f)`` the logarithm of 1 + f is ``2 (s + s**3 / 3 + s**5 / 5 + ...)``; s and the
    term of s**3 need two pieces each.
    """
    k, f = _split_log(b, x)
    two = b.float_(2.0)
    below = b.fadd(f, two)
    below_low = b.fsub(f, b.fsub(below, two))
    s = b.fdiv(f, below)
    s_low = b.fdiv(b.fma(b.fneg(s), below_low, b.fma(b.fneg(s), below, f)), below)
    z = b.fmul(s, s)
    z_low = b.fma(s, s, b.fneg(z))
    z_low = b.fma(b.fmul(two, s), s_low, z_low)
    third, third_low = split_double(1 / 3)
    series = horner(b, z, (1 / 5, 1 / 7, 1 / 9, 1 / 11))
    q, q_low = _two_sum(b, b.float_(third), b.fmul(z, series))
    q_low = b.fadd(q_low, b.float_(third_low))
    cube, cube_low = _two_product(b, (z, z_low), (q, q_low))
    cube, cube_low = _two_product(b, (cube, cube_low), (s, s_low))
    total, total_low = _two_sum(b, s, cube)
    total_low = b.fadd(total_low, b.fadd(s_low, cube_low))
    scale = split_double(2 / math.log(2))
    scaled, scaled_low = _two_product(b, (total, total_low), (b.float_(scale[0]), b.float_(scale[1])))
    high, low = _two_sum(b, k, scaled)
    low = b.fadd(low, scaled_low)
    return _two_sum(b, high, low)


Pair = tuple[ir.Value, ir.Value]


def _two_sum(b: Builder, large: ir.Value, small: ir.Value) -> Pair:
    """``large + small`` and what rounding it loses; ``large`` is the larger, or zero."""
    total = b.fadd(large, small)
    zero = b.fcmp("oeq", large, b.float_(0.0))
    return total, b.select(zero, b.float_(0.0), b.fsub(small, b.fsub(total, large)))


def _two_product(b: Builder, x: Pair, y: Pair) -> Pair:
    product = b.fmul(x[0], y[0])
    low = b.fma(x[0], y[0], b.fneg(product))
    return product, b.fma(x[0], y[1], b.fma(x[1], y[0], low))


def rsqrt(b: Builder, x: ir.Value) -> ir.Value:
    """``1 / sqrt(x)``."""
    return b.fdiv(b.float_(1.0), b.op("llvm.intr.sqrt", (x,), b.f32))


# --- hyperbolic tangent, error function -------------------------------------------------------------------


def tanh(b: Builder, x: ir.Value) -> ir.Value:
    """The hyperbolic tangent: a polynomial near 0, ``1 - 2 / (exp(2 x) + 1)`` elsewhere."""
    size = b.op("llvm.intr.fabs", (x,), b.f32)
    square = b.fmul(x, x)
    near = b.fma(b.fmul(size, square), horner(b, square, _TANH), size)
    one, two = b.float_(1.0), b.float_(2.0)
    power = exp(b, b.fmul(size, two))
    far = b.fsub(one, b.fdiv(two, b.fadd(power, one)))
    return with_sign_of(b, b.select(b.fcmp("olt", size, b.float_(0.6)), near, far), x)


def erf(b: Builder, x: ir.Value) -> ir.Value:
    """The error function: a polynomial near 0, ``1 - exp(polynomial)`` to 4, then 1."""
    size = b.op("llvm.intr.fabs", (x,), b.f32)
    square = b.fmul(x, x)
    high, low = split_double(2 / math.sqrt(math.pi))
    near = b.fma(size, b.fma(square, horner(b, square, _ERF), b.float_(low)), b.fmul(size, b.float_(high)))
    one = b.float_(1.0)
    inside = b.select(b.fcmp("olt", size, b.float_(4.0)), size, b.float_(4.0))
    far = b.fsub(one, exp(b, horner(b, inside, _LOG_ERFC)))
    result = b.select(b.fcmp("olt", size, b.float_(0.95)), near, far)
    return _keep_nan(b, x, with_sign_of(b, result, x))


#: function of a builder and f32 scalars
EXPANSIONS: dict[str, Callable[..., ir.Value]] = {
    "exp": exp,
    "exp2": exp2,
    "expm1": expm1,
    "log": log,
    "log2": log2,
    "log10": log10,
    "log1p": log1p,
    "powf": powf,
    "rsqrt": rsqrt,
    "tanh": tanh,
    "erf": erf,
    "sin": trigonometry.sin,
    "cos": trigonometry.cos,
    "tan": trigonometry.tan,
}
