"""Functions of libdevice, and their counterparts in this package."""

from __future__ import annotations

from typing import Any

from tri.language import math
from tri.language import types as t
from tri.language.libdevice import bessel, bits, conversions, elementary, ops, rounding, special
from tri_core.lazy_dataclasses import dataclass

__all__ = ["CATALOGUE", "Formula"]


@dataclass(frozen=True)
class Formula:
    """``function`` of the operands and of ``constants``; ``wide``: fp32 is computed in fp64 and rounded."""

    function: Any
    constants: tuple[Any, ...] = ()
    wide: bool = False


_MODES = ("rd", "rn", "ru", "rz")


def _rounded() -> dict[str, Formula]:
    """Arithmetic and conversions in every rounding mode."""
    table: dict[str, Formula] = {}
    arithmetic = {
        "add": rounding.add, "sub": rounding.subtract, "mul": rounding.multiply, "div": rounding.divide,
        "rcp": rounding.reciprocal, "sqrt": rounding.root, "fma": rounding.fused,
    }  # fmt: skip
    integers = {"int": t.int32, "uint": t.uint32, "ll": t.int64, "ull": t.uint64}
    for mode in _MODES:
        table |= {f"{name}_{mode}": Formula(f, (mode,)) for name, f in arithmetic.items()}
        table[f"double2float_{mode}"] = Formula(conversions.to_float, (mode,))
        for name, dtype in integers.items():
            for source in ("float", "double"):
                table[f"{source}2{name}_{mode}"] = Formula(conversions.to_integer, (mode, dtype))
            table[f"{name}2float_{mode}"] = Formula(conversions.from_integer, (mode, t.float32))
            table[f"{name}2double_{mode}"] = Formula(conversions.from_integer, (mode, t.float64))
    return table


_BITS = {
    "abs": Formula(bits.absolute),
    "brev": Formula(bits.brev),
    "byte_perm": Formula(bits.byte_perm),
    "clz": Formula(bits.clz),
    "double2hiint": Formula(bits.word_of, (True,)),
    "double2loint": Formula(bits.word_of, (False,)),
    "double_as_longlong": Formula(bits.bitcast_to, (t.int64,)),
    "ffs": Formula(bits.ffs),
    "float_as_int": Formula(bits.bitcast_to, (t.int32,)),
    "float_as_uint": Formula(bits.bitcast_to, (t.int32,)),
    "hadd": Formula(bits.half_sum, (False,)),
    "hiloint2double": Formula(bits.hiloint2double),
    "int_as_float": Formula(bits.bitcast_to, (t.float32,)),
    "longlong_as_double": Formula(bits.bitcast_to, (t.float64,)),
    "mul24": Formula(bits.mul24),
    "mulhi": Formula(bits.mulhi),
    "popc": Formula(bits.popc),
    "rhadd": Formula(bits.half_sum, (True,)),
    "sad": Formula(bits.sad),
    "uint_as_float": Formula(bits.bitcast_to, (t.float32,)),
}
_OPERATIONS = {
    "acos": ops.acos, "acosh": ops.acosh, "asin": ops.asin, "asinh": ops.asinh, "atan": ops.atan, "atan2": ops.atan2,
    "atanh": ops.atanh, "cbrt": ops.cbrt, "ceil": math.ceil, "copysign": ops.copysign, "cos": math.cos, "cosh": ops.cosh,
    "erf": math.erf, "erfc": ops.erfc, "exp": math.exp, "exp2": math.exp2, "expm1": ops.expm1, "fast_cosf": math.cos,
    "fast_dividef": math.fdiv, "fast_expf": math.exp, "fast_log10f": ops.log10, "fast_log2f": math.log2,
    "fast_logf": math.log, "fast_sinf": math.sin, "fast_tanhf": ops.tanh, "floor": math.floor, "fma": math.fma,
    "log": math.log, "log10": ops.log10, "log1p": ops.log1p, "log2": math.log2, "nearbyint": ops.rint, "pow": ops.pow,
    "rint": ops.rint, "rsqrt": math.rsqrt, "sin": math.sin, "sinh": ops.sinh, "sqrt": math.sqrt, "tan": ops.tan,
    "tanh": ops.tanh, "trunc": ops.trunc,
}  # fmt: skip
_ELEMENTARY = {
    "cospi": Formula(elementary.cospi, wide=True),
    "exp10": Formula(elementary.exp10, wide=True),
    "fast_exp10f": Formula(elementary.fast_exp10),
    "fast_powf": Formula(elementary.fast_pow),
    "fast_tanf": Formula(elementary.fast_tan),
    "fdim": Formula(elementary.fdim),
    "finitef": Formula(elementary.is_finite),
    "fmod": Formula(elementary.fmod),
    "hypot": Formula(elementary.hypot, (False,), wide=True),
    "ilogb": Formula(elementary.exponent),
    "isfinited": Formula(elementary.is_finite),
    "isinf": Formula(elementary.infinite),
    "isnan": Formula(elementary.is_nan),
    "ldexp": Formula(elementary.ldexp),
    "llrint": Formula(conversions.nearest_integer, ("rn",)),
    "llround": Formula(conversions.nearest_integer, ("ra",)),
    "logb": Formula(elementary.logb),
    "nextafter": Formula(elementary.nextafter),
    "norm3d": Formula(elementary.norm3, (False,), wide=True),
    "norm4d": Formula(elementary.norm, (False,), wide=True),
    "rcbrt": Formula(elementary.rcbrt, wide=True),
    "rcp64h": Formula(elementary.rcp64h),
    "remainder": Formula(elementary.remainder),
    "rhypot": Formula(elementary.hypot, (True,), wide=True),
    "rnorm3d": Formula(elementary.norm3, (True,), wide=True),
    "rnorm4d": Formula(elementary.norm, (True,), wide=True),
    "round": Formula(elementary.round_away),
    "rsqrt_rn": Formula(elementary.rsqrt_rn),
    "saturatef": Formula(elementary.saturate),
    "scalbn": Formula(elementary.ldexp),
    "signbit": Formula(elementary.has_sign),
    "sinpi": Formula(elementary.sinpi, wide=True),
}
_SPECIAL = {
    "cyl_bessel_i0": bessel.i0, "cyl_bessel_i1": bessel.i1, "erfcinv": special.erfcinv, "erfcx": special.erfcx,
    "erfinv": special.erfinv, "j0": bessel.j0, "j1": bessel.j1, "jn": bessel.jn, "lgamma": special.lgamma,
    "normcdf": special.normcdf, "normcdfinv": special.normcdfinv, "tgamma": special.tgamma, "y0": bessel.y0,
    "y1": bessel.y1, "yn": bessel.yn,
}  # fmt: skip

#: name -> how it is computed; `pow` with an integer exponent is :func:`elementary.pow_integer`
CATALOGUE: dict[str, Formula] = {
    **_rounded(),
    **_BITS,
    **{name: Formula(function) for name, function in _OPERATIONS.items()},
    **_ELEMENTARY,
    **{name: Formula(function, wide=True) for name, function in _SPECIAL.items()},
    "pow_integer": Formula(elementary.pow_integer, wide=True),
}
