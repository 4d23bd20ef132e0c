# Made by `python -m integration.stubs` from the language's own functions: do not edit.
from typing import Any as _Any

from tri.language import tensor

__all__ = [
    "abs",
    "acos",
    "acosh",
    "add_rd",
    "add_rn",
    "add_ru",
    "add_rz",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "brev",
    "byte_perm",
    "cbrt",
    "ceil",
    "clz",
    "copysign",
    "cos",
    "cosh",
    "cospi",
    "cyl_bessel_i0",
    "cyl_bessel_i1",
    "div_rd",
    "div_rn",
    "div_ru",
    "div_rz",
    "double2float_rd",
    "double2float_rn",
    "double2float_ru",
    "double2float_rz",
    "double2hiint",
    "double2int_rd",
    "double2int_rn",
    "double2int_ru",
    "double2int_rz",
    "double2ll_rd",
    "double2ll_rn",
    "double2ll_ru",
    "double2ll_rz",
    "double2loint",
    "double2uint_rd",
    "double2uint_rn",
    "double2uint_ru",
    "double2uint_rz",
    "double2ull_rd",
    "double2ull_rn",
    "double2ull_ru",
    "double2ull_rz",
    "double_as_longlong",
    "erf",
    "erfc",
    "erfcinv",
    "erfcx",
    "erfinv",
    "exp",
    "exp2",
    "exp10",
    "expm1",
    "fast_cosf",
    "fast_dividef",
    "fast_exp10f",
    "fast_expf",
    "fast_log2f",
    "fast_log10f",
    "fast_logf",
    "fast_powf",
    "fast_sinf",
    "fast_tanf",
    "fast_tanhf",
    "fdim",
    "ffs",
    "finitef",
    "float2int_rd",
    "float2int_rn",
    "float2int_ru",
    "float2int_rz",
    "float2ll_rd",
    "float2ll_rn",
    "float2ll_ru",
    "float2ll_rz",
    "float2uint_rd",
    "float2uint_rn",
    "float2uint_ru",
    "float2uint_rz",
    "float2ull_rd",
    "float2ull_rn",
    "float2ull_ru",
    "float2ull_rz",
    "float_as_int",
    "float_as_uint",
    "floor",
    "fma",
    "fma_rd",
    "fma_rn",
    "fma_ru",
    "fma_rz",
    "fmod",
    "hadd",
    "hiloint2double",
    "hypot",
    "ilogb",
    "int2double_rn",
    "int2float_rd",
    "int2float_rn",
    "int2float_ru",
    "int2float_rz",
    "int_as_float",
    "isfinited",
    "isinf",
    "isnan",
    "j0",
    "j1",
    "jn",
    "ldexp",
    "lgamma",
    "ll2double_rd",
    "ll2double_rn",
    "ll2double_ru",
    "ll2double_rz",
    "ll2float_rd",
    "ll2float_rn",
    "ll2float_ru",
    "ll2float_rz",
    "llrint",
    "llround",
    "log",
    "log1p",
    "log2",
    "log10",
    "logb",
    "longlong_as_double",
    "mul24",
    "mul_rd",
    "mul_rn",
    "mul_ru",
    "mul_rz",
    "mulhi",
    "nearbyint",
    "nextafter",
    "norm3d",
    "norm4d",
    "normcdf",
    "normcdfinv",
    "popc",
    "pow",
    "rcbrt",
    "rcp64h",
    "rcp_rd",
    "rcp_rn",
    "rcp_ru",
    "rcp_rz",
    "remainder",
    "rhadd",
    "rhypot",
    "rint",
    "rnorm3d",
    "rnorm4d",
    "round",
    "rsqrt",
    "rsqrt_rn",
    "sad",
    "saturatef",
    "scalbn",
    "signbit",
    "sin",
    "sinh",
    "sinpi",
    "sqrt",
    "sqrt_rd",
    "sqrt_rn",
    "sqrt_ru",
    "sqrt_rz",
    "sub_rd",
    "sub_rn",
    "sub_ru",
    "sub_rz",
    "tan",
    "tanh",
    "tgamma",
    "trunc",
    "uint2double_rn",
    "uint2float_rd",
    "uint2float_rn",
    "uint2float_ru",
    "uint2float_rz",
    "uint_as_float",
    "ull2double_rd",
    "ull2double_rn",
    "ull2double_ru",
    "ull2double_rz",
    "ull2float_rd",
    "ull2float_rn",
    "ull2float_ru",
    "ull2float_rz",
    "y0",
    "y1",
    "yn",
]

