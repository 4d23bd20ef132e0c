"""The functions of libdevice: what each takes and gives.

A signature is operand types, ``>``, result type: ``f`` fp32, ``d`` fp64, ``i`` int32, ``u`` uint32, ``l`` int64,
``L`` uint64.  Source: Triton 3.9's ``libdevice`` module, checked by ``integration/tests/test_names.py``.
"""

from __future__ import annotations

from tri.language import types as t

__all__ = ["SIGNATURES", "Signature"]

#: operand types and result type
Signature = tuple[tuple[t.dtype, ...], t.dtype]

_CODES = {"f": t.float32, "d": t.float64, "i": t.int32, "u": t.uint32, "l": t.int64, "L": t.uint64}

_TABLE: dict[str, str] = {
    "f>f d>d": (
        "acos acosh asin asinh atan atanh cbrt ceil cos cosh cospi cyl_bessel_i0 cyl_bessel_i1 erf erfc "
        "erfcinv erfcx erfinv exp exp10 exp2 expm1 floor j0 j1 lgamma log log10 log1p log2 logb nearbyint "
        "normcdf normcdfinv rcbrt rcp_rd rcp_rn rcp_ru rcp_rz rint round rsqrt sin sinh sinpi sqrt sqrt_rd "
        "sqrt_rn sqrt_ru sqrt_rz tan tanh tgamma trunc y0 y1"
    ),
    "ff>f dd>d": (
        "add_rd add_rn add_ru add_rz atan2 copysign div_rd div_rn div_ru div_rz fdim fmod hypot mul_rd mul_rn "
        "mul_ru mul_rz nextafter remainder rhypot sub_rd sub_rn sub_ru sub_rz"
    ),
    "d>i": (
        "double2hiint double2int_rd double2int_rn double2int_ru double2int_rz double2loint double2uint_rd "
        "double2uint_rn double2uint_ru double2uint_rz isfinited"
    ),
    "f>f": (
        "fast_cosf fast_exp10f fast_expf fast_log10f fast_log2f fast_logf fast_sinf fast_tanf fast_tanhf "
        "rsqrt_rn saturatef"
    ),
    "f>i": (
        "finitef float2int_rd float2int_rn float2int_ru float2int_rz float2uint_rd float2uint_rn "
        "float2uint_ru float2uint_rz float_as_int float_as_uint"
    ),
    "d>l": (
        "double2ll_rd double2ll_rn double2ll_ru double2ll_rz double2ull_rd double2ull_rn double2ull_ru "
        "double2ull_rz double_as_longlong"
    ),
    "f>l": (
        "float2ll_rd float2ll_rn float2ll_ru float2ll_rz float2ull_rd float2ull_rn float2ull_ru float2ull_rz"
    ),
    "fff>f ddd>d": ("fma fma_rd fma_rn fma_ru fma_rz norm3d rnorm3d"),
    "i>f": ("int2float_rd int2float_rn int2float_ru int2float_rz int_as_float"),
    "l>d": ("ll2double_rd ll2double_rn ll2double_ru ll2double_rz longlong_as_double"),
    "u>f": ("uint2float_rd uint2float_rn uint2float_ru uint2float_rz uint_as_float"),
    "L>d": ("ull2double_rd ull2double_rn ull2double_ru ull2double_rz"),
    "L>f": ("ull2float_rd ull2float_rn ull2float_ru ull2float_rz"),
    "d>f": ("double2float_rd double2float_rn double2float_ru double2float_rz"),
    "f>i d>i": ("ilogb isinf isnan signbit"),
    "l>f": ("ll2float_rd ll2float_rn ll2float_ru ll2float_rz"),
    "i>i l>i": ("clz ffs popc"),
    "ii>i uu>u": ("hadd mul24 rhadd"),
    "f>l d>l": ("llrint llround"),
    "ff>f": ("fast_dividef fast_powf"),
    "ffff>f dddd>d": ("norm4d rnorm4d"),
    "fi>f di>d": ("ldexp scalbn"),
    "id>d if>f": ("jn yn"),
    "d>d": ("rcp64h"),
    "f>f d>d i>i l>l": ("abs"),
    "ff>f fi>f dd>d di>d": ("pow"),
    "i>d": ("int2double_rn"),
    "i>i l>l": ("brev"),
    "ii>d": ("hiloint2double"),
    "ii>i uu>u ll>l LL>L": ("mulhi"),
    "iii>i": ("byte_perm"),
    "iiu>i uuu>u": ("sad"),
    "u>d": ("uint2double_rn"),
}


def _signature(text: str) -> Signature:
    operands, result = text.split(">")
    return tuple(_CODES[c] for c in operands), _CODES[result]


#: name -> the signatures that it has, fp32 first
SIGNATURES: dict[str, tuple[Signature, ...]] = {
    name: tuple(map(_signature, signatures.split()))
    for signatures, names in _TABLE.items()
    for name in names.split()
}
