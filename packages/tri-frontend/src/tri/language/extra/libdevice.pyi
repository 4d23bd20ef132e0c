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
    """libdevice's ``abs``: (fp32) -> fp32; (fp64) -> fp64; (int32) -> int32; (int64) -> int64."""

def acos(arg0: _Any, /) -> tensor:
    """libdevice's ``acos``: (fp32) -> fp32; (fp64) -> fp64."""

def acosh(arg0: _Any, /) -> tensor:
    """libdevice's ``acosh``: (fp32) -> fp32; (fp64) -> fp64."""

def add_rd(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``add_rd``: (fp32, fp32) -> fp32; (fp64, fp64) -> fp64."""

def add_rn(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``add_rn``: (fp32, fp32) -> fp32; (fp64, fp64) -> fp64."""

def add_ru(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``add_ru``: (fp32, fp32) -> fp32; (fp64, fp64) -> fp64."""

def add_rz(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``add_rz``: (fp32, fp32) -> fp32; (fp64, fp64) -> fp64."""

def asin(arg0: _Any, /) -> tensor:
    """libdevice's ``asin``: (fp32) -> fp32; (fp64) -> fp64."""

def asinh(arg0: _Any, /) -> tensor:
    """libdevice's ``asinh``: (fp32) -> fp32; (fp64) -> fp64."""

def atan(arg0: _Any, /) -> tensor:
    """libdevice's ``atan``: (fp32) -> fp32; (fp64) -> fp64."""

def atan2(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``atan2``: (fp32, fp32) -> fp32; (fp64, fp64) -> fp64."""

def atanh(arg0: _Any, /) -> tensor:
    """libdevice's ``atanh``: (fp32) -> fp32; (fp64) -> fp64."""

def brev(arg0: _Any, /) -> tensor:
    """libdevice's ``brev``: (int32) -> int32; (int64) -> int64."""

def byte_perm(arg0: _Any, arg1: _Any, arg2: _Any, /) -> tensor:
    """libdevice's ``byte_perm``: (int32, int32, int32) -> int32."""

def cbrt(arg0: _Any, /) -> tensor:
    """libdevice's ``cbrt``: (fp32) -> fp32; (fp64) -> fp64."""

def ceil(arg0: _Any, /) -> tensor:
    """libdevice's ``ceil``: (fp32) -> fp32; (fp64) -> fp64."""

def clz(arg0: _Any, /) -> tensor:
    """libdevice's ``clz``: (int32) -> int32; (int64) -> int32."""

def copysign(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``copysign``: (fp32, fp32) -> fp32; (fp64, fp64) -> fp64."""

def cos(arg0: _Any, /) -> tensor:
    """libdevice's ``cos``: (fp32) -> fp32; (fp64) -> fp64."""

def cosh(arg0: _Any, /) -> tensor:
    """libdevice's ``cosh``: (fp32) -> fp32; (fp64) -> fp64."""

def cospi(arg0: _Any, /) -> tensor:
    """libdevice's ``cospi``: (fp32) -> fp32; (fp64) -> fp64."""

def cyl_bessel_i0(arg0: _Any, /) -> tensor:
    """libdevice's ``cyl_bessel_i0``: (fp32) -> fp32; (fp64) -> fp64."""

def cyl_bessel_i1(arg0: _Any, /) -> tensor:
    """libdevice's ``cyl_bessel_i1``: (fp32) -> fp32; (fp64) -> fp64."""

def div_rd(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``div_rd``: (fp32, fp32) -> fp32; (fp64, fp64) -> fp64."""

def div_rn(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``div_rn``: (fp32, fp32) -> fp32; (fp64, fp64) -> fp64."""

def div_ru(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``div_ru``: (fp32, fp32) -> fp32; (fp64, fp64) -> fp64."""

def div_rz(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``div_rz``: (fp32, fp32) -> fp32; (fp64, fp64) -> fp64."""

def double2float_rd(arg0: _Any, /) -> tensor:
    """libdevice's ``double2float_rd``: (fp64) -> fp32."""

def double2float_rn(arg0: _Any, /) -> tensor:
    """libdevice's ``double2float_rn``: (fp64) -> fp32."""

def double2float_ru(arg0: _Any, /) -> tensor:
    """libdevice's ``double2float_ru``: (fp64) -> fp32."""

def double2float_rz(arg0: _Any, /) -> tensor:
    """libdevice's ``double2float_rz``: (fp64) -> fp32."""

def double2hiint(arg0: _Any, /) -> tensor:
    """libdevice's ``double2hiint``: (fp64) -> int32."""

def double2int_rd(arg0: _Any, /) -> tensor:
    """libdevice's ``double2int_rd``: (fp64) -> int32."""

def double2int_rn(arg0: _Any, /) -> tensor:
    """libdevice's ``double2int_rn``: (fp64) -> int32."""

def double2int_ru(arg0: _Any, /) -> tensor:
    """libdevice's ``double2int_ru``: (fp64) -> int32."""

def double2int_rz(arg0: _Any, /) -> tensor:
    """libdevice's ``double2int_rz``: (fp64) -> int32."""

def double2ll_rd(arg0: _Any, /) -> tensor:
    """libdevice's ``double2ll_rd``: (fp64) -> int64."""

def double2ll_rn(arg0: _Any, /) -> tensor:
    """libdevice's ``double2ll_rn``: (fp64) -> int64."""

def double2ll_ru(arg0: _Any, /) -> tensor:
    """libdevice's ``double2ll_ru``: (fp64) -> int64."""

def double2ll_rz(arg0: _Any, /) -> tensor:
    """libdevice's ``double2ll_rz``: (fp64) -> int64."""

def double2loint(arg0: _Any, /) -> tensor:
    """libdevice's ``double2loint``: (fp64) -> int32."""

def double2uint_rd(arg0: _Any, /) -> tensor:
    """libdevice's ``double2uint_rd``: (fp64) -> int32."""

def double2uint_rn(arg0: _Any, /) -> tensor:
    """libdevice's ``double2uint_rn``: (fp64) -> int32."""

def double2uint_ru(arg0: _Any, /) -> tensor:
    """libdevice's ``double2uint_ru``: (fp64) -> int32."""

def double2uint_rz(arg0: _Any, /) -> tensor:
    """libdevice's ``double2uint_rz``: (fp64) -> int32."""

def double2ull_rd(arg0: _Any, /) -> tensor:
    """libdevice's ``double2ull_rd``: (fp64) -> int64."""

def double2ull_rn(arg0: _Any, /) -> tensor:
    """libdevice's ``double2ull_rn``: (fp64) -> int64."""

def double2ull_ru(arg0: _Any, /) -> tensor:
    """libdevice's ``double2ull_ru``: (fp64) -> int64."""

def double2ull_rz(arg0: _Any, /) -> tensor:
    """libdevice's ``double2ull_rz``: (fp64) -> int64."""

def double_as_longlong(arg0: _Any, /) -> tensor:
    """libdevice's ``double_as_longlong``: (fp64) -> int64."""

def erf(arg0: _Any, /) -> tensor:
    """libdevice's ``erf``: (fp32) -> fp32; (fp64) -> fp64."""

def erfc(arg0: _Any, /) -> tensor:
    """libdevice's ``erfc``: (fp32) -> fp32; (fp64) -> fp64."""

def erfcinv(arg0: _Any, /) -> tensor:
    """libdevice's ``erfcinv``: (fp32) -> fp32; (fp64) -> fp64."""

def erfcx(arg0: _Any, /) -> tensor:
    """libdevice's ``erfcx``: (fp32) -> fp32; (fp64) -> fp64."""

def erfinv(arg0: _Any, /) -> tensor:
    """libdevice's ``erfinv``: (fp32) -> fp32; (fp64) -> fp64."""

def exp(arg0: _Any, /) -> tensor:
    """libdevice's ``exp``: (fp32) -> fp32; (fp64) -> fp64."""

def exp10(arg0: _Any, /) -> tensor:
    """libdevice's ``exp10``: (fp32) -> fp32; (fp64) -> fp64."""

def exp2(arg0: _Any, /) -> tensor:
    """libdevice's ``exp2``: (fp32) -> fp32; (fp64) -> fp64."""

def expm1(arg0: _Any, /) -> tensor:
    """libdevice's ``expm1``: (fp32) -> fp32; (fp64) -> fp64."""

def fast_cosf(arg0: _Any, /) -> tensor:
    """libdevice's ``fast_cosf``: (fp32) -> fp32."""

def fast_dividef(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``fast_dividef``: (fp32, fp32) -> fp32."""

def fast_exp10f(arg0: _Any, /) -> tensor:
    """libdevice's ``fast_exp10f``: (fp32) -> fp32."""

def fast_expf(arg0: _Any, /) -> tensor:
    """libdevice's ``fast_expf``: (fp32) -> fp32."""

def fast_log10f(arg0: _Any, /) -> tensor:
    """libdevice's ``fast_log10f``: (fp32) -> fp32."""

def fast_log2f(arg0: _Any, /) -> tensor:
    """libdevice's ``fast_log2f``: (fp32) -> fp32."""

def fast_logf(arg0: _Any, /) -> tensor:
    """libdevice's ``fast_logf``: (fp32) -> fp32."""

def fast_powf(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``fast_powf``: (fp32, fp32) -> fp32."""

def fast_sinf(arg0: _Any, /) -> tensor:
    """libdevice's ``fast_sinf``: (fp32) -> fp32."""

def fast_tanf(arg0: _Any, /) -> tensor:
    """libdevice's ``fast_tanf``: (fp32) -> fp32."""

def fast_tanhf(arg0: _Any, /) -> tensor:
    """libdevice's ``fast_tanhf``: (fp32) -> fp32."""

def fdim(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``fdim``: (fp32, fp32) -> fp32; (fp64, fp64) -> fp64."""

def ffs(arg0: _Any, /) -> tensor:
    """libdevice's ``ffs``: (int32) -> int32; (int64) -> int32."""

def finitef(arg0: _Any, /) -> tensor:
    """libdevice's ``finitef``: (fp32) -> int32."""

def float2int_rd(arg0: _Any, /) -> tensor:
    """libdevice's ``float2int_rd``: (fp32) -> int32."""

def float2int_rn(arg0: _Any, /) -> tensor:
    """libdevice's ``float2int_rn``: (fp32) -> int32."""

def float2int_ru(arg0: _Any, /) -> tensor:
    """libdevice's ``float2int_ru``: (fp32) -> int32."""

def float2int_rz(arg0: _Any, /) -> tensor:
    """libdevice's ``float2int_rz``: (fp32) -> int32."""

def float2ll_rd(arg0: _Any, /) -> tensor:
    """libdevice's ``float2ll_rd``: (fp32) -> int64."""

def float2ll_rn(arg0: _Any, /) -> tensor:
    """libdevice's ``float2ll_rn``: (fp32) -> int64."""

def float2ll_ru(arg0: _Any, /) -> tensor:
    """libdevice's ``float2ll_ru``: (fp32) -> int64."""

def float2ll_rz(arg0: _Any, /) -> tensor:
    """libdevice's ``float2ll_rz``: (fp32) -> int64."""

def float2uint_rd(arg0: _Any, /) -> tensor:
    """libdevice's ``float2uint_rd``: (fp32) -> int32."""

def float2uint_rn(arg0: _Any, /) -> tensor:
    """libdevice's ``float2uint_rn``: (fp32) -> int32."""

def float2uint_ru(arg0: _Any, /) -> tensor:
    """libdevice's ``float2uint_ru``: (fp32) -> int32."""

def float2uint_rz(arg0: _Any, /) -> tensor:
    """libdevice's ``float2uint_rz``: (fp32) -> int32."""

def float2ull_rd(arg0: _Any, /) -> tensor:
    """libdevice's ``float2ull_rd``: (fp32) -> int64."""

def float2ull_rn(arg0: _Any, /) -> tensor:
    """libdevice's ``float2ull_rn``: (fp32) -> int64."""

def float2ull_ru(arg0: _Any, /) -> tensor:
    """libdevice's ``float2ull_ru``: (fp32) -> int64."""

def float2ull_rz(arg0: _Any, /) -> tensor:
    """libdevice's ``float2ull_rz``: (fp32) -> int64."""

def float_as_int(arg0: _Any, /) -> tensor:
    """libdevice's ``float_as_int``: (fp32) -> int32."""

def float_as_uint(arg0: _Any, /) -> tensor:
    """libdevice's ``float_as_uint``: (fp32) -> int32."""

def floor(arg0: _Any, /) -> tensor:
    """libdevice's ``floor``: (fp32) -> fp32; (fp64) -> fp64."""

def fma(arg0: _Any, arg1: _Any, arg2: _Any, /) -> tensor:
    """libdevice's ``fma``: (fp32, fp32, fp32) -> fp32; (fp64, fp64, fp64) -> fp64."""

def fma_rd(arg0: _Any, arg1: _Any, arg2: _Any, /) -> tensor:
    """libdevice's ``fma_rd``: (fp32, fp32, fp32) -> fp32; (fp64, fp64, fp64) -> fp64."""

def fma_rn(arg0: _Any, arg1: _Any, arg2: _Any, /) -> tensor:
    """libdevice's ``fma_rn``: (fp32, fp32, fp32) -> fp32; (fp64, fp64, fp64) -> fp64."""

def fma_ru(arg0: _Any, arg1: _Any, arg2: _Any, /) -> tensor:
    """libdevice's ``fma_ru``: (fp32, fp32, fp32) -> fp32; (fp64, fp64, fp64) -> fp64."""

def fma_rz(arg0: _Any, arg1: _Any, arg2: _Any, /) -> tensor:
    """libdevice's ``fma_rz``: (fp32, fp32, fp32) -> fp32; (fp64, fp64, fp64) -> fp64."""

def fmod(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``fmod``: (fp32, fp32) -> fp32; (fp64, fp64) -> fp64."""

def hadd(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``hadd``: (int32, int32) -> int32; (uint32, uint32) -> uint32."""

def hiloint2double(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``hiloint2double``: (int32, int32) -> fp64."""

def hypot(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``hypot``: (fp32, fp32) -> fp32; (fp64, fp64) -> fp64."""

def ilogb(arg0: _Any, /) -> tensor:
    """libdevice's ``ilogb``: (fp32) -> int32; (fp64) -> int32."""

def int2double_rn(arg0: _Any, /) -> tensor:
    """libdevice's ``int2double_rn``: (int32) -> fp64."""

def int2float_rd(arg0: _Any, /) -> tensor:
    """libdevice's ``int2float_rd``: (int32) -> fp32."""

def int2float_rn(arg0: _Any, /) -> tensor:
    """libdevice's ``int2float_rn``: (int32) -> fp32."""

def int2float_ru(arg0: _Any, /) -> tensor:
    """libdevice's ``int2float_ru``: (int32) -> fp32."""

def int2float_rz(arg0: _Any, /) -> tensor:
    """libdevice's ``int2float_rz``: (int32) -> fp32."""

def int_as_float(arg0: _Any, /) -> tensor:
    """libdevice's ``int_as_float``: (int32) -> fp32."""

def isfinited(arg0: _Any, /) -> tensor:
    """libdevice's ``isfinited``: (fp64) -> int32."""

def isinf(arg0: _Any, /) -> tensor:
    """libdevice's ``isinf``: (fp32) -> int32; (fp64) -> int32."""

def isnan(arg0: _Any, /) -> tensor:
    """libdevice's ``isnan``: (fp32) -> int32; (fp64) -> int32."""

def j0(arg0: _Any, /) -> tensor:
    """libdevice's ``j0``: (fp32) -> fp32; (fp64) -> fp64."""

def j1(arg0: _Any, /) -> tensor:
    """libdevice's ``j1``: (fp32) -> fp32; (fp64) -> fp64."""

def jn(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``jn``: (int32, fp64) -> fp64; (int32, fp32) -> fp32."""

def ldexp(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``ldexp``: (fp32, int32) -> fp32; (fp64, int32) -> fp64."""

def lgamma(arg0: _Any, /) -> tensor:
    """libdevice's ``lgamma``: (fp32) -> fp32; (fp64) -> fp64."""

def ll2double_rd(arg0: _Any, /) -> tensor:
    """libdevice's ``ll2double_rd``: (int64) -> fp64."""

def ll2double_rn(arg0: _Any, /) -> tensor:
    """libdevice's ``ll2double_rn``: (int64) -> fp64."""

def ll2double_ru(arg0: _Any, /) -> tensor:
    """libdevice's ``ll2double_ru``: (int64) -> fp64."""

def ll2double_rz(arg0: _Any, /) -> tensor:
    """libdevice's ``ll2double_rz``: (int64) -> fp64."""

def ll2float_rd(arg0: _Any, /) -> tensor:
    """libdevice's ``ll2float_rd``: (int64) -> fp32."""

def ll2float_rn(arg0: _Any, /) -> tensor:
    """libdevice's ``ll2float_rn``: (int64) -> fp32."""

def ll2float_ru(arg0: _Any, /) -> tensor:
    """libdevice's ``ll2float_ru``: (int64) -> fp32."""

def ll2float_rz(arg0: _Any, /) -> tensor:
    """libdevice's ``ll2float_rz``: (int64) -> fp32."""

def llrint(arg0: _Any, /) -> tensor:
    """libdevice's ``llrint``: (fp32) -> int64; (fp64) -> int64."""

def llround(arg0: _Any, /) -> tensor:
    """libdevice's ``llround``: (fp32) -> int64; (fp64) -> int64."""

def log(arg0: _Any, /) -> tensor:
    """libdevice's ``log``: (fp32) -> fp32; (fp64) -> fp64."""

def log10(arg0: _Any, /) -> tensor:
    """libdevice's ``log10``: (fp32) -> fp32; (fp64) -> fp64."""

def log1p(arg0: _Any, /) -> tensor:
    """libdevice's ``log1p``: (fp32) -> fp32; (fp64) -> fp64."""

def log2(arg0: _Any, /) -> tensor:
    """libdevice's ``log2``: (fp32) -> fp32; (fp64) -> fp64."""

def logb(arg0: _Any, /) -> tensor:
    """libdevice's ``logb``: (fp32) -> fp32; (fp64) -> fp64."""

def longlong_as_double(arg0: _Any, /) -> tensor:
    """libdevice's ``longlong_as_double``: (int64) -> fp64."""

def mul24(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``mul24``: (int32, int32) -> int32; (uint32, uint32) -> uint32."""

def mul_rd(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``mul_rd``: (fp32, fp32) -> fp32; (fp64, fp64) -> fp64."""

def mul_rn(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``mul_rn``: (fp32, fp32) -> fp32; (fp64, fp64) -> fp64."""

def mul_ru(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``mul_ru``: (fp32, fp32) -> fp32; (fp64, fp64) -> fp64."""

def mul_rz(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``mul_rz``: (fp32, fp32) -> fp32; (fp64, fp64) -> fp64."""

def mulhi(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``mulhi``: (int32, int32) -> int32; (uint32, uint32) -> uint32; (int64, int64) -> int64; (uint64, uint64) -> uint64."""

def nearbyint(arg0: _Any, /) -> tensor:
    """libdevice's ``nearbyint``: (fp32) -> fp32; (fp64) -> fp64."""

def nextafter(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``nextafter``: (fp32, fp32) -> fp32; (fp64, fp64) -> fp64."""

def norm3d(arg0: _Any, arg1: _Any, arg2: _Any, /) -> tensor:
    """libdevice's ``norm3d``: (fp32, fp32, fp32) -> fp32; (fp64, fp64, fp64) -> fp64."""

def norm4d(arg0: _Any, arg1: _Any, arg2: _Any, arg3: _Any, /) -> tensor:
    """libdevice's ``norm4d``: (fp32, fp32, fp32, fp32) -> fp32; (fp64, fp64, fp64, fp64) -> fp64."""

def normcdf(arg0: _Any, /) -> tensor:
    """libdevice's ``normcdf``: (fp32) -> fp32; (fp64) -> fp64."""

def normcdfinv(arg0: _Any, /) -> tensor:
    """libdevice's ``normcdfinv``: (fp32) -> fp32; (fp64) -> fp64."""

def popc(arg0: _Any, /) -> tensor:
    """libdevice's ``popc``: (int32) -> int32; (int64) -> int32."""

def pow(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``pow``: (fp32, fp32) -> fp32; (fp32, int32) -> fp32; (fp64, fp64) -> fp64; (fp64, int32) -> fp64."""

def rcbrt(arg0: _Any, /) -> tensor:
    """libdevice's ``rcbrt``: (fp32) -> fp32; (fp64) -> fp64."""

def rcp64h(arg0: _Any, /) -> tensor:
    """libdevice's ``rcp64h``: (fp64) -> fp64."""

def rcp_rd(arg0: _Any, /) -> tensor:
    """libdevice's ``rcp_rd``: (fp32) -> fp32; (fp64) -> fp64."""

def rcp_rn(arg0: _Any, /) -> tensor:
    """libdevice's ``rcp_rn``: (fp32) -> fp32; (fp64) -> fp64."""

def rcp_ru(arg0: _Any, /) -> tensor:
    """libdevice's ``rcp_ru``: (fp32) -> fp32; (fp64) -> fp64."""

def rcp_rz(arg0: _Any, /) -> tensor:
    """libdevice's ``rcp_rz``: (fp32) -> fp32; (fp64) -> fp64."""

def remainder(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``remainder``: (fp32, fp32) -> fp32; (fp64, fp64) -> fp64."""

def rhadd(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``rhadd``: (int32, int32) -> int32; (uint32, uint32) -> uint32."""

def rhypot(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``rhypot``: (fp32, fp32) -> fp32; (fp64, fp64) -> fp64."""

def rint(arg0: _Any, /) -> tensor:
    """libdevice's ``rint``: (fp32) -> fp32; (fp64) -> fp64."""

def rnorm3d(arg0: _Any, arg1: _Any, arg2: _Any, /) -> tensor:
    """libdevice's ``rnorm3d``: (fp32, fp32, fp32) -> fp32; (fp64, fp64, fp64) -> fp64."""

def rnorm4d(arg0: _Any, arg1: _Any, arg2: _Any, arg3: _Any, /) -> tensor:
    """libdevice's ``rnorm4d``: (fp32, fp32, fp32, fp32) -> fp32; (fp64, fp64, fp64, fp64) -> fp64."""

def round(arg0: _Any, /) -> tensor:
    """libdevice's ``round``: (fp32) -> fp32; (fp64) -> fp64."""

def rsqrt(arg0: _Any, /) -> tensor:
    """libdevice's ``rsqrt``: (fp32) -> fp32; (fp64) -> fp64."""

def rsqrt_rn(arg0: _Any, /) -> tensor:
    """libdevice's ``rsqrt_rn``: (fp32) -> fp32."""

def sad(arg0: _Any, arg1: _Any, arg2: _Any, /) -> tensor:
    """libdevice's ``sad``: (int32, int32, uint32) -> int32; (uint32, uint32, uint32) -> uint32."""

def saturatef(arg0: _Any, /) -> tensor:
    """libdevice's ``saturatef``: (fp32) -> fp32."""

def scalbn(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``scalbn``: (fp32, int32) -> fp32; (fp64, int32) -> fp64."""

def signbit(arg0: _Any, /) -> tensor:
    """libdevice's ``signbit``: (fp32) -> int32; (fp64) -> int32."""

def sin(arg0: _Any, /) -> tensor:
    """libdevice's ``sin``: (fp32) -> fp32; (fp64) -> fp64."""

def sinh(arg0: _Any, /) -> tensor:
    """libdevice's ``sinh``: (fp32) -> fp32; (fp64) -> fp64."""

def sinpi(arg0: _Any, /) -> tensor:
    """libdevice's ``sinpi``: (fp32) -> fp32; (fp64) -> fp64."""

def sqrt(arg0: _Any, /) -> tensor:
    """libdevice's ``sqrt``: (fp32) -> fp32; (fp64) -> fp64."""

def sqrt_rd(arg0: _Any, /) -> tensor:
    """libdevice's ``sqrt_rd``: (fp32) -> fp32; (fp64) -> fp64."""

def sqrt_rn(arg0: _Any, /) -> tensor:
    """libdevice's ``sqrt_rn``: (fp32) -> fp32; (fp64) -> fp64."""

def sqrt_ru(arg0: _Any, /) -> tensor:
    """libdevice's ``sqrt_ru``: (fp32) -> fp32; (fp64) -> fp64."""

def sqrt_rz(arg0: _Any, /) -> tensor:
    """libdevice's ``sqrt_rz``: (fp32) -> fp32; (fp64) -> fp64."""

def sub_rd(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``sub_rd``: (fp32, fp32) -> fp32; (fp64, fp64) -> fp64."""

def sub_rn(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``sub_rn``: (fp32, fp32) -> fp32; (fp64, fp64) -> fp64."""

def sub_ru(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``sub_ru``: (fp32, fp32) -> fp32; (fp64, fp64) -> fp64."""

def sub_rz(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``sub_rz``: (fp32, fp32) -> fp32; (fp64, fp64) -> fp64."""

def tan(arg0: _Any, /) -> tensor:
    """libdevice's ``tan``: (fp32) -> fp32; (fp64) -> fp64."""

def tanh(arg0: _Any, /) -> tensor:
    """libdevice's ``tanh``: (fp32) -> fp32; (fp64) -> fp64."""

def tgamma(arg0: _Any, /) -> tensor:
    """libdevice's ``tgamma``: (fp32) -> fp32; (fp64) -> fp64."""

def trunc(arg0: _Any, /) -> tensor:
    """libdevice's ``trunc``: (fp32) -> fp32; (fp64) -> fp64."""

def uint2double_rn(arg0: _Any, /) -> tensor:
    """libdevice's ``uint2double_rn``: (uint32) -> fp64."""

def uint2float_rd(arg0: _Any, /) -> tensor:
    """libdevice's ``uint2float_rd``: (uint32) -> fp32."""

def uint2float_rn(arg0: _Any, /) -> tensor:
    """libdevice's ``uint2float_rn``: (uint32) -> fp32."""

def uint2float_ru(arg0: _Any, /) -> tensor:
    """libdevice's ``uint2float_ru``: (uint32) -> fp32."""

def uint2float_rz(arg0: _Any, /) -> tensor:
    """libdevice's ``uint2float_rz``: (uint32) -> fp32."""

def uint_as_float(arg0: _Any, /) -> tensor:
    """libdevice's ``uint_as_float``: (uint32) -> fp32."""

def ull2double_rd(arg0: _Any, /) -> tensor:
    """libdevice's ``ull2double_rd``: (uint64) -> fp64."""

def ull2double_rn(arg0: _Any, /) -> tensor:
    """libdevice's ``ull2double_rn``: (uint64) -> fp64."""

def ull2double_ru(arg0: _Any, /) -> tensor:
    """libdevice's ``ull2double_ru``: (uint64) -> fp64."""

def ull2double_rz(arg0: _Any, /) -> tensor:
    """libdevice's ``ull2double_rz``: (uint64) -> fp64."""

def ull2float_rd(arg0: _Any, /) -> tensor:
    """libdevice's ``ull2float_rd``: (uint64) -> fp32."""

def ull2float_rn(arg0: _Any, /) -> tensor:
    """libdevice's ``ull2float_rn``: (uint64) -> fp32."""

def ull2float_ru(arg0: _Any, /) -> tensor:
    """libdevice's ``ull2float_ru``: (uint64) -> fp32."""

def ull2float_rz(arg0: _Any, /) -> tensor:
    """libdevice's ``ull2float_rz``: (uint64) -> fp32."""

def y0(arg0: _Any, /) -> tensor:
    """libdevice's ``y0``: (fp32) -> fp32; (fp64) -> fp64."""

def y1(arg0: _Any, /) -> tensor:
    """libdevice's ``y1``: (fp32) -> fp32; (fp64) -> fp64."""

def yn(arg0: _Any, arg1: _Any, /) -> tensor:
    """libdevice's ``yn``: (int32, fp64) -> fp64; (int32, fp32) -> fp32."""