def abs(arg0: _Any, /) -> tensor:
    """libdevice's ``abs``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64; (int32) -> int32; (int64) -> int64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def acos(arg0: _Any, /) -> tensor:
    """libdevice's ``acos``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def acosh(arg0: _Any, /) -> tensor:
    """libdevice's ``acosh``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def add_rd(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``add_rd``, elementwise, over operands broadcast to one shape: (fp32, fp32) -> fp32; (fp64, fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def add_rn(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``add_rn``, elementwise, over operands broadcast to one shape: (fp32, fp32) -> fp32; (fp64, fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def add_ru(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``add_ru``, elementwise, over operands broadcast to one shape: (fp32, fp32) -> fp32; (fp64, fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def add_rz(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``add_rz``, elementwise, over operands broadcast to one shape: (fp32, fp32) -> fp32; (fp64, fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def asin(arg0: _Any, /) -> tensor:
    """libdevice's ``asin``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def asinh(arg0: _Any, /) -> tensor:
    """libdevice's ``asinh``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def atan(arg0: _Any, /) -> tensor:
    """libdevice's ``atan``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def atan2(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``atan2``, elementwise, over operands broadcast to one shape: (fp32, fp32) -> fp32; (fp64, fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def atanh(arg0: _Any, /) -> tensor:
    """libdevice's ``atanh``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def brev(arg0: _Any, /) -> tensor:
    """libdevice's ``brev``, elementwise, over operands broadcast to one shape: (int32) -> int32; (int64) -> int64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def byte_perm(arg0: _Any, arg1: _Any, arg2: _Any, /) -> tensor:
    """libdevice's ``byte_perm``, elementwise, over operands broadcast to one shape: (int32, int32, int32) -> int32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def cbrt(arg0: _Any, /) -> tensor:
    """libdevice's ``cbrt``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def ceil(arg0: _Any, /) -> tensor:
    """libdevice's ``ceil``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def clz(arg0: _Any, /) -> tensor:
    """libdevice's ``clz``, elementwise, over operands broadcast to one shape: (int32) -> int32; (int64) -> int32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def copysign(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``copysign``, elementwise, over operands broadcast to one shape: (fp32, fp32) -> fp32; (fp64, fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def cos(arg0: _Any, /) -> tensor:
    """libdevice's ``cos``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def cosh(arg0: _Any, /) -> tensor:
    """libdevice's ``cosh``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def cospi(arg0: _Any, /) -> tensor:
    """libdevice's ``cospi``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def cyl_bessel_i0(arg0: _Any, /) -> tensor:
    """libdevice's ``cyl_bessel_i0``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def cyl_bessel_i1(arg0: _Any, /) -> tensor:
    """libdevice's ``cyl_bessel_i1``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def div_rd(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``div_rd``, elementwise, over operands broadcast to one shape: (fp32, fp32) -> fp32; (fp64, fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def div_rn(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``div_rn``, elementwise, over operands broadcast to one shape: (fp32, fp32) -> fp32; (fp64, fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def div_ru(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``div_ru``, elementwise, over operands broadcast to one shape: (fp32, fp32) -> fp32; (fp64, fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def div_rz(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``div_rz``, elementwise, over operands broadcast to one shape: (fp32, fp32) -> fp32; (fp64, fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def double2float_rd(arg0: _Any, /) -> tensor:
    """libdevice's ``double2float_rd``, elementwise, over operands broadcast to one shape: (fp64) -> fp32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def double2float_rn(arg0: _Any, /) -> tensor:
    """libdevice's ``double2float_rn``, elementwise, over operands broadcast to one shape: (fp64) -> fp32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def double2float_ru(arg0: _Any, /) -> tensor:
    """libdevice's ``double2float_ru``, elementwise, over operands broadcast to one shape: (fp64) -> fp32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def double2float_rz(arg0: _Any, /) -> tensor:
    """libdevice's ``double2float_rz``, elementwise, over operands broadcast to one shape: (fp64) -> fp32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def double2hiint(arg0: _Any, /) -> tensor:
    """libdevice's ``double2hiint``, elementwise, over operands broadcast to one shape: (fp64) -> int32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def double2int_rd(arg0: _Any, /) -> tensor:
    """libdevice's ``double2int_rd``, elementwise, over operands broadcast to one shape: (fp64) -> int32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def double2int_rn(arg0: _Any, /) -> tensor:
    """libdevice's ``double2int_rn``, elementwise, over operands broadcast to one shape: (fp64) -> int32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def double2int_ru(arg0: _Any, /) -> tensor:
    """libdevice's ``double2int_ru``, elementwise, over operands broadcast to one shape: (fp64) -> int32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def double2int_rz(arg0: _Any, /) -> tensor:
    """libdevice's ``double2int_rz``, elementwise, over operands broadcast to one shape: (fp64) -> int32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def double2ll_rd(arg0: _Any, /) -> tensor:
    """libdevice's ``double2ll_rd``, elementwise, over operands broadcast to one shape: (fp64) -> int64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def double2ll_rn(arg0: _Any, /) -> tensor:
    """libdevice's ``double2ll_rn``, elementwise, over operands broadcast to one shape: (fp64) -> int64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def double2ll_ru(arg0: _Any, /) -> tensor:
    """libdevice's ``double2ll_ru``, elementwise, over operands broadcast to one shape: (fp64) -> int64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def double2ll_rz(arg0: _Any, /) -> tensor:
    """libdevice's ``double2ll_rz``, elementwise, over operands broadcast to one shape: (fp64) -> int64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def double2loint(arg0: _Any, /) -> tensor:
    """libdevice's ``double2loint``, elementwise, over operands broadcast to one shape: (fp64) -> int32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def double2uint_rd(arg0: _Any, /) -> tensor:
    """libdevice's ``double2uint_rd``, elementwise, over operands broadcast to one shape: (fp64) -> int32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def double2uint_rn(arg0: _Any, /) -> tensor:
    """libdevice's ``double2uint_rn``, elementwise, over operands broadcast to one shape: (fp64) -> int32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def double2uint_ru(arg0: _Any, /) -> tensor:
    """libdevice's ``double2uint_ru``, elementwise, over operands broadcast to one shape: (fp64) -> int32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def double2uint_rz(arg0: _Any, /) -> tensor:
    """libdevice's ``double2uint_rz``, elementwise, over operands broadcast to one shape: (fp64) -> int32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def double2ull_rd(arg0: _Any, /) -> tensor:
    """libdevice's ``double2ull_rd``, elementwise, over operands broadcast to one shape: (fp64) -> int64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def double2ull_rn(arg0: _Any, /) -> tensor:
    """libdevice's ``double2ull_rn``, elementwise, over operands broadcast to one shape: (fp64) -> int64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def double2ull_ru(arg0: _Any, /) -> tensor:
    """libdevice's ``double2ull_ru``, elementwise, over operands broadcast to one shape: (fp64) -> int64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def double2ull_rz(arg0: _Any, /) -> tensor:
    """libdevice's ``double2ull_rz``, elementwise, over operands broadcast to one shape: (fp64) -> int64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def double_as_longlong(arg0: _Any, /) -> tensor:
    """libdevice's ``double_as_longlong``, elementwise, over operands broadcast to one shape: (fp64) -> int64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def erf(arg0: _Any, /) -> tensor:
    """libdevice's ``erf``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def erfc(arg0: _Any, /) -> tensor:
    """libdevice's ``erfc``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def erfcinv(arg0: _Any, /) -> tensor:
    """libdevice's ``erfcinv``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def erfcx(arg0: _Any, /) -> tensor:
    """libdevice's ``erfcx``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def erfinv(arg0: _Any, /) -> tensor:
    """libdevice's ``erfinv``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def exp(arg0: _Any, /) -> tensor:
    """libdevice's ``exp``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def exp10(arg0: _Any, /) -> tensor:
    """libdevice's ``exp10``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def exp2(arg0: _Any, /) -> tensor:
    """libdevice's ``exp2``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def expm1(arg0: _Any, /) -> tensor:
    """libdevice's ``expm1``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def fast_cosf(arg0: _Any, /) -> tensor:
    """libdevice's ``fast_cosf``, elementwise, over operands broadcast to one shape: (fp32) -> fp32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def fast_dividef(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``fast_dividef``, elementwise, over operands broadcast to one shape: (fp32, fp32) -> fp32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def fast_exp10f(arg0: _Any, /) -> tensor:
    """libdevice's ``fast_exp10f``, elementwise, over operands broadcast to one shape: (fp32) -> fp32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def fast_expf(arg0: _Any, /) -> tensor:
    """libdevice's ``fast_expf``, elementwise, over operands broadcast to one shape: (fp32) -> fp32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def fast_log10f(arg0: _Any, /) -> tensor:
    """libdevice's ``fast_log10f``, elementwise, over operands broadcast to one shape: (fp32) -> fp32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def fast_log2f(arg0: _Any, /) -> tensor:
    """libdevice's ``fast_log2f``, elementwise, over operands broadcast to one shape: (fp32) -> fp32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def fast_logf(arg0: _Any, /) -> tensor:
    """libdevice's ``fast_logf``, elementwise, over operands broadcast to one shape: (fp32) -> fp32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def fast_powf(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``fast_powf``, elementwise, over operands broadcast to one shape: (fp32, fp32) -> fp32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def fast_sinf(arg0: _Any, /) -> tensor:
    """libdevice's ``fast_sinf``, elementwise, over operands broadcast to one shape: (fp32) -> fp32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def fast_tanf(arg0: _Any, /) -> tensor:
    """libdevice's ``fast_tanf``, elementwise, over operands broadcast to one shape: (fp32) -> fp32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def fast_tanhf(arg0: _Any, /) -> tensor:
    """libdevice's ``fast_tanhf``, elementwise, over operands broadcast to one shape: (fp32) -> fp32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def fdim(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``fdim``, elementwise, over operands broadcast to one shape: (fp32, fp32) -> fp32; (fp64, fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def ffs(arg0: _Any, /) -> tensor:
    """libdevice's ``ffs``, elementwise, over operands broadcast to one shape: (int32) -> int32; (int64) -> int32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def finitef(arg0: _Any, /) -> tensor:
    """libdevice's ``finitef``, elementwise, over operands broadcast to one shape: (fp32) -> int32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def float2int_rd(arg0: _Any, /) -> tensor:
    """libdevice's ``float2int_rd``, elementwise, over operands broadcast to one shape: (fp32) -> int32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def float2int_rn(arg0: _Any, /) -> tensor:
    """libdevice's ``float2int_rn``, elementwise, over operands broadcast to one shape: (fp32) -> int32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def float2int_ru(arg0: _Any, /) -> tensor:
    """libdevice's ``float2int_ru``, elementwise, over operands broadcast to one shape: (fp32) -> int32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def float2int_rz(arg0: _Any, /) -> tensor:
    """libdevice's ``float2int_rz``, elementwise, over operands broadcast to one shape: (fp32) -> int32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def float2ll_rd(arg0: _Any, /) -> tensor:
    """libdevice's ``float2ll_rd``, elementwise, over operands broadcast to one shape: (fp32) -> int64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def float2ll_rn(arg0: _Any, /) -> tensor:
    """libdevice's ``float2ll_rn``, elementwise, over operands broadcast to one shape: (fp32) -> int64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def float2ll_ru(arg0: _Any, /) -> tensor:
    """libdevice's ``float2ll_ru``, elementwise, over operands broadcast to one shape: (fp32) -> int64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def float2ll_rz(arg0: _Any, /) -> tensor:
    """libdevice's ``float2ll_rz``, elementwise, over operands broadcast to one shape: (fp32) -> int64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def float2uint_rd(arg0: _Any, /) -> tensor:
    """libdevice's ``float2uint_rd``, elementwise, over operands broadcast to one shape: (fp32) -> int32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def float2uint_rn(arg0: _Any, /) -> tensor:
    """libdevice's ``float2uint_rn``, elementwise, over operands broadcast to one shape: (fp32) -> int32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def float2uint_ru(arg0: _Any, /) -> tensor:
    """libdevice's ``float2uint_ru``, elementwise, over operands broadcast to one shape: (fp32) -> int32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def float2uint_rz(arg0: _Any, /) -> tensor:
    """libdevice's ``float2uint_rz``, elementwise, over operands broadcast to one shape: (fp32) -> int32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def float2ull_rd(arg0: _Any, /) -> tensor:
    """libdevice's ``float2ull_rd``, elementwise, over operands broadcast to one shape: (fp32) -> int64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def float2ull_rn(arg0: _Any, /) -> tensor:
    """libdevice's ``float2ull_rn``, elementwise, over operands broadcast to one shape: (fp32) -> int64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def float2ull_ru(arg0: _Any, /) -> tensor:
    """libdevice's ``float2ull_ru``, elementwise, over operands broadcast to one shape: (fp32) -> int64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def float2ull_rz(arg0: _Any, /) -> tensor:
    """libdevice's ``float2ull_rz``, elementwise, over operands broadcast to one shape: (fp32) -> int64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def float_as_int(arg0: _Any, /) -> tensor:
    """libdevice's ``float_as_int``, elementwise, over operands broadcast to one shape: (fp32) -> int32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def float_as_uint(arg0: _Any, /) -> tensor:
    """libdevice's ``float_as_uint``, elementwise, over operands broadcast to one shape: (fp32) -> int32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def floor(arg0: _Any, /) -> tensor:
    """libdevice's ``floor``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def fma(arg0: _Any, arg1: _Any, arg2: _Any, /) -> tensor:
    """libdevice's ``fma``, elementwise, over operands broadcast to one shape: (fp32, fp32, fp32) -> fp32; (fp64, fp64, fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def fma_rd(arg0: _Any, arg1: _Any, arg2: _Any, /) -> tensor:
    """libdevice's ``fma_rd``, elementwise, over operands broadcast to one shape: (fp32, fp32, fp32) -> fp32; (fp64, fp64, fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def fma_rn(arg0: _Any, arg1: _Any, arg2: _Any, /) -> tensor:
    """libdevice's ``fma_rn``, elementwise, over operands broadcast to one shape: (fp32, fp32, fp32) -> fp32; (fp64, fp64, fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def fma_ru(arg0: _Any, arg1: _Any, arg2: _Any, /) -> tensor:
    """libdevice's ``fma_ru``, elementwise, over operands broadcast to one shape: (fp32, fp32, fp32) -> fp32; (fp64, fp64, fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def fma_rz(arg0: _Any, arg1: _Any, arg2: _Any, /) -> tensor:
    """libdevice's ``fma_rz``, elementwise, over operands broadcast to one shape: (fp32, fp32, fp32) -> fp32; (fp64, fp64, fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def fmod(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``fmod``, elementwise, over operands broadcast to one shape: (fp32, fp32) -> fp32; (fp64, fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def hadd(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``hadd``, elementwise, over operands broadcast to one shape: (int32, int32) -> int32; (uint32, uint32) -> uint32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def hiloint2double(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``hiloint2double``, elementwise, over operands broadcast to one shape: (int32, int32) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def hypot(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``hypot``, elementwise, over operands broadcast to one shape: (fp32, fp32) -> fp32; (fp64, fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def ilogb(arg0: _Any, /) -> tensor:
    """libdevice's ``ilogb``, elementwise, over operands broadcast to one shape: (fp32) -> int32; (fp64) -> int32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def int2double_rn(arg0: _Any, /) -> tensor:
    """libdevice's ``int2double_rn``, elementwise, over operands broadcast to one shape: (int32) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def int2float_rd(arg0: _Any, /) -> tensor:
    """libdevice's ``int2float_rd``, elementwise, over operands broadcast to one shape: (int32) -> fp32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def int2float_rn(arg0: _Any, /) -> tensor:
    """libdevice's ``int2float_rn``, elementwise, over operands broadcast to one shape: (int32) -> fp32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def int2float_ru(arg0: _Any, /) -> tensor:
    """libdevice's ``int2float_ru``, elementwise, over operands broadcast to one shape: (int32) -> fp32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def int2float_rz(arg0: _Any, /) -> tensor:
    """libdevice's ``int2float_rz``, elementwise, over operands broadcast to one shape: (int32) -> fp32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def int_as_float(arg0: _Any, /) -> tensor:
    """libdevice's ``int_as_float``, elementwise, over operands broadcast to one shape: (int32) -> fp32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def isfinited(arg0: _Any, /) -> tensor:
    """libdevice's ``isfinited``, elementwise, over operands broadcast to one shape: (fp64) -> int32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def isinf(arg0: _Any, /) -> tensor:
    """libdevice's ``isinf``, elementwise, over operands broadcast to one shape: (fp32) -> int32; (fp64) -> int32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def isnan(arg0: _Any, /) -> tensor:
    """libdevice's ``isnan``, elementwise, over operands broadcast to one shape: (fp32) -> int32; (fp64) -> int32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def j0(arg0: _Any, /) -> tensor:
    """libdevice's ``j0``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def j1(arg0: _Any, /) -> tensor:
    """libdevice's ``j1``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def jn(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``jn``, elementwise, over operands broadcast to one shape: (int32, fp64) -> fp64; (int32, fp32) -> fp32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def ldexp(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``ldexp``, elementwise, over operands broadcast to one shape: (fp32, int32) -> fp32; (fp64, int32) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def lgamma(arg0: _Any, /) -> tensor:
    """libdevice's ``lgamma``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def ll2double_rd(arg0: _Any, /) -> tensor:
    """libdevice's ``ll2double_rd``, elementwise, over operands broadcast to one shape: (int64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def ll2double_rn(arg0: _Any, /) -> tensor:
    """libdevice's ``ll2double_rn``, elementwise, over operands broadcast to one shape: (int64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def ll2double_ru(arg0: _Any, /) -> tensor:
    """libdevice's ``ll2double_ru``, elementwise, over operands broadcast to one shape: (int64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def ll2double_rz(arg0: _Any, /) -> tensor:
    """libdevice's ``ll2double_rz``, elementwise, over operands broadcast to one shape: (int64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def ll2float_rd(arg0: _Any, /) -> tensor:
    """libdevice's ``ll2float_rd``, elementwise, over operands broadcast to one shape: (int64) -> fp32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def ll2float_rn(arg0: _Any, /) -> tensor:
    """libdevice's ``ll2float_rn``, elementwise, over operands broadcast to one shape: (int64) -> fp32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def ll2float_ru(arg0: _Any, /) -> tensor:
    """libdevice's ``ll2float_ru``, elementwise, over operands broadcast to one shape: (int64) -> fp32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def ll2float_rz(arg0: _Any, /) -> tensor:
    """libdevice's ``ll2float_rz``, elementwise, over operands broadcast to one shape: (int64) -> fp32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def llrint(arg0: _Any, /) -> tensor:
    """libdevice's ``llrint``, elementwise, over operands broadcast to one shape: (fp32) -> int64; (fp64) -> int64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def llround(arg0: _Any, /) -> tensor:
    """libdevice's ``llround``, elementwise, over operands broadcast to one shape: (fp32) -> int64; (fp64) -> int64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def log(arg0: _Any, /) -> tensor:
    """libdevice's ``log``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def log10(arg0: _Any, /) -> tensor:
    """libdevice's ``log10``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def log1p(arg0: _Any, /) -> tensor:
    """libdevice's ``log1p``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def log2(arg0: _Any, /) -> tensor:
    """libdevice's ``log2``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def logb(arg0: _Any, /) -> tensor:
    """libdevice's ``logb``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def longlong_as_double(arg0: _Any, /) -> tensor:
    """libdevice's ``longlong_as_double``, elementwise, over operands broadcast to one shape: (int64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def mul24(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``mul24``, elementwise, over operands broadcast to one shape: (int32, int32) -> int32; (uint32, uint32) -> uint32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def mul_rd(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``mul_rd``, elementwise, over operands broadcast to one shape: (fp32, fp32) -> fp32; (fp64, fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def mul_rn(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``mul_rn``, elementwise, over operands broadcast to one shape: (fp32, fp32) -> fp32; (fp64, fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def mul_ru(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``mul_ru``, elementwise, over operands broadcast to one shape: (fp32, fp32) -> fp32; (fp64, fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def mul_rz(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``mul_rz``, elementwise, over operands broadcast to one shape: (fp32, fp32) -> fp32; (fp64, fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def mulhi(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``mulhi``, elementwise, over operands broadcast to one shape: (int32, int32) -> int32; (uint32, uint32) -> uint32; (int64, int64) -> int64; (uint64, uint64) -> uint64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def nearbyint(arg0: _Any, /) -> tensor:
    """libdevice's ``nearbyint``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def nextafter(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``nextafter``, elementwise, over operands broadcast to one shape: (fp32, fp32) -> fp32; (fp64, fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def norm3d(arg0: _Any, arg1: _Any, arg2: _Any, /) -> tensor:
    """libdevice's ``norm3d``, elementwise, over operands broadcast to one shape: (fp32, fp32, fp32) -> fp32; (fp64, fp64, fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def norm4d(arg0: _Any, arg1: _Any, arg2: _Any, arg3: _Any, /) -> tensor:
    """libdevice's ``norm4d``, elementwise, over operands broadcast to one shape: (fp32, fp32, fp32, fp32) -> fp32; (fp64, fp64, fp64, fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def normcdf(arg0: _Any, /) -> tensor:
    """libdevice's ``normcdf``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def normcdfinv(arg0: _Any, /) -> tensor:
    """libdevice's ``normcdfinv``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def popc(arg0: _Any, /) -> tensor:
    """libdevice's ``popc``, elementwise, over operands broadcast to one shape: (int32) -> int32; (int64) -> int32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def pow(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``pow``, elementwise, over operands broadcast to one shape: (fp32, fp32) -> fp32; (fp32, int32) -> fp32; (fp64, fp64) -> fp64; (fp64, int32) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def rcbrt(arg0: _Any, /) -> tensor:
    """libdevice's ``rcbrt``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def rcp64h(arg0: _Any, /) -> tensor:
    """libdevice's ``rcp64h``, elementwise, over operands broadcast to one shape: (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def rcp_rd(arg0: _Any, /) -> tensor:
    """libdevice's ``rcp_rd``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def rcp_rn(arg0: _Any, /) -> tensor:
    """libdevice's ``rcp_rn``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def rcp_ru(arg0: _Any, /) -> tensor:
    """libdevice's ``rcp_ru``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def rcp_rz(arg0: _Any, /) -> tensor:
    """libdevice's ``rcp_rz``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def remainder(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``remainder``, elementwise, over operands broadcast to one shape: (fp32, fp32) -> fp32; (fp64, fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def rhadd(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``rhadd``, elementwise, over operands broadcast to one shape: (int32, int32) -> int32; (uint32, uint32) -> uint32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def rhypot(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``rhypot``, elementwise, over operands broadcast to one shape: (fp32, fp32) -> fp32; (fp64, fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def rint(arg0: _Any, /) -> tensor:
    """libdevice's ``rint``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def rnorm3d(arg0: _Any, arg1: _Any, arg2: _Any, /) -> tensor:
    """libdevice's ``rnorm3d``, elementwise, over operands broadcast to one shape: (fp32, fp32, fp32) -> fp32; (fp64, fp64, fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def rnorm4d(arg0: _Any, arg1: _Any, arg2: _Any, arg3: _Any, /) -> tensor:
    """libdevice's ``rnorm4d``, elementwise, over operands broadcast to one shape: (fp32, fp32, fp32, fp32) -> fp32; (fp64, fp64, fp64, fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def round(arg0: _Any, /) -> tensor:
    """libdevice's ``round``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def rsqrt(arg0: _Any, /) -> tensor:
    """libdevice's ``rsqrt``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def rsqrt_rn(arg0: _Any, /) -> tensor:
    """libdevice's ``rsqrt_rn``, elementwise, over operands broadcast to one shape: (fp32) -> fp32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def sad(arg0: _Any, arg1: _Any, arg2: _Any, /) -> tensor:
    """libdevice's ``sad``, elementwise, over operands broadcast to one shape: (int32, int32, uint32) -> int32; (uint32, uint32, uint32) -> uint32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def saturatef(arg0: _Any, /) -> tensor:
    """libdevice's ``saturatef``, elementwise, over operands broadcast to one shape: (fp32) -> fp32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def scalbn(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``scalbn``, elementwise, over operands broadcast to one shape: (fp32, int32) -> fp32; (fp64, int32) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def signbit(arg0: _Any, /) -> tensor:
    """libdevice's ``signbit``, elementwise, over operands broadcast to one shape: (fp32) -> int32; (fp64) -> int32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def sin(arg0: _Any, /) -> tensor:
    """libdevice's ``sin``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def sinh(arg0: _Any, /) -> tensor:
    """libdevice's ``sinh``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def sinpi(arg0: _Any, /) -> tensor:
    """libdevice's ``sinpi``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def sqrt(arg0: _Any, /) -> tensor:
    """libdevice's ``sqrt``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def sqrt_rd(arg0: _Any, /) -> tensor:
    """libdevice's ``sqrt_rd``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def sqrt_rn(arg0: _Any, /) -> tensor:
    """libdevice's ``sqrt_rn``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def sqrt_ru(arg0: _Any, /) -> tensor:
    """libdevice's ``sqrt_ru``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def sqrt_rz(arg0: _Any, /) -> tensor:
    """libdevice's ``sqrt_rz``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def sub_rd(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``sub_rd``, elementwise, over operands broadcast to one shape: (fp32, fp32) -> fp32; (fp64, fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def sub_rn(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``sub_rn``, elementwise, over operands broadcast to one shape: (fp32, fp32) -> fp32; (fp64, fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def sub_ru(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``sub_ru``, elementwise, over operands broadcast to one shape: (fp32, fp32) -> fp32; (fp64, fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def sub_rz(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``sub_rz``, elementwise, over operands broadcast to one shape: (fp32, fp32) -> fp32; (fp64, fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def tan(arg0: _Any, /) -> tensor:
    """libdevice's ``tan``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def tanh(arg0: _Any, /) -> tensor:
    """libdevice's ``tanh``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def tgamma(arg0: _Any, /) -> tensor:
    """libdevice's ``tgamma``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def trunc(arg0: _Any, /) -> tensor:
    """libdevice's ``trunc``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def uint2double_rn(arg0: _Any, /) -> tensor:
    """libdevice's ``uint2double_rn``, elementwise, over operands broadcast to one shape: (uint32) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def uint2float_rd(arg0: _Any, /) -> tensor:
    """libdevice's ``uint2float_rd``, elementwise, over operands broadcast to one shape: (uint32) -> fp32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def uint2float_rn(arg0: _Any, /) -> tensor:
    """libdevice's ``uint2float_rn``, elementwise, over operands broadcast to one shape: (uint32) -> fp32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def uint2float_ru(arg0: _Any, /) -> tensor:
    """libdevice's ``uint2float_ru``, elementwise, over operands broadcast to one shape: (uint32) -> fp32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def uint2float_rz(arg0: _Any, /) -> tensor:
    """libdevice's ``uint2float_rz``, elementwise, over operands broadcast to one shape: (uint32) -> fp32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def uint_as_float(arg0: _Any, /) -> tensor:
    """libdevice's ``uint_as_float``, elementwise, over operands broadcast to one shape: (uint32) -> fp32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def ull2double_rd(arg0: _Any, /) -> tensor:
    """libdevice's ``ull2double_rd``, elementwise, over operands broadcast to one shape: (uint64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def ull2double_rn(arg0: _Any, /) -> tensor:
    """libdevice's ``ull2double_rn``, elementwise, over operands broadcast to one shape: (uint64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def ull2double_ru(arg0: _Any, /) -> tensor:
    """libdevice's ``ull2double_ru``, elementwise, over operands broadcast to one shape: (uint64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def ull2double_rz(arg0: _Any, /) -> tensor:
    """libdevice's ``ull2double_rz``, elementwise, over operands broadcast to one shape: (uint64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def ull2float_rd(arg0: _Any, /) -> tensor:
    """libdevice's ``ull2float_rd``, elementwise, over operands broadcast to one shape: (uint64) -> fp32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def ull2float_rn(arg0: _Any, /) -> tensor:
    """libdevice's ``ull2float_rn``, elementwise, over operands broadcast to one shape: (uint64) -> fp32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def ull2float_ru(arg0: _Any, /) -> tensor:
    """libdevice's ``ull2float_ru``, elementwise, over operands broadcast to one shape: (uint64) -> fp32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def ull2float_rz(arg0: _Any, /) -> tensor:
    """libdevice's ``ull2float_rz``, elementwise, over operands broadcast to one shape: (uint64) -> fp32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def y0(arg0: _Any, /) -> tensor:
    """libdevice's ``y0``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def y1(arg0: _Any, /) -> tensor:
    """libdevice's ``y1``, elementwise, over operands broadcast to one shape: (fp32) -> fp32; (fp64) -> fp64.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""

def yn(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``yn``, elementwise, over operands broadcast to one shape: (int32, fp64) -> fp64; (int32, fp32) -> fp32.

    CompilationError for dtypes that promote to none of these and for shapes that do not broadcast."""
