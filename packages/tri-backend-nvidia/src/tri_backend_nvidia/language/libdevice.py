"""``tl.extra.cuda.libdevice``: the language's libdevice, and the bitcode symbols that stand for it here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tri.language.libdevice import FUNCTIONS

__all__ = [*FUNCTIONS, "SIMULATED_SYMBOLS", "SYMBOLS"]

#: ``function:operands=symbol`` without prefix (`sqrtf` is approximate, the root that is rounded stands for it); operands as letters: f fp32, d fp64, i and u 32 bits, l and L 64
_TABLE = """
abs:f=fabsf abs:d=fabs abs:i=abs abs:l=llabs acos:f=acosf acos:d=acos acosh:f=acoshf acosh:d=acosh
add_rd:ff=fadd_rd add_rd:dd=dadd_rd add_rn:ff=fadd_rn add_rn:dd=dadd_rn add_ru:ff=fadd_ru add_ru:dd=dadd_ru
add_rz:ff=fadd_rz add_rz:dd=dadd_rz asin:f=asinf asin:d=asin asinh:f=asinhf asinh:d=asinh atan:f=atanf
atan:d=atan atan2:ff=atan2f atan2:dd=atan2 atanh:f=atanhf atanh:d=atanh brev:i=brev brev:l=brevll
byte_perm:iii=byte_perm cbrt:f=cbrtf cbrt:d=cbrt ceil:f=ceilf ceil:d=ceil clz:i=clz clz:l=clzll
copysign:ff=copysignf copysign:dd=copysign cos:f=cosf cos:d=cos cosh:f=coshf cosh:d=cosh cospi:f=cospif
cospi:d=cospi cyl_bessel_i0:f=cyl_bessel_i0f cyl_bessel_i0:d=cyl_bessel_i0 cyl_bessel_i1:f=cyl_bessel_i1f
cyl_bessel_i1:d=cyl_bessel_i1 div_rd:ff=fdiv_rd div_rd:dd=ddiv_rd div_rn:ff=fdiv_rn div_rn:dd=ddiv_rn
div_ru:ff=fdiv_ru div_ru:dd=ddiv_ru div_rz:ff=fdiv_rz div_rz:dd=ddiv_rz double2float_rd:d=double2float_rd
double2float_rn:d=double2float_rn double2float_ru:d=double2float_ru double2float_rz:d=double2float_rz
double2hiint:d=double2hiint double2int_rd:d=double2int_rd double2int_rn:d=double2int_rn
double2int_ru:d=double2int_ru double2int_rz:d=double2int_rz double2ll_rd:d=double2ll_rd
double2ll_rn:d=double2ll_rn double2ll_ru:d=double2ll_ru double2ll_rz:d=double2ll_rz double2loint:d=double2loint
double2uint_rd:d=double2uint_rd double2uint_rn:d=double2uint_rn double2uint_ru:d=double2uint_ru
double2uint_rz:d=double2uint_rz double2ull_rd:d=double2ull_rd double2ull_rn:d=double2ull_rn
double2ull_ru:d=double2ull_ru double2ull_rz:d=double2ull_rz double_as_longlong:d=double_as_longlong erf:f=erff
erf:d=erf erfc:f=erfcf erfc:d=erfc erfcinv:f=erfcinvf erfcinv:d=erfcinv erfcx:f=erfcxf erfcx:d=erfcx
erfinv:f=erfinvf erfinv:d=erfinv exp:f=expf exp:d=exp exp10:f=exp10f exp10:d=exp10 exp2:f=exp2f exp2:d=exp2
expm1:f=expm1f expm1:d=expm1 fast_cosf:f=fast_cosf fast_dividef:ff=fast_fdividef fast_exp10f:f=fast_exp10f
fast_expf:f=fast_expf fast_log10f:f=fast_log10f fast_log2f:f=fast_log2f fast_logf:f=fast_logf
fast_powf:ff=fast_powf fast_sinf:f=fast_sinf fast_tanf:f=fast_tanf fdim:ff=fdimf fdim:dd=fdim ffs:i=ffs
ffs:l=ffsll finitef:f=finitef float2int_rd:f=float2int_rd float2int_rn:f=float2int_rn
float2int_ru:f=float2int_ru float2int_rz:f=float2int_rz float2ll_rd:f=float2ll_rd float2ll_rn:f=float2ll_rn
float2ll_ru:f=float2ll_ru float2ll_rz:f=float2ll_rz float2uint_rd:f=float2uint_rd float2uint_rn:f=float2uint_rn
float2uint_ru:f=float2uint_ru float2uint_rz:f=float2uint_rz float2ull_rd:f=float2ull_rd
float2ull_rn:f=float2ull_rn float2ull_ru:f=float2ull_ru float2ull_rz:f=float2ull_rz float_as_int:f=float_as_int
float_as_uint:f=float_as_uint floor:f=floorf floor:d=floor fma:fff=fmaf fma:ddd=fma fma_rd:fff=fmaf_rd
fma_rd:ddd=fma_rd fma_rn:fff=fmaf_rn fma_rn:ddd=fma_rn fma_ru:fff=fmaf_ru fma_ru:ddd=fma_ru fma_rz:fff=fmaf_rz
fma_rz:ddd=fma_rz fmod:ff=fmodf fmod:dd=fmod hadd:ii=hadd hadd:uu=uhadd hiloint2double:ii=hiloint2double
hypot:ff=hypotf hypot:dd=hypot ilogb:f=ilogbf ilogb:d=ilogb int2double_rn:i=int2double_rn
int2float_rd:i=int2float_rd int2float_rn:i=int2float_rn int2float_ru:i=int2float_ru int2float_rz:i=int2float_rz
int_as_float:i=int_as_float isfinited:d=isfinited isinf:f=isinff isinf:d=isinfd isnan:f=isnanf isnan:d=isnand
j0:f=j0f j0:d=j0 j1:f=j1f j1:d=j1 jn:if=jnf jn:id=jn ldexp:fi=ldexpf ldexp:di=ldexp lgamma:f=lgammaf
lgamma:d=lgamma ll2double_rd:l=ll2double_rd ll2double_rn:l=ll2double_rn ll2double_ru:l=ll2double_ru
ll2double_rz:l=ll2double_rz ll2float_rd:l=ll2float_rd ll2float_rn:l=ll2float_rn ll2float_ru:l=ll2float_ru
ll2float_rz:l=ll2float_rz llrint:f=llrintf llrint:d=llrint llround:f=llroundf llround:d=llround log:f=logf
log:d=log log10:f=log10f log10:d=log10 log1p:f=log1pf log1p:d=log1p log2:f=log2f log2:d=log2 logb:f=logbf
logb:d=logb longlong_as_double:l=longlong_as_double mul24:ii=mul24 mul24:uu=umul24 mul_rd:ff=fmul_rd
mul_rd:dd=dmul_rd mul_rn:ff=fmul_rn mul_rn:dd=dmul_rn mul_ru:ff=fmul_ru mul_ru:dd=dmul_ru mul_rz:ff=fmul_rz
mul_rz:dd=dmul_rz mulhi:ii=mulhi mulhi:ll=mul64hi mulhi:uu=umulhi mulhi:LL=umul64hi nearbyint:f=nearbyintf
nearbyint:d=nearbyint nextafter:ff=nextafterf nextafter:dd=nextafter norm3d:fff=norm3df norm3d:ddd=norm3d
norm4d:ffff=norm4df norm4d:dddd=norm4d normcdf:f=normcdff normcdf:d=normcdf normcdfinv:f=normcdfinvf
normcdfinv:d=normcdfinv popc:i=popc popc:l=popcll pow:ff=powf pow:fi=powif pow:dd=pow pow:di=powi rcbrt:f=rcbrtf
rcbrt:d=rcbrt rcp64h:d=rcp64h rcp_rd:f=frcp_rd rcp_rd:d=drcp_rd rcp_rn:f=frcp_rn rcp_rn:d=drcp_rn
rcp_ru:f=frcp_ru rcp_ru:d=drcp_ru rcp_rz:f=frcp_rz rcp_rz:d=drcp_rz remainder:ff=remainderf
remainder:dd=remainder rhadd:ii=rhadd rhadd:uu=urhadd rhypot:ff=rhypotf rhypot:dd=rhypot rint:f=rintf
rint:d=rint rnorm3d:fff=rnorm3df rnorm3d:ddd=rnorm3d rnorm4d:ffff=rnorm4df rnorm4d:dddd=rnorm4d round:f=roundf
round:d=round rsqrt:f=rsqrtf rsqrt:d=rsqrt rsqrt_rn:f=frsqrt_rn sad:iiu=sad sad:uuu=usad saturatef:f=saturatef
scalbn:fi=scalbnf scalbn:di=scalbn signbit:f=signbitf signbit:d=signbitd sin:f=sinf sin:d=sin sinh:f=sinhf
sinh:d=sinh sinpi:f=sinpif sinpi:d=sinpi sqrt:f=fsqrt_rn sqrt:d=sqrt sqrt_rd:f=fsqrt_rd sqrt_rd:d=dsqrt_rd
sqrt_rn:f=fsqrt_rn sqrt_rn:d=dsqrt_rn sqrt_ru:f=fsqrt_ru sqrt_ru:d=dsqrt_ru sqrt_rz:f=fsqrt_rz
sqrt_rz:d=dsqrt_rz sub_rd:ff=fsub_rd sub_rd:dd=dsub_rd sub_rn:ff=fsub_rn sub_rn:dd=dsub_rn sub_ru:ff=fsub_ru
sub_ru:dd=dsub_ru sub_rz:ff=fsub_rz sub_rz:dd=dsub_rz tan:f=tanf tan:d=tan tanh:f=tanhf tanh:d=tanh
tgamma:f=tgammaf tgamma:d=tgamma trunc:f=truncf trunc:d=trunc uint2double_rn:u=uint2double_rn
uint2float_rd:u=uint2float_rd uint2float_rn:u=uint2float_rn uint2float_ru:u=uint2float_ru
uint2float_rz:u=uint2float_rz uint_as_float:u=uint_as_float ull2double_rd:L=ull2double_rd
ull2double_rn:L=ull2double_rn ull2double_ru:L=ull2double_ru ull2double_rz:L=ull2double_rz
ull2float_rd:L=ull2float_rd ull2float_rn:L=ull2float_rn ull2float_ru:L=ull2float_ru ull2float_rz:L=ull2float_rz
y0:f=y0f y0:d=y0 y1:f=y1f y1:d=y1 yn:if=ynf yn:id=yn
"""
_LETTERS = {"f": "fp32", "d": "fp64", "i": "int32", "u": "uint32", "l": "int64", "L": "uint64"}


def _entry(text: str) -> tuple[tuple[str, tuple[str, ...]], str]:
    key, _, symbol = text.partition("=")
    name, _, operands = key.partition(":")
    return (name, tuple(_LETTERS[o] for o in operands)), f"__nv_{symbol}"


#: (function, operand types) -> symbol of libdevice.10.bc
SYMBOLS: dict[tuple[str, tuple[str, ...]], str] = dict(map(_entry, _TABLE.split()))
#: those that the simulator brings (`tri_backend_nvidia.simulation`) because the language's formula is `math.exp`, which is less
#: accurate here than the library's function
SIMULATED_SYMBOLS = {key: symbol for key, symbol in SYMBOLS.items() if key[0] == "exp"}

globals().update(FUNCTIONS)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...
