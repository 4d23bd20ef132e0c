"""Functions of libdevice that are approximate, against mpmath at 40 digits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import mpmath as m

from tri_conformance.contracts import Close, Contract, Ulp
from tri_conformance.dtypes import Array
from tri_conformance.oracles import in_high_precision
from tri_conformance.tables.libdevice_rows import Entry, uniform

__all__ = ["ENTRIES"]

Function = Callable[..., Any]
Domains = tuple[tuple[float, float], ...]


def _length(*parts: Any) -> Any:
    return m.sqrt(m.fsum(x * x for x in parts))


def _inverse(function: Function) -> Function:
    return lambda *operands: 1 / function(*operands)


#: name -> function, domain of each operand, bound in ulp for fp64 and for fp32
_WITHIN_ULPS: dict[str, tuple[Function, Domains, float, float]] = {
    "acos": (m.acos, ((-1, 1),), 2, 2), "acosh": (m.acosh, ((1.001, 99),), 3, 4), "asin": (m.asin, ((-1, 1),), 3, 3),
    "asinh": (m.asinh, ((-99, 99),), 3, 3), "atan": (m.atan, ((-9, 9),), 2, 2), "atan2": (m.atan2, ((-3, 3), (-3, 3)), 2, 3),
    "atanh": (m.atanh, ((-0.99, 0.99),), 3, 3), "cbrt": (m.cbrt, ((0.01, 99),), 3, 3), "cos": (m.cos, ((-9, 9),), 2, 3),
    "cosh": (m.cosh, ((-9, 9),), 3, 3), "cospi": (m.cospi, ((-9, 9),), 3, 1), "sinpi": (m.sinpi, ((-9, 9),), 3, 1),
    "erf": (m.erf, ((-4, 4),), 3, 3), "erfc": (m.erfc, ((-4, 9),), 6, 6), "exp": (m.exp, ((-80, 80),), 2, 2),
    "exp10": (lambda x: m.mpf(10) ** x, ((-30, 30),), 2, 2), "exp2": (lambda x: m.mpf(2) ** x, ((-99, 99),), 2, 2),
    "expm1": (m.expm1, ((-3, 3),), 3, 3), "log": (m.log, ((0.01, 50),), 2, 2), "log10": (m.log10, ((0.01, 50),), 3, 3),
    "log1p": (m.log1p, ((-0.9, 50),), 3, 3), "log2": (lambda x: m.log(x, 2), ((0.01, 50),), 2, 2),
    "pow": (m.power, ((0.01, 50), (-20, 20)), 2, 9), "rsqrt": (_inverse(m.sqrt), ((0.01, 50),), 2, 2),
    "sin": (m.sin, ((-9, 9),), 2, 3), "sinh": (m.sinh, ((-9, 9),), 3, 3), "tan": (m.tan, ((-1.5, 1.5),), 3, 4),
    "tanh": (m.tanh, ((-5, 5),), 3, 4), "rcbrt": (_inverse(m.cbrt), ((0.01, 99),), 3, 2),
    "hypot": (_length, ((-9, 9),) * 2, 2, 3), "rhypot": (_inverse(_length), ((-9, 9),) * 2, 3, 2),
    "norm3d": (_length, ((-9, 9),) * 3, 3, 3), "norm4d": (_length, ((-9, 9),) * 4, 3, 3),
    "rnorm3d": (_inverse(_length), ((-9, 9),) * 3, 3, 2), "rnorm4d": (_inverse(_length), ((-9, 9),) * 4, 3, 2),
    "fma": (lambda x, y, z: x * y + z, ((-9, 9),) * 3, 0, 0), "rsqrt_rn": (_inverse(m.sqrt), ((1e-9, 1e9),), 0, 0),
    "erfcx": (lambda x: m.exp(x * x) * m.erfc(x), ((-5, 40),), 8, 6), "erfinv": (m.erfinv, ((-0.999, 0.999),), 8, 3),
    "erfcinv": (lambda q: m.erfinv(1 - q), ((0.001, 1.999),), 8, 5), "normcdf": (m.ncdf, ((-9, 5),), 8, 6),
    "normcdfinv": (lambda p: -m.sqrt(2) * m.erfinv(1 - 2 * p), ((1e-9, 0.4),), 8, 5),
    "tgamma": (m.gamma, ((0.1, 30),), 48, 11), "lgamma": (lambda x: m.log(abs(m.gamma(x))), ((2.5, 60),), 8, 6),
    "cyl_bessel_i0": (lambda x: m.besseli(0, x), ((-50, 50),), 8, 6),
    "cyl_bessel_i1": (lambda x: m.besseli(1, x), ((-50, 50),), 8, 6),
    "fast_expf": (m.exp, ((-9, 9),), 0, 12), "fast_exp10f": (lambda x: m.mpf(10) ** x, ((-9, 9),), 0, 28),
    "fast_dividef": (lambda x, y: x / y, ((-9, 9), (1, 9)), 0, 2),
}  # fmt: skip
#: those that the formulas compute in fp64, whatever the type
_WIDE = frozenset(
    [
        "cospi",
        "sinpi",
        "exp10",
        "hypot",
        "rhypot",
        "norm3d",
        "norm4d",
        "rnorm3d",
        "rnorm4d",
        "rcbrt",
        "erfcx",
        "erfinv",
        "erfcinv",
        "normcdf",
        "normcdfinv",
        "tgamma",
        "lgamma",
        "cyl_bessel_i0",
        "cyl_bessel_i1",
        "j0",
        "j1",
        "jn",
        "y0",
        "y1",
        "yn",
        "pow-integer",
    ]
)

#: name -> function, domain of each operand, contract for fp64 and for fp32
_WITHIN_DISTANCE: dict[str, tuple[Function, Domains, Contract, Contract]] = {
    "j0": (lambda x: m.besselj(0, x), ((0.01, 30),), Close(5e-12, 5e-12), Close(2.2e-6, 2.2e-6)),
    "j1": (lambda x: m.besselj(1, x), ((0.01, 30),), Close(5e-12, 5e-12), Close(2.2e-6, 2.2e-6)),
    "y0": (lambda x: m.bessely(0, x), ((0.01, 30),), Close(5e-12, 5e-12), Close(2.2e-6, 2.2e-6)),
    "y1": (lambda x: m.bessely(1, x), ((0.01, 30),), Close(5e-12, 5e-12), Close(2.2e-6, 2.2e-6)),
    "jn": (m.besselj, ((0, 8), (0.5, 40)), Close(5e-12, 5e-12), Close(2.2e-6, 2.2e-6)),
    "yn": (m.bessely, ((0, 8), (0.5, 40)), Close(1e-11, 5e-12), Close(5e-6, 2.2e-6)),
    "rcp64h": (lambda x: 1 / x, ((0.01, 1e9),), Close(2.0**-19), Close(2.0**-19)),
    "fast_cosf": (m.cos, ((-3, 3),), Close(0), Close(0, 2.0**-21)),
    "fast_sinf": (m.sin, ((-3, 3),), Close(0), Close(0, 2.0**-21)),
    "fast_tanf": (m.tan, ((-1.2, 1.2),), Close(0), Close(4e-6, 2.0**-20)),
    "fast_logf": (m.log, ((0.1, 9),), Close(0), Close(4e-7, 2.0**-21)),
    "fast_log2f": (lambda x: m.log(x, 2), ((0.1, 9),), Close(0), Close(4e-7, 2.0**-21)),
    "fast_log10f": (m.log10, ((0.1, 9),), Close(0), Close(4e-7, 2.0**-21)),
    "fast_powf": (m.power, ((0.5, 9), (-5, 5)), Close(0), Close(1e-5)),
    "fast_tanhf": (m.tanh, ((-3, 3),), Close(0), Close(2.0**-10)),
}


def _oracle(function: Function) -> Callable[..., Array]:
    return lambda *operands: in_high_precision(function, *operands)


def _power(x: Any, n: int) -> Any:
    return m.mpf(x) ** n


def _entries() -> Iterator[Entry]:
    for name, (function, domains, wide, narrow) in _WITHIN_ULPS.items():
        yield Entry(
            name=name, oracle=_oracle(function), draw=uniform(*domains), integers=(), wide=name in _WIDE,
            contracts={"fp64": Ulp(wide), "fp32": Ulp(narrow)},
        )  # fmt: skip
    for name, (function, domains, wide_bound, narrow_bound) in _WITHIN_DISTANCE.items():
        yield Entry(
            name=name, oracle=_oracle(function), draw=uniform(*domains), wide=name in _WIDE,
            contracts={"fp64": wide_bound, "fp32": narrow_bound},
        )  # fmt: skip
    yield Entry(
        name="pow", label="pow-integer", oracle=_oracle(_power), draw=uniform((-3, 3), (-9, 9)), integers=(1,), wide=True,
        contracts={"fp64": Ulp(2), "fp32": Ulp(9)},
    )  # fmt: skip


ENTRIES = tuple(_entries())
